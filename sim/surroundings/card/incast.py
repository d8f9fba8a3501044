"""A MAC with its neighbours: cores that take little, a far end that sends all it may."""

from pathlib import Path

from gen.emission.emit import Emission, EmittedModule, module_name
from hdl.common.stream_pipeline import StreamPipeline
from hdl.u280.board import PACKETS_WAY
from hdl.u280.flow_control import FIBRE_NS_PER_METRE, INTERFACE_BITS, LINE_BITS_PER_NS
from hdl.u280.mac import Mac, MacParams
from sim.harness.coverage_runs import covers
from sim.harness.verilator import Build, build, emission_of
from sim.surroundings.card.cards import Model
from sim.surroundings.card.ip_models import SOURCES, model_of

TOP = Path(__file__).parent / "tops" / "incast.sv"


def fibre(metres: float) -> str:
    """The argument for a fibre with, at either end, half of the delays that Ethernet permits a MAC.

    Ethernet sums up those of both directions.
    """
    interface = INTERFACE_BITS * 1000 // LINE_BITS_PER_NS
    return f"+fibre_ps={int(metres * FIBRE_NS_PER_METRE * 1000) + interface // 2}"


def build_incast(params: MacParams) -> Build:
    """The simulator of ``incast``, with a MAC that ``params.split`` says has flow control."""
    modules: dict[str, EmittedModule] = {}
    mac, way = Mac(params), StreamPipeline(PACKETS_WAY)
    for component in (mac, way):
        modules |= emission_of(component).modules
    modules[mac.cmac.name] = EmittedModule(mac.cmac.name, Model, verilog=model_of(mac.cmac))
    text = TOP.read_text()
    for name, component in (("incast_mac", mac), ("incast_way", way)):
        text = text.replace(f"  {name} ", f"  {module_name(component)} ")
    modules["incast"] = EmittedModule("incast", Model, verilog=text)
    return build(Emission(modules), extra_sources=SOURCES, timing=True, coverage=covers())
