"""Counts events, and shows all counters at once."""

from collections.abc import Mapping
from dataclasses import replace
from enum import IntEnum
from typing import Any, Self, cast

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.common.local_reset import add_block
from hdl.common.params import Params, whole

MAX_CLEARED = 1000  #: most bits of counters that one gate resets


class CountersParams(Params, suffix="{name}"):
    """Names the events that are counted, and sets the width of the counters."""

    name: str  #: name of the set, unique in a design
    counters: tuple[tuple[str, int], ...]  #: names, and the width of the number that a cycle adds
    bits: int = whole(2, 64, default=48)  #: width of a counter, which wraps; 48 bits last 13 days
    clears: bool = True  #: whether there is a port ``clear``; otherwise only a reset clears them

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [name for name, _ in self.counters]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"counters must have names, each a different one: {', '.join(names)}")
        if not all(1 <= bits < self.bits for _, bits in self.counters):
            raise ValueError(
                f"the number that a cycle adds must have from 1 to {self.bits - 1} bits: {self}"
            )

    @property
    def events(self) -> data.StructLayout:
        """Describe the numbers that a cycle adds to the counters."""
        return data.StructLayout(dict(self.counters))

    @property
    def counts(self) -> data.StructLayout:
        """Describe the counters."""
        return data.StructLayout(dict.fromkeys(self.events.members, self.bits))

    @property
    def groups(self) -> tuple[Self, ...]:
        """Return the counters in groups, of which a gate resets each; one without ``clears``."""
        size = MAX_CLEARED // self.bits if self.clears else len(self.counters)
        return tuple(
            replace(self, name=f"{self.name}_{k}", counters=self.counters[k : k + size])
            for k in range(0, len(self.counters), size)
        )

    @property
    def index_bits(self) -> int:
        """Return the width of a counter's number."""
        return ceil_log2(max(2, len(self.counters)))


def widths(counted: Mapping[str, tuple[int, str]]) -> tuple[tuple[str, int], ...]:
    """Return the counters of a set of which it is also said what each counts."""
    return tuple((name, bits) for name, (bits, _) in counted.items())


def numbered(counters: CountersParams, name: str) -> type[IntEnum]:
    """Return the counters of a set with the numbers by which software selects them."""
    members = {counter.upper(): k for k, (counter, _) in enumerate(counters.counters)}
    return cast(type[IntEnum], IntEnum(name, members))


class EventCounters(Component):
    """Adds ``events``, the numbers of a cycle, to ``counts``, which wrap.

    ``clear`` sets all counters to zero and drops the events of the cycle before; events of its own
    cycle are counted. Latency: :attr:`latency` cycles from an event to its counter. If there are
    several groups, a reset clears them a cycle later (:func:`add_block`), when nothing has come.
    """

    latency = 2

    def __init__(self, params: CountersParams) -> None:
        super().__init__(
            params,
            {"events": In(params.events), "counts": Out(params.counts)}
            | ({"clear": In(1)} if params.clears else {}),
        )

    def build(self, m: Module) -> None:
        params = self.params
        clear = self.clear if params.clears else Const(0)
        events = Signal(params.events)
        m.d.sync += events.eq(self.events)
        if len(params.groups) == 1:
            count(m, params, events, clear, self.counts)
            return
        for k, group in enumerate(params.groups):
            part = CounterGroup(group)
            add_block(m, f"group_{k}", part)
            m.d.comb += part.clear.eq(clear)
            for name, _ in group.counters:
                m.d.comb += [
                    part.events[name].eq(events[name]),
                    self.counts[name].eq(part.counts[name]),
                ]


class CounterGroup(Component):
    """Adds ``events`` to the ``counts`` of a group, which has a reset of its own."""

    latency = 1

    def __init__(self, params: CountersParams) -> None:
        super().__init__(params, events=In(params.events), clear=In(1), counts=Out(params.counts))

    def build(self, m: Module) -> None:
        count(m, self.params, self.events, self.clear, self.counts)


def count(m: Module, params: CountersParams, events: Any, clear: Value, counts: Any) -> None:
    """Add a counter for each of ``events``."""
    for name, _ in params.counters:
        counter = Signal(params.bits, name=name)
        with m.If(clear):
            m.d.sync += counter.eq(0)
        with m.Elif(events[name].any()):
            m.d.sync += counter.eq(counter + events[name])
        m.d.comb += counts[name].eq(counter)
