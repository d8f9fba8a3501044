"""Holds the limit that a command's help states, which is shown without importing hardware."""

MAX_ROW = 4096  #: bytes of the largest row
