"""Counts a gather engine's traffic on the link and on device memory, and its errors."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.common.counter_bank import CounterBank
from hdl.common.event_counters import CountersParams
from hdl.gather.engine_params import GatherEngineParams
from hdl.gather.params import ROW_READ
from hdl.gather.row_output import EVENTS as OUTPUTS
from hdl.gather.work_fetch import EVENTS as DESCRIPTORS
from hdl.pcie.completer import EVENTS as ACCESSES
from hdl.pcie.read_requester import EVENTS as READS
from hdl.pcie.read_share import COUNT_BITS

ENGINE_COUNTERS = CountersParams(
    name="gather",
    counters=(
        ("cycles", 1),  # with a work request under way
        ("work_requests", 1),  # ended, with a completion sent to the host
        ("work_forgotten", 1),  # dropped without a completion, because the function was reset
        ("rows", 1),
        ("rows_beyond", 1),  # rows whose idx is not in the table, or could not be read
        ("rows_failed", 1),  # rows that could not be read completely
        ("reads", 1),  # read requests sent to the host
        ("completions", 3),  # completions from the host
        ("read_bytes", 7),  # bytes in them, idxs and surplus dwords included
        ("under_way", COUNT_BITS),  # sum over cycles of the read requests under way
        ("idx_waits", 1),  # cycles in which a row could be requested but no idx is there
        ("write_bursts", 1),
        ("write_beats", 1),
        ("write_errors", 1),
        ("stream_beats", 1),
        ("write_dropped", 1),  # answers of device memory that came unasked, or too late
        ("strangers", 1),  # completions for no read under way
        ("reads_failed", 1),
        ("reads_abandoned", 1),  # reads that timed out or were stopped
        ("accesses", 1),  # register accesses of the host
        ("accesses_unsupported", 1),
        ("accesses_malformed", 1),
        ("accesses_refused", 1),
        ("descriptors", 1),  # of a ring that were read
        ("descriptors_malformed", 1),  # of these
        ("descriptors_unread", 1),  # that could not be, each of which has stopped the ring
        ("ring_faults", 1),
        ("interrupts_late", 1),  # times that no interrupt was sent for 50 ms though one was due
    ),
)


class EngineCounters(Component):
    """Counts what happens in an engine; ``value`` is the counter number ``select``.

    See :class:`hdl.common.counter_bank.CounterBank`; :data:`ENGINE_COUNTERS` has names and order.
    ``starts`` has a bit for each completion that begins in a beat of RC, ``bytes`` the number of
    bytes of a beat of read data; both are 0 in a cycle without a transfer.
    """

    def __init__(self, params: GatherEngineParams) -> None:
        super().__init__(
            params,
            {
                "busy": In(1),
                "told": In(1),
                "forgotten": In(1),
                "row": In(ROW_READ),
                "reads": In(READS),
                "starts": In(params.reads.packets),
                "bytes": In(7),
                "under_way": In(COUNT_BITS),
                "idx_waits": In(1),
                "outputs": In(OUTPUTS),
                "dropped": In(1),
                "accesses": In(ACCESSES),
                "ring": In(DESCRIPTORS),
                "interrupt_late": In(1),
                "clear": In(1),
                "select": In(ENGINE_COUNTERS.index_bits),
                "value": Out(ENGINE_COUNTERS.bits),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.bank = bank = CounterBank(ENGINE_COUNTERS)
        events, row = bank.events, self.row
        m.d.comb += [
            bank.clear.eq(self.clear),
            bank.select.eq(self.select),
            self.value.eq(bank.value),
            events.cycles.eq(self.busy),
            events.work_requests.eq(self.told),
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
        return m
