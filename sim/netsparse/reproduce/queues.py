"""Reproduces section 7.2: memory of concatenation, with a queue for each node and virtual queues.

Nothing is calculated beside the hardware: the parts that know the nodes are elaborated with the
parameters of a whole SNIC and of a whole switch, and the bits that they declare are counted.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.axes import Axes

from gen.base.emission.memories import Bits, bits_of
from hdl.common.component import Component
from hdl.netsparse.concat.concatenator import Concatenator
from hdl.netsparse.concat.destination_cam import DestinationCam
from hdl.netsparse.concat.expiration_queue import ExpirationQueue
from hdl.netsparse.concat.line_memory import LineMemory
from hdl.netsparse.concat.line_pool import LinePool
from hdl.netsparse.concat.mark_order import MarkOrder
from hdl.netsparse.concat.queue_table import QueueTable
from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.client import Client
from hdl.netsparse.rig.destination_solver import DestinationSolver
from hdl.netsparse.rig.params import RigParams
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.routing_table import RoutingTable
from sim.reproduce.figure import Claim, Figure, Panel, by_paper, doubling
from sim.reproduce.outcomes import run_all

NODES, QUICK_NODES = (128, 1024, 4096), (128, 1024)
POOL = 256  #: lines of the virtual form, of each class
FORMS = {"full": 0, "virtual": POOL}
SRAM_KIB = 512  #: for concatenation, of a SNIC and of each pipe of a switch (table 5)

#: What a column of the table counts.
PARTS: dict[str, tuple[type[Component], ...]] = {
    "lines": (LineMemory,),
    "links": (LinePool,),
    "queue states": (QueueTable,),
    "marked packets": (MarkOrder,),
    "expiration queue": (ExpirationQueue,),
    "destination CAM": (DestinationCam,),
    "destination table": (DestinationSolver,),
    "routing table": (RoutingTable,),
}
CONCATENATION = tuple(PARTS)[:6]

Placed = tuple[Component, int]  #: a part, and how often it stands in the whole


def parts_of_snic(params: SnicParams) -> list[Placed]:
    """Return the parts that grow with the nodes: concatenators, and each unit's boundary table."""
    solver = DestinationSolver(Client(params.rig).solver_params)
    return [*concatenators(params, 1), (solver, params.units)]


def parts_of_switch(params: NetSparseSwitchParams) -> list[Placed]:
    """Return the concatenators of each middle pipe, and the routing tables.

    A port has a table for each class, and a pipe one, for reads that hit.
    """
    tables = 2 * params.ports + params.pipes
    return [*concatenators(params, params.pipes), (RoutingTable(params), tables)]


def concatenators(params: SnicParams | NetSparseSwitchParams, times: int) -> list[Placed]:
    """Return the concatenators for reads and for responses."""
    return [(Concatenator(params.concatenator(payload)), times) for payload in (False, True)]


@dataclass(frozen=True)
class Design:
    """Describes a design for a number of nodes, in one of the two forms."""

    name: str  #: SNIC or switch
    form: str
    nodes: int

    @property
    def params(self) -> SnicParams | NetSparseSwitchParams:
        """Return the paper's sizes; raise ValueError if there cannot be that many nodes."""
        pool = FORMS[self.form]
        if self.name == "SNIC":
            return SnicParams(rig=RigParams(nodes=self.nodes), pool=pool)
        return NetSparseSwitchParams(nodes=self.nodes, pool=pool)

    @property
    def parts(self) -> list[Placed]:
        """Return the parts of the design that know the nodes."""
        params = self.params
        return parts_of_snic(params) if isinstance(params, SnicParams) else parts_of_switch(params)

    @property
    def points(self) -> int:
        """Return the number of concatenation points: middle pipes of a switch."""
        return 1 if self.name == "SNIC" else NetSparseSwitchParams().pipes


@dataclass(frozen=True)
class Memory:
    """Holds the bits that the parts of a design that know the nodes store, by column."""

    design: Design
    columns: dict[str, Bits]

    def kib(self, *columns: str) -> float:
        """Return KiB of memory in these columns, in all of them if none is named."""
        return sum(self.columns[name].memory for name in columns or self.columns) / 8192

    @property
    def registers(self) -> int:
        """Return the bits in registers."""
        return sum(bits.registers for bits in self.columns.values())

    @property
    def row(self) -> dict[str, Any]:
        """Return the design's row of the table."""
        return {
            "design": self.design.name,
            "form": self.design.form,
            "nodes": self.design.nodes,
            **{f"{name.replace(' ', '_')}_bits": self.columns[name].memory for name in PARTS},
            "register_bits": self.registers,
            "kib": self.kib(),
        }

    @property
    def shown(self) -> dict[str, Any]:
        """Return the design's row of the page, in KiB."""
        return {
            "KiB of": f"{self.design.name}, {self.design.form}",
            "nodes": f"{self.design.nodes:,}",
            **{name: f"{self.kib(name):,.1f}" for name in PARTS if name != "destination CAM"},
            "all": f"{self.kib():,.0f}",
            "registers, bits": f"{self.registers:,}",
        }


