"""Where things are: the checkout, and the git-ignored folder for what is fetched or compiled."""

from __future__ import annotations

from pathlib import Path

CONFORMANCE = Path(__file__).resolve().parents[1]
ROOT = CONFORMANCE.parents[1]
CACHE = ROOT / ".cache"
