"""Writes IP-XACT of a design's core, as Vivado's catalogue reads it (SPIRIT 1685-2009).

Bus interfaces come from the component's signature, ports from its emitted module, registers from
its register map. Frequencies are those of a clock at ``mhz``; resets are active high.
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
from hdl.common.registers import WORD_BITS, Placed, Register, RegisterMap

HERE = Path(__file__).parent
SPIRIT = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
VIEW = "xilinx_anylanguagesynthesis"
INTERRUPTS = ("irq",)  #: ports that are level interrupts, active high
#: the families of parts that have the primitives of all designs, by Vivado's names
FAMILIES = ("virtexuplus", "virtexuplusHBM")
LEAST_RANGE = 4096  #: bytes of the smallest block that Vivado maps
#: field's access -> IP-XACT's
ACCESSES = {"rw": "read-write", "ro": "read-only", "pulse": "write-only"}

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
    parameters: Mapping[str, Any]

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
    parameters: dict[str, Any] = {}
    if kind == "axis":
        parameters |= {"TDATA_NUM_BYTES": signature.data_bits // 8}
        parameters |= {"TUSER_WIDTH": signature.user_bits}
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


@dataclass(frozen=True, kw_only=True)
class MemoryMap:
    """Describes what a master sees of the component on one of its buses."""

    name: str  #: the bus's, or that of a register map that no AXI bus reaches
    block: str
    range: int  #: bytes; Vivado maps 4 KB at least
    width: int
    usage: str  #: register or memory
    registers: Sequence[Placed] = ()


def memory_maps(axi: Sequence[Bus], map: RegisterMap | None) -> Iterator[MemoryMap]:
    """Yield the maps of all subordinate buses; registers are on the AXI4-Lite bus, if any."""
    placed = () if map is None else map.placed
    reached = False
    for bus in axi:
        if bus.address_bits and not bus.master:
            lite = bus.parameters["PROTOCOL"] == "AXI4LITE"
            reached = reached or lite
            yield MemoryMap(
                name=bus.name,
                block="reg0" if lite else "mem0",
                range=max(LEAST_RANGE, 1 << bus.address_bits),
                width=bus.parameters["DATA_WIDTH"],
                usage="register" if lite else "memory",
                registers=placed if lite else (),
            )
    if map is not None and not reached:
        yield MemoryMap(
            name=map.name,
            block="reg0",
            range=max(LEAST_RANGE, 1 << map.address_bits),
            width=WORD_BITS,
            usage="register",
            registers=placed,
        )


def signals(module: EmittedModule, buses: Sequence[Bus], mhz: float | None) -> Iterator[Bus]:
    """Yield the interfaces of a core's clock, reset and interrupts."""
    if any(port.name == "clk" for port in module.ports):
        associated = ":".join(bus.name for bus in buses)
        clock = {"ASSOCIATED_BUSIF": associated, "ASSOCIATED_RESET": "rst"}
        frequency = {} if mhz is None else {"FREQ_HZ": round(mhz * 1e6)}
        yield signal("clk", "clock", "CLK", clock | frequency)
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
    module: EmittedModule,
    files: Sequence[str],
    *,
    about: str,
    map: RegisterMap | None = None,
    mhz: float | None = None,
) -> str:
    """Return the text of ``component.xml`` for ``module``, which is made of ``files``.

    The registers of ``map`` are those of its AXI4-Lite bus. Without ``mhz`` the clock is the one
    that a block design connects.
    """
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
        families=FAMILIES,
        memory_maps=list(memory_maps(axi, map)),
        map=map,
        word_bits=WORD_BITS,
        accesses=ACCESSES,
        access_of=access_of,
        reset_of=reset_of,
        escape=escape,
        zip=zip,
    )


def access_of(register: Register) -> str:
    """Return who may read and write a register of fields that differ in it."""
    kinds = {ACCESSES[field.access] for field in register.fields}
    return kinds.pop() if len(kinds) == 1 else "read-write"


def reset_of(map: RegisterMap, register: Register) -> tuple[int, int]:
    """Return a register's value after a reset, and a mask of the bits that are known."""
    value = mask = 0
    for field, offset in zip(register.fields, register.offsets, strict=True):
        if (known := map.reset(field)) is not None:
            value |= known << offset
            mask |= ((1 << field.bits) - 1) << offset
    return value, mask
