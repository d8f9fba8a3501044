"""Surrounds a MAC with a core that takes little and a far end that sends as much as it may."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gen.base.emission.emit import Emission, module_name
from hdl.common.component import Component
from hdl.common.stream_pipeline import StreamPipeline
from hdl.u280.board import PACKET_PATH
from hdl.u280.flow_control import FIBRE_NS_PER_METRE, INTERFACE_BITS, LINE_BITS_PER_NS
from hdl.u280.mac import Mac, MacParams
from sim.harness.assembly import Assembly, together
from sim.harness.results import Run
from sim.harness.verilator import simulate
from sim.surroundings.card.ip_models import SOURCES, model_of

TOP = Path(__file__).parent / "tops" / "incast.sv"


def fibre(metres: float) -> str:
    """Return the argument that sets the delay of a fibre, and half of a MAC's delays at either end.

    Ethernet sums up the delays that it permits a MAC in both directions.
    """
    interface = INTERFACE_BITS * 1000 // LINE_BITS_PER_NS
    return f"+fibre_ps={int(metres * FIBRE_NS_PER_METRE * 1000) + interface // 2}"


class Incast(Assembly):
    """Assembles a MAC, which ``params.flow`` says has flow control, with its neighbours."""

    params: MacParams

    def emission(self, emit: Callable[[Component], Emission]) -> Emission:
        """Return the MAC with a model of its IP, the pipeline behind it, and their top."""
        mac, path = Mac(self.params), StreamPipeline(PACKET_PATH)
        text = TOP.read_text()
        for name, part in (("incast_mac", mac), ("incast_path", path)):
            text = text.replace(f"  {name} ", f"  {module_name(part)} ")
        return together([mac, path], {mac.cmac.name: model_of(mac.cmac), "incast": text}, emit)


def simulate_incast(params: MacParams, test_module: str, **more: Any) -> Run:
    """Simulate a MAC under incast; ``more`` goes to :func:`sim.harness.verilator.simulate`."""
    __tracebackhide__ = True
    return simulate(Incast(params), test_module, extra_sources=SOURCES, timing=True, **more)
