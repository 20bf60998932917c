"""CRC32C (Castagnoli), the checksum of record batches, from the `crc32c` wheel."""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import cast

Crc = Callable[[bytes | bytearray | memoryview, int], int]


def _load() -> Crc:
    """The wheel's C function, without running the wheel's package module.

    That module looks up its own version through `importlib.metadata`, which imports the e-mail and
    zip libraries: a tenth of the broker's whole start-up time for a string nobody reads.
    """
    package = PathFinder.find_spec("crc32c")
    if package is not None and package.submodule_search_locations is not None:
        extension = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
        if extension is not None and extension.loader is not None:
            module = module_from_spec(extension)
            extension.loader.exec_module(module)
            return cast(Crc, module.crc32c)
    from crc32c import crc32c as plain

    return plain


crc32c = _load()
"""`crc32c(data, value=0)`: reads memoryviews where they are, about 10 GB/s."""
