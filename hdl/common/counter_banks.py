"""Counts the events of several equal parts, and shows one counter at a time."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hdl.common.checks import check_range
from hdl.common.component import Component
from hdl.common.counter_bank import CounterBank
from hdl.common.event_counters import CountersParams
from hdl.common.params import Params, whole

MAX_PARTS = 32  #: parts that ``part`` can name, unless more are to be named


class CounterBanksParams(Params, suffix="{counters.suffix}_{count}"):
    """Sets the counters of each part, and the number of parts."""

    counters: CountersParams
    count: int = whole(1, 64)  #: number of parts
    named: int = whole(1, 64, default=MAX_PARTS, tag="_of_{}")  #: parts that ``part`` can name

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("count", self.count, 1, self.named, ", the parts that have names")


class CounterBanks(Component):
    """Counts the ``events`` of each part; ``value`` is counter ``select`` of part ``part``.

    Latency: one cycle more than :class:`hdl.common.counter_bank.CounterBank`. ``value`` is 0 for a
    part that does not exist.
    """

    latency = CounterBank.latency + 1

    def __init__(self, params: CounterBanksParams) -> None:
        counters = params.counters
        super().__init__(
            params,
            events=In(counters.events).array(params.count),
            clear=In(1),
            part=In(range(params.named)),
            select=In(counters.index_bits),
            value=Out(counters.bits),
        )

    def build(self, m: Module) -> None:
        values = []
        for k, events in enumerate(self.events):
            m.submodules[f"bank_{k}"] = bank = CounterBank(self.params.counters)
            m.d.comb += [
                bank.events.eq(events),
                bank.clear.eq(self.clear),
                bank.select.eq(self.select),
            ]
            values.append(bank.value)
        with m.Switch(self.part):
            for k, value in enumerate(values):
                with m.Case(k):
                    m.d.sync += self.value.eq(value)
            with m.Default():
                m.d.sync += self.value.eq(0)
