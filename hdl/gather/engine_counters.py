"""Counts a gather engine's traffic on the link and on device memory, and its errors."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.common.counter_bank import CounterBank
from hdl.common.event_counters import CountersParams, widths
from hdl.gather.engine_params import GatherEngineParams
from hdl.gather.params import ROW_READ
from hdl.gather.row_output import EVENTS as OUTPUTS
from hdl.gather.work_fetch import EVENTS as DESCRIPTORS
from hdl.pcie.completer import EVENTS as ACCESSES
from hdl.pcie.read_requester import EVENTS as READS
from hdl.pcie.read_share import COUNT_BITS

#: Lists every counter, with the width of the number that a cycle adds, and what it counts.
COUNTED = {
    "cycles": (1, "cycles with a work request under way"),
    "work_requests": (1, "work requests that have ended and of which the host was told"),
    "work_forgotten": (1, "work requests that a reset of the function has ended"),
    "rows": (1, "rows that have come, those of the next two counters included"),
    "rows_beyond": (1, "rows whose idx is not in the table, or could not be read"),
    "rows_failed": (1, "other rows of which not everything could be read"),
    "reads": (1, "reads that were requested from the host"),
    "completions": (3, "answers that came for them, of which a read may have several"),
    "read_bytes": (7, "bytes that came, those of idxs and those beside rows included"),
    "under_way": (
        COUNT_BITS,
        "fetches under way, added up each cycle: divided by `cycles` it is their mean",
    ),
    "idx_waits": (1, "cycles in which a row could have been requested, but no idx was there"),
    "write_bursts": (1, "bursts to device memory"),
    "write_beats": (1, "beats of them"),
    "write_errors": (1, "bursts that device memory has refused or not answered"),
    "stream_beats": (1, "beats that the stream's consumer has taken"),
    "posted_beats": (1, "beats of rows that went to the bus by posted writes"),
    "write_dropped": (1, "answers of device memory that came without a request, or late"),
    "strangers": (1, "answers of the host to no read"),
    "reads_failed": (1, "reads that have failed by an answer"),
    "reads_abandoned": (1, "reads that were abandoned without an answer, or stopped"),
    "accesses": (1, "accesses to registers, good or not"),
    "accesses_unsupported": (1, "accesses that were no read or write of 4 or 8 bytes"),
    "accesses_malformed": (1, "writes that came without their data"),
    "accesses_refused": (1, "accesses that a register has refused"),
    "descriptors": (1, "descriptors of the ring that were read"),
    "descriptors_malformed": (1, "descriptors that were read and have bits without a meaning"),
    "descriptors_unread": (1, "descriptors that could not be read; each has stopped the ring"),
    "ring_faults": (1, "times that the ring was refused: a doorbell too far, or a wrong address"),
    "interrupts_late": (1, "times that no interrupt was sent for 50 ms though one was due"),
}
ENGINE_COUNTERS = CountersParams(name="gather", counters=widths(COUNTED))


class EngineCounters(Component):
    """Counts what happens in an engine; ``value`` is the counter number ``select``.

    See :class:`hdl.common.counter_bank.CounterBank`; :data:`ENGINE_COUNTERS` has names and order.
    ``starts`` has a bit for each completion that begins in a beat of RC, ``bytes`` the number of
    bytes of a beat of read data; both are 0 in a cycle without a transfer.
    """

    def __init__(self, params: GatherEngineParams) -> None:
        super().__init__(
            params,
            busy=In(1),
            reported=In(1),
            forgotten=In(1),
            row=In(ROW_READ),
            reads=In(READS),
            starts=In(params.reads.packets),
            bytes=In(7),
            under_way=In(COUNT_BITS),
            idx_waits=In(1),
            outputs=In(OUTPUTS),
            dropped=In(1),
            accesses=In(ACCESSES),
            ring=In(DESCRIPTORS),
            interrupt_late=In(1),
            clear=In(1),
            select=In(ENGINE_COUNTERS.index_bits),
            value=Out(ENGINE_COUNTERS.bits),
        )

    def build(self, m: Module) -> None:
        m.submodules.bank = bank = CounterBank(ENGINE_COUNTERS)
        events, row = bank.events, self.row
        m.d.comb += [
            bank.clear.eq(self.clear),
            bank.select.eq(self.select),
            self.value.eq(bank.value),
            events.cycles.eq(self.busy),
            events.work_requests.eq(self.reported),
            events.work_forgotten.eq(self.forgotten),
            events.rows.eq(row.valid),
            events.rows_beyond.eq(row.valid & row.beyond),
            events.rows_failed.eq(row.valid & row.failed & ~row.beyond),
            events.reads.eq(self.reads.sent),
            events.completions.eq(count_ones(list(self.starts))),
            events.read_bytes.eq(self.bytes),
            events.under_way.eq(self.under_way),
            events.idx_waits.eq(self.idx_waits),
            events.write_bursts.eq(self.outputs.writes.burst),
            events.write_beats.eq(self.outputs.writes.beat),
            events.write_errors.eq(self.outputs.writes.failed),
            events.stream_beats.eq(self.outputs.streamed),
            events.posted_beats.eq(self.outputs.posted),
            events.write_dropped.eq(self.dropped),
            events.strangers.eq(self.reads.stranger),
            events.reads_failed.eq(self.reads.failed),
            events.reads_abandoned.eq(self.reads.abandoned),
            events.accesses.eq(self.accesses.taken),
            *(
                events[f"accesses_{name}"].eq(self.accesses[name])
                for name in ("unsupported", "malformed", "refused")
            ),
            events.descriptors.eq(self.ring.read),
            events.descriptors_malformed.eq(self.ring.malformed),
            events.descriptors_unread.eq(self.ring.unread),
            events.ring_faults.eq(self.ring.fault),
            events.interrupts_late.eq(self.interrupt_late),
        ]
