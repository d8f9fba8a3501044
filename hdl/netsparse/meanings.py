"""Says in words why requests of a SNIC end, and why its rings stop, for documents and drivers."""

from hdl.common.rings import Fault
from hdl.netsparse.rig.params import Cause

CAUSES = {
    Cause.DONE: "every remote property is in host memory",
    Cause.COMMAND: "a size or address is illegal, or a descriptor is, or names no client;"
    " nothing was done",
    Cause.RANGE: "an idx is not below `columns`",
    Cause.IDX_READ: "host memory answered a read of idxs with an error, or not in time",
    Cause.PROPERTY_WRITE: "host memory answered a write of a property with an error, or not in"
    " time",
    Cause.FILTER: "SNIC memory answered an access to the filter with an error, or not in time",
    Cause.REMOTE: "the owner answered with an error, or with another length",
    Cause.WATCHDOG: "nothing moved for `watchdog` cycles: a packet was lost, or a node is gone",
    Cause.ARRAY: "the filter stands for another property array; nothing was done",
    Cause.DESCRIPTOR: "host memory answered the read of the descriptor with an error, or not in"
    " time",
}
FAULTS = {
    Fault.NONE: "the ring works",
    Fault.ADDRESS: "its address is no multiple of its bytes, or too large",
    Fault.OVERRUN: "the host's index is further from the hardware's than the ring is long",
    Fault.WRITE: "host memory answered the write of a completion with an error",
}
