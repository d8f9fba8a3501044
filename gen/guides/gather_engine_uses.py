"""Holds what each register, field and number of a gather engine is for, for its guide."""

from gen.guides.guide import halves
from hdl.common.rings import Fault
from hdl.gather.engine_params import Outcome
from hdl.gather.params import ReadOrder
from hdl.pcie.descriptors import Cause

SETTINGS = {
    "memory_timeout": "the time-out in cycles: host memory, device memory or the stream's consumer"
    " is abandoned after one to two time-outs without progress; 0: never",
    "most_reads": "the most fetches under way; 0: as many as there is room for",
    "share": "the data that reads bring a cycle, at most, in 256ths of a beat of `rc`; 0: no limit",
}
#: of the work request that ``submit`` takes
REQUEST = {
    "tag": "any number; the completion repeats it",
    "wide": "1 for idxs of 8 bytes, 0 for 4",
    "on_card": "1 for idxs in device memory, 0 for host memory",
    "streamed": "1 to put rows on the stream, 0 to write them to device memory",
    "order": "how rows are read, by the table below",
    "coalesce": "1 to read rows of equal idxs once where that is possible",
    **halves("idx_address", "the address of the first idx"),
    "count": "the number of idxs",
    **halves("base", "the address of row 0 in host memory"),
    "rows": "the number of rows of the table",
    "row_bytes": "bytes of a row",
    "stride": "bytes from the start of a row to the start of the next one",
    **halves("destination", "the address of the first row in device memory"),
    **halves("completion", "the address of the completion in host memory"),
}
#: of the ring of work requests
RING = {
    "request_ring": "1 while the engine may read the ring",
    "request_ring_size": "log2 of the number of places in the ring",
    **halves("request_ring_address", "the ring's address in host memory"),
    "request_producer": "the doorbell: how many descriptors were written, modulo 2^16",
    "request_consumer": "reads how many descriptors were read, modulo 2^16",
    "request_ring_busy": "reads 1 while the ring is in use",
    "request_ring_fault": "reads why the ring has stopped, by the table below",
    "request_ring_cause": "reads why a descriptor could not be read, by the table of causes; 0 if"
    " all could",
}
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
DESCRIPTOR_USES = {
    "idx_address": "the address of the first idx",
    "base": "the address of row 0 in host memory",
    "destination": "the address of the first row in device memory",
    "completion": "the address of the completion in host memory",
    "count": "the number of idxs",
    "rows": "the number of rows of the table",
    "stride": "bytes from the start of a row to the start of the next one",
    "row_bytes": "bytes of a row",
    "tag": "any number; the completion repeats it",
    "order": "how rows are read",
    "wide": "1 for idxs of 8 bytes, 0 for 4",
    "on_card": "1 for idxs in device memory",
    "streamed": "1 to put rows on the stream",
    "coalesce": "1 to read rows of equal idxs once where that is possible",
    "reserved": "zero",
}
#: what a host reads, and commands that it gives
STATE = {
    "identity": "reads as above",
    "version": "reads as above",
    "idx_bits": "reads the bits of an idx",
    "stride_bits": "reads the bits of `stride`",
    "device_address_bits": "reads the bits of an address of device memory",
    "work_queue": "reads how many work requests can wait",
    "to_memory": "reads 1 if rows can go to device memory",
    "to_stream": "reads 1 if rows can go to the stream",
    "kept_parts": "reads how many parts of rows are kept for equal idxs; 0: `coalesce` does"
    " nothing",
    "card_idxs": "reads 1 if idxs can be in device memory",
    "descriptors": "reads how many descriptors are read ahead; 0: there is no ring",
    "submit": "write 1 to put the work request of the registers into the queue",
    "clear_counters": "write 1 to set all counters to zero",
    "stop": "write 1 to end all work requests that the engine has, and to close the ring",
    "revive_buses": "write 1 to use device memory again, if it owes nothing",
    "busy": "reads 1 while a work request is carried out",
    "queue_full": "reads 1 while the queue has no room",
    "refused": "reads 1 if the last `submit` was not taken, as the queue had no room",
    "stopping": "reads 1 while work requests are stopped; submit none meanwhile",
    "was_reset": "reads 1 if the function was reset since the last `submit`",
    "reads_owed": "reads 1 while the host has still to answer reads",
    "stream_silent": "reads 1 if the stream's consumer was abandoned",
    "registers_silent": "reads 1 if the engine's registers once did not answer the link: program"
    " the card anew",
    "interrupts_silent": "reads 1 if for 50 ms no interrupt was sent though one was due",
    "device_broken": "reads 1 if accesses to device memory fail at once",
    "device_silent": "reads 1 if `device_broken` is 1 as device memory did not answer in time",
    "device_owes": "reads 1 while device memory has still to take or answer something",
}
COUNTS = {
    "engine_counter": "the number of the counter that is shown",
    "engine_count": "reads the counter",
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
