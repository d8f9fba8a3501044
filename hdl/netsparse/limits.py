"""Holds limits that a command's help states, which is shown without importing hardware."""

COUNT_BITS = 32  #: width of the number of a work request's idxs
MAX_PORTS = 32  #: ports of a switch
MAX_UNITS = 64  #: RIG units of a SNIC
UNIT_BITS = (MAX_UNITS - 1).bit_length()  #: width of a unit's number