def stored(parts: Sequence[Placed]) -> dict[str, Bits]:
    """Return the bits of ``parts`` by column; raise an error for memory that is in no column."""
    result = dict.fromkeys(PARTS, Bits())
    column = {kind: name for name, kinds in PARTS.items() for kind in kinds}
    for component, times in parts:
        for kind, bits in bits_of(component).items():
            if kind in column:
                result[column[kind]] += bits * times
            elif bits.memory:
                raise ValueError(f"{kind.__name__} has memory and is in no column")
    return result


def measured(design: Design) -> Memory:
    """Elaborate the parts of a design and count their bits."""
    return Memory(design, stored(design.parts))


def designs(nodes: Sequence[int]) -> Iterator[Design]:
    """Return both designs in both forms, in all sizes."""
    for name in ("SNIC", "switch"):
        for form in FORMS:
            for count in nodes:
                yield Design(name, form, count)


def memories(nodes: Sequence[int], progress: Callable[[int, int], None]) -> list[Memory]:
    """Return the memory of all designs; the largest take longest and come first."""
    requested = list(designs(nodes))
    largest_first = sorted(requested, key=lambda item: (-item.nodes, item.form))
    result = run_all(measured, largest_first, lambda _, done: progress(done, len(requested)))
    return [result[design] for design in requested]


def figure(result: Sequence[Memory]) -> Figure:
    """Return the figure: the memory of both forms."""
    return Figure(
        name="queues",
        title="Memory of concatenation: a queue for each node, and virtual queues",
        source="section 7.2; table 5",
        quote="Since our concatenation mechanism allocates one Concatenation Queue (CQ) for each"
        " possible destination node, the total SRAM requirement scales with the total number of"
        " nodes in the network. [...] each concatenation point includes a fixed number (i.e.,"
        " independent of the number of nodes) of smaller sub-MTU sized (e.g., 128B) physical CQs.",
        setting="SNIC and switch with the sizes of the paper (32 units; 32 ports, 8 middle pipes;"
        f" MTU 1,500 bytes). The virtual form has {POOL} lines of 128 bytes of each class. The"
        " parts that know the nodes are elaborated, and the bits of their memories are counted: of"
        " a SNIC both concatenators and the table of block boundaries of each unit, of a switch"
        " the concatenators of its pipes and all routing tables.",
        rows=[memory.row for memory in result],
        shown=[memory.shown for memory in result],
        panels=[
            Panel(name, partial(draw, [item for item in result if item.design.name == name]))
            for name in ("SNIC", "switch")
        ],
        claims=list(claims(result)),
        note="The virtual form's CAM is made of registers, as are the marks of open queues. The"
        f" parameters allow {max_nodes('full'):,} nodes in the full form, whose concatenators"
        f" number at most 65,536 lines, and {max_nodes('virtual'):,} in the virtual one, the"
        " most that the tables have numbers for.",
    )


def max_nodes(form: str) -> int:
    """Return the largest number of nodes that the parameters of SNIC and switch accept."""

    def refused(nodes: int) -> bool:
        try:
            for name in ("SNIC", "switch"):
                _ = Design(name, form, nodes).params
        except ValueError:
            return True
        return False

    return bisect_left(range(2, 1 << 20), True, key=refused) + 1


def claims(result: Sequence[Memory]) -> Iterator[Claim]:
    """Yield the statements of section 7.2 and table 5, judged."""
    by = {(item.design.name, item.design.form, item.design.nodes): item for item in result}
    sizes = sorted({item.design.nodes for item in result})
    least, most = sizes[0], sizes[-1]
    for name in ("SNIC", "switch"):
        full = [by[name, "full", size] for size in (least, most)]
        small, large = (item.kib(*CONCATENATION) for item in full)
        points = full[0].design.points
        yield by_paper(
            f"{SRAM_KIB} KB are enough for concatenation in a {name}"
            + (", of each pipe" if points > 1 else "")
            + f", with {least} nodes",
            small / points <= SRAM_KIB,
            f"{small / points:,.0f} KiB",
        )
        growth, nodes = large / small, most / least
        yield by_paper(
            f"{name}, a queue for each node: memory grows as the nodes do",
            abs(growth / nodes - 1) <= 0.1,
            f"x {growth:.1f} for x {nodes:.0f} nodes: {small:,.0f} to {large:,.0f} KiB",
        )
        small, large = (by[name, "virtual", size].kib("lines", "links") for size in (least, most))
        yield by_paper(
            f"{name}, virtual queues: memory is independent of the nodes",
            small == large,
            f"lines and links {small:,.1f} KiB with {least:,} nodes, {large:,.1f} KiB with"
            f" {most:,}",
        )


def draw(result: Sequence[Memory], axes: Axes) -> None:
    """Draw memory against nodes."""
    sizes = sorted({item.design.nodes for item in result})
    doubling(axes, sizes, "nodes")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylabel("KiB")
    for form in FORMS:
        own = [item for item in result if item.design.form == form]
        kib = [item.kib(*CONCATENATION) for item in own]
        axes.plot(sizes, kib, "o-", label=f"concatenation, {form} form")
    tables = [item.kib("destination table", "routing table") for item in result[: len(sizes)]]
    axes.plot(sizes, tables, "s:", color="0.5", label="destination or routing tables")
