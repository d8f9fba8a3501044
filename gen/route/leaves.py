"""Lists the components that decide a design's clock, each in its design's default size."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gen.base.emission.emit import Emission, EmittedModule
from gen.base.errors import UserError, unknown
from gen.board.boards import find_board
from gen.designs.catalogue import find_design
from hdl.common.component import Component

CARD = "u280"
Emitter = Callable[[Component], Emission]


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """Names a component by the design that has it and by its class."""

    design: str
    kind: str  #: name of the class
    on_card: bool = False  #: whether the design's top for the card has it, and the design has not
    settings: Mapping[str, Any] = field(default_factory=dict)  #: what differs from the preset


LEAVES: Mapping[str, Leaf] = {
    "adder-tree": Leaf(design="p4sgd-engine", kind="GatedAdderTree", settings={"dsp": False}),
    "arbiter": Leaf(design="netsparse-snic", kind="RoundRobin"),
    "async-fifo": Leaf(design="gather-engine", kind="AsyncFifo", on_card=True),
    "crossbar": Leaf(design="netsparse-snic", kind="Crossbar"),
    "destination-cam": Leaf(design="netsparse-snic", kind="DestinationCam"),
    "lane-sums": Leaf(design="switchgnn-switch", kind="SumAdders"),
    "least-recently-used": Leaf(design="netsparse-switch", kind="SlotHistory"),
    "packet-verdict": Leaf(design="netsparse-switch", kind="PacketVerdict"),
    "pending-row": Leaf(design="netsparse-snic", kind="PendingWay"),
    "request-cutter": Leaf(design="gather-engine", kind="RequestCutter"),
    "skid-buffer": Leaf(design="netsparse-snic", kind="StreamSkid"),
    "slot-table": Leaf(design="p4sgd-worker", kind="SlotTable"),
}


def component_of(name: str, emitted: Emitter) -> Component:
    """Return a component of LEAVES, or of ``DESIGN/MODULE``, a module of a design's preset.

    ``emitted`` returns the modules of a design. Where it has several of a class, the component is
    the one with the most text. Raises UserError for a name of nothing.
    """
    design, slash, module = name.partition("/")
    if slash:
        modules = emitted(design_of(Leaf(design=design, kind=""))).modules
        if module not in modules:
            raise unknown("module", module, modules)
        return modules[module].component
    if name not in LEAVES:
        raise unknown("component", name, LEAVES)
    leaf = LEAVES[name]
    fits = [m for m in emitted(design_of(leaf)).modules.values() if m.kind.__name__ == leaf.kind]
    if not fits:
        raise UserError(f"{leaf.design} has no {leaf.kind}")
    return max(fits, key=text_size).component


def text_size(module: EmittedModule) -> int:
    """Return the length of a module's text."""
    return len(module.rtlil)


def design_of(leaf: Leaf) -> Component:
    """Return the design that has a leaf, at its default preset."""
    design = find_design(leaf.design)
    params = design.params_of(design.preset, **leaf.settings)
    top = find_board(CARD).find(leaf.design) if leaf.on_card else design
    return top.make(params)
