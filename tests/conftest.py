"""For all tests."""

from __future__ import annotations

import signal

from hypothesis import settings

# How long one example takes depends on what else the machine does.
settings.register_profile("barnabas", parent=settings(), deadline=None)
settings.load_profile("barnabas")

# A shell that starts something in the background lets it ignore Ctrl-C, and whatever that starts.
# The programs that tests start must hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)
