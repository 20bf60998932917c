"""For all tests."""

from __future__ import annotations

import signal

# A shell that starts something in the background lets it ignore Ctrl-C, and whatever that starts.
# The programs that tests start must hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)
