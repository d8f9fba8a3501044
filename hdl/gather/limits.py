"""Holds the limit that a command's help states, which is shown without importing hardware."""

MAX_ROW = 65536  #: bytes of the largest row
