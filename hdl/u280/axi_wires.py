"""Lists the ports of AXI buses of the vendor's IP, and wires them."""

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Shape, Value
from amaranth.lib.wiring import Out, Signature

from hdl.u280.vendor import VendorPort

#: maps signals of AW and AR that our buses leave out to bits, and to what a slave is told
EXTRAS: Mapping[str, tuple[int, int]] = {
    "lock": (1, 0),
    "cache": (4, 0b0011),  # bufferable and modifiable, so that widths may be converted
    "prot": (3, 0),
    "region": (4, 0),
    "qos": (4, 0),
}


def bus_ports(
    prefix: str, role: str, signature: Signature, *, extras: Sequence[str] = ()
) -> tuple[VendorPort, ...]:
    """List ports ``<prefix><signal>`` of a bus at which the IP is ``master`` or ``slave``."""
    from_master, from_slave = ("output", "input") if role == "master" else ("input", "output")
    ports = [
        VendorPort(
            name=prefix + name,
            direction=from_master if member.flow == Out else from_slave,
            bits=_bits(member.shape),
        )
        for name, member in signature.members.items()
    ]
    ports += [
        VendorPort(
            name=f"{prefix}{channel}{extra}",
            direction=from_master,
            bits=EXTRAS[extra][0],
            unused=role == "master",
        )
        for channel in ("aw", "ar")
        for extra in extras
    ]
    return tuple(ports)


def bus_wires(prefix: str, *buses: Any, extras: Sequence[str] = ()) -> dict[str, Any]:
    """Connect ``buses``, side by side, to ports of :func:`bus_ports`; return their wires.

    ``extras`` are those of an IP that is the slave: they have one value, ever.
    """
    wires: dict[str, Any] = {
        prefix + name: Cat(getattr(bus, name) for bus in buses)
        for name in buses[0].signature.members
    }
    for channel in ("aw", "ar"):
        for extra in extras:
            bits, value = EXTRAS[extra]
            wires[f"{prefix}{channel}{extra}"] = Const(value, bits)
    return wires


def _bits(shape: Any) -> int:
    return Shape.cast(shape).width


def connect_bus(m: Module, master: Any, slave: Any) -> None:
    """Connect AXI buses of different widths: a wider address loses its upper bits.

    Signals that only one of them has stay as they are: an identifier is 0. An answer's goes back.
    """
    for name in master.signature.members:
        if name not in slave.signature.members:
            continue
        ready = name.endswith("ready")
        answers = name[0] in "br"
        provided, taken = (slave, master) if answers != ready else (master, slave)
        source, target = (Value.cast(getattr(bus, name)) for bus in (provided, taken))
        m.d.comb += target.eq(source[: len(target)])
