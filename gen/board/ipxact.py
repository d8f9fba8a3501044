"""Writes IP-XACT of a design's core, as Vivado's catalogue reads it (SPIRIT 1685-2009).

Bus interfaces come from the component's signature, ports from its emitted module. Frequencies are
those of a clock at ``mhz``; resets are active high.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from amaranth.lib import wiring

from gen.base.emission.emit import EmittedModule
from gen.base.templates import render
from hdl.common.axi import (
    Axi4Signature,
    AxiLiteSignature,
    AxiReadSignature,
    AxiStreamSignature,
    AxiWriteSignature,
)

HERE = Path(__file__).parent
SPIRIT = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
VIEW = "xilinx_anylanguagesynthesis"
INTERRUPTS = ("irq",)  #: ports that are level interrupts, active high

#: signature -> bus of the catalogue, AXI protocol, which channels it has
AXI = {
    Axi4Signature: ("aximm", "AXI4", "READ_WRITE"),
    AxiReadSignature: ("aximm", "AXI4", "READ_ONLY"),
    AxiWriteSignature: ("aximm", "AXI4", "WRITE_ONLY"),
    AxiLiteSignature: ("aximm", "AXI4LITE", "READ_WRITE"),
    AxiStreamSignature: ("axis", "", ""),
}


@dataclass(frozen=True, kw_only=True)
class Bus:
    """Describes a bus interface: its kind in the catalogue, its ports, its parameters."""

    name: str
    kind: str  #: aximm, axis, clock, reset, interrupt
    library: str = "interface"  #: or signal
    master: bool
    ports: Mapping[str, str]  #: logical -> physical
    parameters: Mapping[str, object]

    @property
    def address_bits(self) -> int | None:
        """Return the width of the addresses of a memory-mapped bus."""
        value = self.parameters.get("ADDR_WIDTH")
        return value if isinstance(value, int) else None


def buses(signature: wiring.Signature) -> Iterator[Bus]:
    """Yield the AXI interfaces of a component; each element of an array is one."""
    for name, member in signature.members.items():
        if not member.is_signature:
            continue
        kind: Any = member.signature  # as its owner sees it: turned round, it is a slave's
        master = not isinstance(kind, wiring.FlippedSignature)
        kind = kind if master else kind.flip()
        if type(kind) not in AXI:
            continue
        for index in product(*map(range, member.dimensions)):
            yield axi_bus("_".join(map(str, (name, *index))), kind, master=master)


def axi_bus(name: str, signature: Any, *, master: bool) -> Bus:
    """Return one AXI interface whose ports are called ``name_...``."""
    kind, protocol, mode = AXI[type(signature)]
    parameters: dict[str, object] = {}
    if kind == "axis":
        parameters |= {"TDATA_NUM_BYTES": signature.data_bits // 8, "TUSER_WIDTH": 1}
        parameters |= {"HAS_TKEEP": 1, "HAS_TLAST": 1, "HAS_TREADY": 1}
    else:
        parameters |= {"PROTOCOL": protocol, "READ_WRITE_MODE": mode}
        parameters |= {
            "DATA_WIDTH": getattr(signature, "data_bits", 32),
            "ADDR_WIDTH": signature.address_bits,
            "ID_WIDTH": getattr(signature, "id_bits", 0),
        }
    return Bus(
        name=name,
        kind=kind,
        master=master,
        ports={member.upper(): f"{name}_{member}" for member in signature.members},
        parameters=parameters,
    )


def signals(module: EmittedModule, buses: Sequence[Bus], mhz: float) -> Iterator[Bus]:
    """Yield the interfaces of a core's clock, reset and interrupts."""
    if any(port.name == "clk" for port in module.ports):
        associated = ":".join(bus.name for bus in buses)
        clock = {"ASSOCIATED_BUSIF": associated, "ASSOCIATED_RESET": "rst"}
        yield signal("clk", "clock", "CLK", clock | {"FREQ_HZ": round(mhz * 1e6)})
        yield signal("rst", "reset", "RST", {"POLARITY": "ACTIVE_HIGH"})
    for port in module.ports:
        if port.name in INTERRUPTS:
            sensitivity = {"SENSITIVITY": "LEVEL_HIGH"}
            yield signal(port.name, "interrupt", "INTERRUPT", sensitivity, master=True)


def signal(
    port: str, kind: str, logical: str, parameters: Mapping[str, object], *, master: bool = False
) -> Bus:
    """Return an interface that is a single wire."""
    return Bus(
        name=port,
        kind=kind,
        library="signal",
        master=master,
        ports={logical: port},
        parameters=parameters,
    )


def component_xml(
    module: EmittedModule, files: Sequence[str], *, about: str, families: Sequence[str], mhz: float
) -> str:
    """Return the text of ``component.xml`` for ``module``, which is made of ``files``."""
    axi = list(buses(module.component.signature))
    return render(
        HERE,
        "component.xml.j2",
        spirit=SPIRIT,
        name=module.name,
        interfaces=[*axi, *signals(module, axi, mhz)],
        view=VIEW,
        ports=module.ports,
        files=files,
        about=escape(about),
        families=families,
    )
