"""A MAC with its neighbours: cores that take little, a far end that sends all it may."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gen.emission.emit import module_name
from hdl.common.component import Component
from hdl.common.stream_pipeline import StreamPipeline
from hdl.u280.board import PACKETS_WAY
from hdl.u280.flow_control import FIBRE_NS_PER_METRE, INTERFACE_BITS, LINE_BITS_PER_NS
from hdl.u280.mac import Mac, MacParams
from sim.harness.assembly import Assembly
from sim.harness.results import Run
from sim.harness.verilator import simulate
from sim.surroundings.card.ip_models import SOURCES, model_of

TOP = Path(__file__).parent / "tops" / "incast.sv"


def fibre(metres: float) -> str:
    """The argument for a fibre with, at either end, half of the delays that Ethernet permits a MAC.

    Ethernet sums up those of both directions.
    """
    interface = INTERFACE_BITS * 1000 // LINE_BITS_PER_NS
    return f"+fibre_ps={int(metres * FIBRE_NS_PER_METRE * 1000) + interface // 2}"


class Incast(Assembly):
    """A MAC, which ``params.split`` says has flow control, between its neighbours."""

    name = "incast"
    params: MacParams

    def parts(self) -> Sequence[Component]:
        """The MAC and the pipeline behind it."""
        return Mac(self.params), StreamPipeline(PACKETS_WAY)

    def models(self) -> dict[str, str]:
        """The MAC's IP."""
        ip = Mac(self.params).cmac
        return {ip.name: model_of(ip)}

    def text(self) -> str:
        """The top, with the names that the parts have got."""
        text = TOP.read_text()
        for name, part in zip(("incast_mac", "incast_way"), self.parts(), strict=True):
            text = text.replace(f"  {name} ", f"  {module_name(part)} ")
        return text


def simulate_incast(params: MacParams, test_module: str, **more: Any) -> Run:
    """Simulate a MAC under incast; ``more`` goes to :func:`sim.harness.verilator.simulate`."""
    __tracebackhide__ = True
    return simulate(Incast(params), test_module, extra_sources=SOURCES, timing=True, **more)
