"""Defines bins of one kind of unit: what its ports mean together, or one after another."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial, reduce
from operator import getitem
from typing import Any

from hdl.common.component import Component
from sim.functional.groups import group
from sim.harness.payloads import numbered, unpack

PortValues = Mapping[str, Any]  #: ports as plain values, by name


@dataclass(frozen=True, kw_only=True)
class UnitGroup:
    """Declares a group of bins of a component, once for all its tests."""

    name: str  #: what the group is about
    ports: tuple[str, ...]  #: ports that are looked at; ``i[]_valid`` is those of all elements
    #: function of each bin: whether the ports' present and previous samples hit it
    bins: Mapping[str, Callable[[PortValues, PortValues], bool]]
    when: tuple[str, ...] = ()  #: 1-bit ports that must all be high; sampled every cycle if none
    #: function of params that returns further values for the bins
    sizes: Callable[[Any], PortValues] = field(default=lambda params: {})


def enum_bits(
    port: str, kinds: Any, *path: str
) -> dict[str, Callable[[PortValues, PortValues], bool]]:
    """Return a bin for each member of ``kinds`` whose bit is high in a field of ``port``."""

    def asks(kind: Any) -> Callable[[PortValues, PortValues], bool]:
        def ask(now: PortValues, before: PortValues) -> bool:
            value = now[port]
            for key in path:
                value = value[key]
            return bool(value >> kind.value & 1)

        return ask

    return {kind.name: asks(kind) for kind in kinds}


def happens(event: str, values: PortValues) -> bool:
    """Return whether none of an event's ports or fields, which are joined by "and", is 0."""
    return all(reduce(getitem, path.split("."), values) for path in event.split(" and "))


def at_once(control: str, event: str) -> UnitGroup:
    """Return a group of bins: ``event`` in the cycle of ``control``, just before, just behind.

    Such an input clears, begins or resets something, which the event may find half done.
    """
    ports = {path.partition(".")[0] for path in f"{control} and {event}".split(" and ")}
    return UnitGroup(
        name=f"{event} beside {control}",
        ports=tuple(sorted(ports)),
        bins={
            "before": lambda now, before: happens(event, before) and happens(control, now),
            "in its cycle": lambda now, before: happens(event, now) and happens(control, now),
            "behind": lambda now, before: happens(control, before) and happens(event, now),
        },
    )


class Interrupted:
    """Is the condition of a bin: what ``lasts`` has ended after so many cycles."""

    def __init__(self, lasts: Callable[[PortValues], bool], cycles: int) -> None:
        self.lasts, self.cycles, self.count = lasts, cycles, 0

    def __call__(self, now: PortValues, before: PortValues) -> bool:
        """Return whether it ends now."""
        count, self.count = self.count, self.count + 1 if self.lasts(now) else 0
        return not self.count and count == self.cycles


class UnitWatcher:
    """Samples a group of bins of the component in the simulator."""

    def __init__(self, dut: Any, component: Component, unit: str, what: UnitGroup) -> None:
        self.what = what
        shapes = dict(port_shapes(component.signature))
        self.when = [getattr(dut, name) for name in what.when]
        self.ports = {name: read(dut, shapes, name) for name in what.ports}
        self.sizes = dict(what.sizes(component.params))
        self.before: PortValues | None = None
        self.sample = group(unit, what.name, what.bins)

    def look(self) -> None:
        """Sample the ports in a cycle."""
        if not all(port.value for port in self.when):
            return
        now = self.sizes | {name: ask() for name, ask in self.ports.items()}
        before, self.before = self.before or now, now
        hit = frozenset(name for name, ask in self.what.bins.items() if ask(now, before))
        if hit:
            self.sample(hit)


def port_shapes(signature: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every port of ``signature``, by its name in Verilog, with its shape."""
    for name, member in signature.members.items():
        for path in numbered(prefix + name, member.dimensions):
            if member.is_port:
                yield path, member.shape
            else:
                yield from port_shapes(member.signature, f"{path}_")


def read(dut: Any, shapes: Mapping[str, Any], name: str) -> Callable[[], Any]:
    """Return a function that reads a port; with ``[]`` in the name, it lists all such ports."""
    if "[]" in name:
        every = [path for path in shapes if re.sub(r"_\d+", "[]", path, count=1) == name]
        asks = [read(dut, shapes, path) for path in every]
        return lambda: [ask() for ask in asks]
    handle, value_of = getattr(dut, name), lru_cache(4096)(partial(unpack, shapes[name]))
    return lambda: value_of(int(handle.value))
