"""Finds what of a module's logic is used, and makes operators no wider than that."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from gen.base.emission.verilog.choices import Body, Write
from gen.base.emission.verilog.logic import BIT, LOW_BITS, NODE_SHIFT, ONE, Bits, Logic, runs
from gen.base.emission.verilog.reading import ModuleLogic


@dataclass
class Uses:
    """Holds for each node that is used how often it is, and which are not always used whole."""

    times: Counter[int] = field(default_factory=Counter)
    cut: set[int] = field(default_factory=set)

    def add(self, logic: Logic, bits: Bits) -> None:
        """Count the use of ``bits``."""
        for run in runs(bits):
            if run[0] > ONE:
                number = run[0] >> NODE_SHIFT
                self.times[number] += 1
                if run != logic.output(number):
                    self.cut.add(number)


def values_in(body: Body, met: set[int]) -> Iterator[Bits]:
    """Yield all that statements read; what a switch compares once, whoever has ``met`` it."""
    for statement in body:
        if isinstance(statement, Write):
            yield statement.value
            continue
        new = statement.number not in met
        met.add(statement.number)
        is_case = new and statement.is_case
        if is_case:
            yield statement.arms[0].value
        for arm in statement.arms:
            if new and not is_case and not arm.always:
                yield (arm.condition,)
            yield from values_in(arm.body, met)


def ends(module: ModuleLogic) -> Iterator[tuple[str, Bits]]:
    """Yield all that leaves the logic of a module, with a name for what it is."""
    for name, bits in module.outputs.items():
        yield name, bits
    met: set[int] = set()
    for register in module.registers:
        for bits in (*values_in(register.body, met), *register.inputs.values()):
            yield register.name, bits
    for item in (*module.reads, *module.writes, *module.placed, *module.properties):
        for port, bits in item.inputs.items():
            yield f"{item.name}_{port}", bits


def find_uses(module: ModuleLogic) -> Uses:
    """Return what is used, after operators whose upper bits nobody needs have lost them."""
    nodes = module.logic.nodes
    needed = [0] * len(nodes)

    def need(bits: Bits) -> None:
        for net in bits:
            if net > ONE and needed[net >> NODE_SHIFT] <= net & BIT:
                needed[net >> NODE_SHIFT] = (net & BIT) + 1

    loops = [node for node in nodes if node.kind == "loop"]
    for bits in (*(bits for _, bits in ends(module)), *(loop.operands[0] for loop in loops)):
        need(bits)
    for number in range(len(nodes) - 1, 0, -1):
        node, width = nodes[number], needed[number]
        if not width:
            continue
        if node.kind in LOW_BITS or node.kind == "element":
            if node.kind in LOW_BITS and width < node.width:
                last = len(node.operands) - 1
                whole = {"choice": range(0, last, 2), "<<": (1,)}.get(node.kind, ())
                node.operands = tuple(
                    bits if place in whole else bits[:width]
                    for place, bits in enumerate(node.operands)
                )
            node.width = width
        for bits in node.operands:
            need(bits)
    uses = Uses()
    for bits in (
        *(bits for _, bits in ends(module)),
        *(
            bits
            for node, width in zip(nodes, needed, strict=True)
            if width
            for bits in node.operands
        ),
    ):
        uses.add(module.logic, bits)
    return uses
