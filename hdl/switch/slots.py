"""Sets what the slots of every reducing switch have in common."""

USES = 256  #: number of a slot's uses that eight bits on the wire distinguish
PAYLOAD_BITS = 32  #: width of a number on the wire
#: Sums of the deepest memory that is read in two cycles: a cascade of 8 UltraRAM of 4,096 each.
MAX_SLOTS_AT_ONCE = 8 << 12
MORE_CYCLES = 2  #: additional cycles of a deeper memory, with registers between its blocks
