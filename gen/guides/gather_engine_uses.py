"""Holds what each number, and field of a layout, of a gather engine is for, for its guide."""

from hdl.common.rings import Fault
from hdl.gather.engine_params import Outcome
from hdl.gather.params import ReadOrder
from hdl.pcie.descriptors import Cause

#: why a ring has stopped, and what the host then does
FAULTS = {
    Fault.NONE: ("the ring has not stopped", "nothing"),
    Fault.ADDRESS: (
        "the ring's address is no multiple of its bytes",
        "correct `request_ring_address`",
    ),
    Fault.OVERRUN: (
        "`request_producer` was more than the ring's places ahead of `request_consumer`",
        "write no more descriptors than there is room for",
    ),
}
COMPLETION_USES = {
    "tag": "the request's tag",
    "outcome": "how the request ended, by the table of outcomes",
    "cause": "why the first read failed that did, by the table of causes; 0 if none did",
    "reserved": "zero",
    "beyond": "rows that are zero, as their idx is not in the table or could not be read",
    "failed": "other rows of which not everything could be read",
    "zero": "zero",
    "done": "1: the request has ended",
}
#: how a work request ends, and what the host then does; of several that hold the first one counts
OUTCOMES = {
    Outcome.ILLEGAL: (
        "a field breaks a rule of this guide; nothing was read or written",
        "correct the request",
    ),
    Outcome.STOPPED: (
        "the host has stopped it; some of the first bytes of its rows were written",
        "submit it again if it is still wanted",
    ),
    Outcome.WRITE: (
        "device memory refused some of it or did not answer, or the stream's consumer took nothing",
        "read `device_broken` and `stream_silent`, mend that, and submit it again",
    ),
    Outcome.IDXS: (
        "some idxs could not be read; their rows are zero and counted in `beyond`",
        "look at the cause, mend it, and submit it again",
    ),
    Outcome.ROWS: (
        "some rows could not be read; each is zero from the first read on that failed",
        "look at the cause, mend it, and submit it again",
    ),
    Outcome.DONE: ("everything was written", "look at `beyond`, if all idxs should be in it"),
}
#: why a read has failed, and what the host does
CAUSES = {
    Cause.NONE: ("no read has failed", "nothing"),
    Cause.POISONED: ("the data was marked as wrong on its way", "look for errors of memory"),
    Cause.UNSUPPORTED: (
        "nothing answers for that address",
        "mend the address, or let the card see that memory",
    ),
    Cause.ABORTED: (
        "the completer of the read aborted it; or device memory did not deliver idxs",
        "read `device_broken`; look for errors of memory",
    ),
    Cause.LENGTH: ("more or fewer bytes came than were requested", "look for errors of the host"),
    Cause.MISMATCH: ("the answer was to another request", "look for errors of the host"),
    Cause.ADDRESS: ("the answer had bytes of another place", "look for errors of the host"),
    Cause.TIMEOUT: ("not everything came in time", "submit again; see `reads_owed`"),
    Cause.RESET: ("the function was reset meanwhile", "submit again"),
    Cause.CORRUPT: ("the block for PCI Express lost the data", "submit again"),
    Cause.STOPPED: ("the work request was stopped meanwhile", "as for the outcome STOPPED"),
}
ORDERS = {
    ReadOrder.MERGED: "one read of the row's bytes",
    ReadOrder.ALIGNED: "from the multiple of 32 at or before the row's first byte to that at or"
    " behind its end, cut where an address is a multiple of 128",
    ReadOrder.NAIVE: "the same bytes, cut 128, 256, ... bytes behind the row's first byte, each"
    " time at the next multiple of 32, and where an address is a multiple of 128",
}
COUNTED = {
    "cycles": "cycles with a work request under way",
    "work_requests": "work requests that have ended and of which the host was told",
    "work_forgotten": "work requests that a reset of the function has ended",
    "rows": "rows that have come, those of the next two counters included",
    "rows_beyond": "rows whose idx is not in the table, or could not be read",
    "rows_failed": "other rows of which not everything could be read",
    "reads": "reads that were requested from the host",
    "completions": "answers that came for them, of which a read may have several",
    "read_bytes": "bytes that came, those of idxs and those beside rows included",
    "under_way": "fetches under way, added up each cycle: divided by `cycles` it is their mean",
    "idx_waits": "cycles in which a row could have been requested, but no idx was there",
    "write_bursts": "bursts to device memory",
    "write_beats": "beats of them",
    "write_errors": "bursts that device memory has refused or not answered",
    "stream_beats": "beats that the stream's consumer has taken",
    "write_dropped": "answers of device memory that came without a request, or late",
    "strangers": "answers of the host to no read",
    "reads_failed": "reads that have failed by an answer",
    "reads_abandoned": "reads that were abandoned without an answer, or stopped",
    "accesses": "accesses to registers, good or not",
    "accesses_unsupported": "accesses that were no read or write of 4 or 8 bytes",
    "accesses_malformed": "writes that came without their data",
    "accesses_refused": "accesses that a register has refused",
    "descriptors": "descriptors of the ring that were read",
    "descriptors_malformed": "descriptors that were read and have bits without a meaning",
    "descriptors_unread": "descriptors that could not be read; each has stopped the ring",
    "ring_faults": "times that the ring was refused: a doorbell too far, or a wrong address",
    "interrupts_late": "times that no interrupt was sent for 50 ms though one was due",
}
