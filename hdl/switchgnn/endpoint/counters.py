"""Lists the counters of an endpoint, and counts its events."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.counter_bank import CounterBank
from hdl.common.event_counters import CountersParams
from hdl.switch.frame_filter import Quality
from hdl.switchgnn.endpoint.bundles import Verdict
from hdl.switchgnn.endpoint.job_runner import JOB_EVENTS
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.protocol import Kind

SENT = (Kind.FEATURE, Kind.PARTIAL, Kind.RAW, Kind.FETCH, Kind.RAWFETCH, Kind.DONE)
QUALITIES = (Quality.FOREIGN, Quality.CORRUPT)
VERDICTS = tuple(v for v in Verdict if v not in (Verdict.NONE, Verdict.MALFORMED))
STALLS = {  #: for each counter of stalled cycles, the name of its event
    "stall_window": "full",
    "stall_payload": "late_payload",
    "stall_list": "late_list",
    "stall_rate": "slow",
    "stall_link": "link",
}

ENDPOINT_COUNTERS = CountersParams(
    name="switchgnn_endpoint",
    counters=(
        ("cycles", 1),
        ("turns", 1),
        *((f"sent_{kind.name.lower()}", 1) for kind in SENT),
        ("sent_again", 1),
        *((f"taken_{verdict.name.lower()}", 1) for verdict in VERDICTS),
        ("taken_malformed", 2),
        *((f"taken_{quality.name.lower()}", 1) for quality in QUALITIES),
        ("taken_lost", 1),
        ("not_own", 1),
        ("nonsense_acks", 1),
        ("marks", 1),
        ("halvings", 1),
        *((name, 1) for name in STALLS),
        ("stall_features", 1),
        ("stall_tables", 1),
        ("stall_writes", 1),
    ),
)


class EndpointCounters(Component):
    """Counts events while a job runs; ``value`` is the counter number ``select``.

    See :class:`hdl.common.counter_bank.CounterBank`; :data:`ENDPOINT_COUNTERS` has names and order.
    """

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            run=In(1),
            events=In(JOB_EVENTS),
            clear=In(1),
            select=In(ENDPOINT_COUNTERS.index_bits),
            value=Out(ENDPOINT_COUNTERS.bits),
        )

    def build(self, m: Module) -> None:
        m.submodules.bank = bank = CounterBank(ENDPOINT_COUNTERS)
        sender, receiver, events = self.events.sender, self.events.receiver, bank.events
        leaving, judged = sender.leaving, receiver.judged
        m.d.comb += [
            bank.clear.eq(self.clear),
            bank.select.eq(self.select),
            self.value.eq(bank.value),
        ]
        with m.If(self.run):
            m.d.comb += [
                events.cycles.eq(1),
                events.turns.eq(self.events.turn),
                *(
                    events[f"sent_{kind.name.lower()}"].eq(leaving.valid & (leaving.kind == kind))
                    for kind in SENT
                ),
                events.sent_again.eq(leaving.valid & leaving.again),
                *(
                    events[f"taken_{verdict.name.lower()}"].eq(receiver.verdict == verdict)
                    for verdict in VERDICTS
                ),
                events.taken_malformed.eq(
                    (receiver.verdict == Verdict.MALFORMED)
                    + (judged & (receiver.quality == Quality.MALFORMED))
                ),
                *(
                    events[f"taken_{quality.name.lower()}"].eq(
                        judged & (receiver.quality == quality)
                    )
                    for quality in QUALITIES
                ),
                events.taken_lost.eq(receiver.lost),
                events.not_own.eq(self.events.foreign),
                events.nonsense_acks.eq(sender.nonsense),
                events.marks.eq(receiver.marked),
                events.halvings.eq(sender.halved),
                *(events[name].eq(sender[event]) for name, event in STALLS.items()),
                events.stall_features.eq(self.events.unready),
                events.stall_tables.eq(self.events.unloaded),
                events.stall_writes.eq(receiver.writes_wait),
            ]
