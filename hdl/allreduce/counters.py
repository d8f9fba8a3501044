"""Counts what ports receive and send, and what banks decide."""

from amaranth.hdl import Array, Cat, Module, Mux, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.allreduce.wide_params import WideVerdict
from hdl.common.arithmetic import delay, summed
from hdl.common.component import Component
from hdl.common.event_counters import CountersParams, EventCounters
from hdl.switch.frame_filter import Quality
from hdl.switch.port_counters import PORT_COUNTS, PortCounters
from hdl.switch.total_counters import TOTAL_BITS, TotalCounters
from hdl.switch.verdict_counters import COUNTER_BITS, VerdictCounters

BAD = [quality for quality in Quality if quality is not Quality.GOOD]
QUALITIES = CountersParams(
    name="quality", counters=tuple((item.name.lower(), 1) for item in BAD), bits=COUNTER_BITS
)


class AllReduceCounters(Component):
    """Counts frames by port and verdict, what ports send and lose, and clamped numbers of sums.

    ``banks`` has the verdicts of banks on packets of ``sender``, and how many numbers of a sum that
    is complete they have ``clamped``. ``ports`` has the quality of each frame that has come to a
    port, and whether it was lost, and what happens to answers. ``value`` is the counter of port
    ``number`` and verdict ``of``, and ``counts`` are the port's others, at most 8 cycles after
    both. ``clear`` sets all to zero, and ``busy`` is high meanwhile.
    """

    def __init__(self, params: AllReduceSwitchParams) -> None:
        saturated = params.bank.answer_beat["saturated"].shape
        bank = {"verdict": WideVerdict, "sender": params.ports, "clamped": saturated}
        port = {"judged": 1, "quality": Quality, "lost": 1, "sent": 1, "dropped": 1}
        super().__init__(
            params,
            clear=In(1),
            busy=Out(1),
            banks=In(data.ArrayLayout(data.StructLayout(bank), params.banks)),
            ports=In(data.ArrayLayout(data.StructLayout(port), params.ports)),
            number=In(params.port_bits),
            of=In(WideVerdict),
            value=Out(COUNTER_BITS),
            counts=Out(PORT_COUNTS),
            **dict.fromkeys(("packets", "cycles", "saturations"), Out(TOTAL_BITS)),
        )

    def build(self, m: Module) -> None:
        params, ports = self.params, self.ports
        m.submodules.ports = counters = PortCounters(params)
        events = counters.events
        m.d.comb += [
            counters.clear.eq(self.clear),
            counters.port.eq(self.number),
            self.counts.eq(counters.counts),
            events.overflows.eq(Cat(port.lost for port in ports)),
            events.answers_sent.eq(Cat(port.sent for port in ports)),
            events.answers_dropped.eq(Cat(port.dropped for port in ports)),
        ]
        value = self.count_verdicts(m)
        bad = self.count_qualities(m)
        m.d.sync += self.value.eq(Mux(self.of.as_value() >= WideVerdict.MALFORMED, bad, value))
        self.count_totals(m)

    def count_verdicts(self, m: Module) -> Value:
        """Count the verdicts of each bank; return the sum over banks of the chosen counter."""
        values, busy = [], []
        for k, bank in enumerate(self.banks):
            part = VerdictCounters.sized(verdict=WideVerdict, sources=self.params.ports)
            m.submodules[f"verdicts_{k}"] = part
            m.d.comb += [
                part.clear.eq(self.clear),
                part.verdict.eq(bank.verdict),
                part.source.eq(bank.sender),
                part.number.eq(self.number),
                part.of.eq(self.of),
            ]
            values.append(part.value)
            busy.append(part.busy)
        m.d.comb += self.busy.eq(Cat(busy).any())
        return summed(m, values, "value", COUNTER_BITS)

    def count_qualities(self, m: Module) -> Value:
        """Count the bad frames of each port; return the chosen counter."""
        names, counts = [item.name.lower() for item in BAD], []
        for k, port in enumerate(self.ports):
            m.submodules[f"quality_{k}"] = part = EventCounters(QUALITIES)
            m.d.comb += part.clear.eq(self.clear)
            for name, item in zip(names, BAD, strict=True):
                m.d.comb += part.events[name].eq(port.judged & (port.quality == item))
            counts.append(part.counts.as_value())
        chosen = QUALITIES.counts(delay(m, Array(counts)[self.number], 1, "qualities"))
        numbers = [chosen[name] for name in names]
        # MALFORMED, FOREIGN and CORRUPT are the last three verdicts.
        return delay(m, Array([0, *numbers])[self.of.as_value()[:2]], 1, "bad")

    def count_totals(self, m: Module) -> None:
        """Count the packets that banks have taken, cycles, and clamped numbers."""
        params = self.params
        most = params.banks * params.most_numbers
        m.submodules.totals = totals = TotalCounters.sized(packets=params.banks, saturated=most)
        least, most = WideVerdict.ADDED.value, WideVerdict.DIFFERENT.value
        verdicts = [bank.verdict.as_value() for bank in self.banks]
        taken = [(verdict >= least) & (verdict <= most) for verdict in verdicts]
        clamped = [bank.clamped for bank in self.banks]
        m.d.comb += [
            totals.clear.eq(self.clear),
            totals.taken.eq(summed(m, taken, "taken", len(totals.taken))),
            totals.saturated.eq(summed(m, clamped, "clamped", len(totals.saturated))),
        ]
        names = ("packets", "cycles", "saturations")
        m.d.comb += [getattr(self, name).eq(getattr(totals, name)) for name in names]
