"""From rows of blocks to lines of files."""

from __future__ import annotations

from barnabas.pipelines.reconcile_origins import first_lines


def test_lines_before_a_block_are_those_of_the_blocks_before_it() -> None:
    blocks = {(0, 32): (0, 50), (0, 0): (7, 100), (1, 0): (0, 3), (0, 64): (20, 1)}

    assert first_lines(blocks) == {
        (0, 0): (7, 0),
        (0, 32): (0, 100),
        (0, 64): (20, 150),
        (1, 0): (0, 0),
    }
