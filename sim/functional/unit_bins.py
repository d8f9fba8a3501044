"""Defines bins of one kind of unit: what its ports mean together, or one after another."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from hdl.common.component import Component
from sim.functional.groups import group
from sim.harness.payloads import numbered, unpack

PortValues = Mapping[str, Any]  #: ports as plain values, by name
Condition = Callable[
    [PortValues, PortValues], Any
]  #: whether present and previous sample hit a bin


@dataclass(frozen=True, kw_only=True)
class UnitGroup:
    """Declares a group of bins of a component, once for all its tests.

    The condition of a bin is a function of two samples of the ports, the present and the previous
    one, or a Python expression, see :func:`condition_of`.
    """

    name: str  #: what the group is about
    bins: Mapping[str, Condition | str]  #: condition of each bin
    #: ports that functions look at, beside those in expressions; ``i[]_valid`` is all elements'
    ports: tuple[str, ...] = ()
    when: tuple[str, ...] = ()  #: 1-bit ports that must all be high; sampled every cycle if none
    #: whether a size of the component has the group
    exists: Callable[[Any], bool] = field(default=lambda params: True)
    #: function of params that returns further values for the bins
    sizes: Callable[[Any], PortValues] = field(default=lambda params: {})


class Indexing(ast.NodeTransformer):
    """Turns names of ports and of their fields into what two samples of the ports have there."""

    def __init__(self) -> None:
        self.ports: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return a port of the present sample."""
        return self.port("now", node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Return a field, a port of the previous sample, or what enums and numbers have."""
        if isinstance(node.value, ast.Name) and node.value.id == "before":
            return self.port("before", node.attr)
        value = self.visit(node.value)
        if node.attr in ("name", "value", "bit_count"):
            return ast.Attribute(value, node.attr, ast.Load())
        return ast.Subscript(value, ast.Constant(node.attr), ast.Load())

    def port(self, sample: str, name: str) -> ast.expr:
        """Return a port of a sample."""
        self.ports.add(name)
        return ast.Subscript(ast.Name(sample, ast.Load()), ast.Constant(name), ast.Load())


@lru_cache(4096)
def condition_of(condition: Condition | str) -> tuple[Condition, frozenset[str]]:
    """Return a condition as a function, and the ports that it names if it is an expression.

    In ``events.hit and not before.busy``, ``events`` is a port, ``hit`` its field, and ``busy`` is
    a port in the sample before. ``.name`` and ``.value`` are those of a member of an enum,
    ``.bit_count()`` is that of a number.
    """
    if not isinstance(condition, str):
        return condition, frozenset()
    indexing, tree = Indexing(), ast.parse("lambda now, before: 0", mode="eval")
    assert isinstance(tree.body, ast.Lambda)
    tree.body.body = indexing.visit(ast.parse(condition, mode="eval").body)
    code = compile(ast.fix_missing_locations(tree), f"<{condition}>", "eval")
    return eval(code), frozenset(indexing.ports)


def enum_bits(value: str, kinds: Any) -> dict[str, str]:
    """Return a bin for each member of ``kinds`` whose bit is high in a port or field."""
    return {kind.name: f"{value} >> {kind.value} & 1" for kind in kinds}


def at_once(control: str, event: str) -> UnitGroup:
    """Return a group of bins: ``event`` in the cycle of ``control``, just before, just behind.

    Such an input clears, begins or resets something, which the event may find half done. Both are
    ports or fields that are joined by "and".
    """
    control_before, event_before = (
        " and ".join(f"before.{path}" for path in each.split(" and ")) for each in (control, event)
    )
    return UnitGroup(
        name=f"{event} beside {control}",
        bins={
            "before": f"{event_before} and {control}",
            "in its cycle": f"{event} and {control}",
            "behind": f"{control_before} and {event}",
        },
    )


class Interrupted:
    """Is the condition of a bin: the expression ``lasts`` has ended after so many cycles."""

    def __init__(self, lasts: str, cycles: int) -> None:
        self.lasts, self.cycles, self.count = condition_of(lasts)[0], cycles, 0

    def __call__(self, now: PortValues, before: PortValues) -> bool:
        """Return whether it ends now."""
        count, self.count = self.count, self.count + 1 if self.lasts(now, before) else 0
        return not self.count and count == self.cycles


class UnitWatcher:
    """Samples a group of bins of the component in the simulator."""

    def __init__(self, dut: Any, component: Component, unit: str, what: UnitGroup) -> None:
        shapes = dict(port_shapes(component.signature))
        self.when = [getattr(dut, name) for name in what.when]
        self.sizes = dict(what.sizes(component.params))
        demands = {name: condition_of(condition) for name, condition in what.bins.items()}
        self.demands = {name: issue for name, (issue, _) in demands.items()}
        ports = set(what.ports).union(*(named for _, named in demands.values())) - set(self.sizes)
        self.ports = {name: read(dut, shapes, name) for name in sorted(ports)}
        self.before: PortValues | None = None
        self.sample = group(unit, what.name, what.bins)

    def look(self) -> None:
        """Sample the ports in a cycle."""
        if not all(port.value for port in self.when):
            return
        now = self.sizes | {name: issue() for name, issue in self.ports.items()}
        before, self.before = self.before or now, now
        hit = frozenset(name for name, issue in self.demands.items() if issue(now, before))
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
        demands = [read(dut, shapes, path) for path in every]
        return lambda: [issue() for issue in demands]
    handle, value_of = getattr(dut, name), lru_cache(4096)(partial(unpack, shapes[name]))
    return lambda: value_of(int(handle.value))
