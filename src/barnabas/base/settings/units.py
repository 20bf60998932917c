"""Units for declaring settings: bytes, and times in milliseconds."""

KiB = 1024
MiB = 1024 * KiB
GiB = 1024 * MiB

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
