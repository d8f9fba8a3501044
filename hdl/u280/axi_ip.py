"""Describes the vendor's parts of AXI interconnect: decoders and converters, all in one clock."""

from collections.abc import Sequence

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.common.axi import Axi4Signature, AxiLiteSignature, Burst, BusSignature
from hdl.u280.axi_wires import bus_ports
from hdl.u280.vendor import VendorIp, VendorPort

EXTRAS = ("lock", "cache", "prot", "region", "qos")
#: names further signals that a crossbar's slave ports have
CROSSBAR_EXTRAS = ("lock", "cache", "prot", "qos")


def clocked(prefix: str = "") -> tuple[VendorPort, ...]:
    """List the ports of clock and reset."""
    return (
        VendorPort(name=f"{prefix}aclk", direction="input"),
        VendorPort(name=f"{prefix}aresetn", direction="input"),
    )


def repeated(ports: Sequence[VendorPort], count: int) -> tuple[VendorPort, ...]:
    """List the ports of ``count`` like buses side by side."""
    return tuple(
        VendorPort(
            name=port.name,
            direction=port.direction,
            bits=port.bits * count,
            unused=port.unused,
        )
        for port in ports
    )


def crossbar(
    name: str, signature: AxiLiteSignature | Axi4Signature, regions: Sequence[tuple[int, int]]
) -> VendorIp:
    """Distribute one master's accesses to slaves by ``regions``: base and address bits of each."""
    lite = isinstance(signature, AxiLiteSignature)
    widths = [("ADDR_WIDTH", str(signature.address_bits))]
    if not isinstance(signature, AxiLiteSignature):
        widths += [
            ("DATA_WIDTH", str(signature.data_bits)),
            ("ID_WIDTH", str(signature.id_bits)),
            ("S00_THREAD_ID_WIDTH", str(signature.id_bits)),  # by default no bit comes back
        ]
    config = [
        ("NUM_SI", "1"),
        ("NUM_MI", str(len(regions))),
        ("PROTOCOL", "AXI4LITE" if lite else "AXI4"),
        ("CONNECTIVITY_MODE", "SASD" if lite else "SAMD"),
        *widths,
        ("ADDR_RANGES", "1"),
    ]
    for k, (base, bits) in enumerate(regions):
        config += [
            (f"M{k:02}_A00_BASE_ADDR", f"0x{base:016X}"),
            (f"M{k:02}_A00_ADDR_WIDTH", str(bits)),
        ]
    slave_extras, master_extras = ((), ()) if lite else (CROSSBAR_EXTRAS, EXTRAS)
    return VendorIp(
        name=name,
        vlnv="xilinx.com:ip:axi_crossbar:2.1",
        config=tuple(config),
        ports=(
            *clocked(),
            *bus_ports("s_axi_", "slave", signature, extras=slave_extras),
            *repeated(bus_ports("m_axi_", "master", signature, extras=master_extras), len(regions)),
        ),
    )


def width_converter(name: str, slave: Axi4Signature, data_bits: int) -> VendorIp:
    """Convert AXI4 to fewer data bits; what leaves has no identifiers and stays in order."""
    master = Axi4Signature(address_bits=slave.address_bits, data_bits=data_bits, id_bits=0)
    return VendorIp(
        name=name,
        vlnv="xilinx.com:ip:axi_dwidth_converter:2.1",
        config=(
            ("PROTOCOL", "AXI4"),
            ("ADDR_WIDTH", str(slave.address_bits)),
            ("SI_DATA_WIDTH", str(slave.data_bits)),
            ("SI_ID_WIDTH", str(slave.id_bits)),
            ("MI_DATA_WIDTH", str(data_bits)),
            ("READ_WRITE_MODE", "READ_WRITE"),
        ),
        ports=(
            *clocked("s_axi_"),
            *bus_ports("s_axi_", "slave", slave, extras=EXTRAS),
            *bus_ports("m_axi_", "master", master, extras=EXTRAS),
        ),
    )


class Axi3Signature(BusSignature):
    """Describes AXI3 without identifiers, from the master's side: bursts of at most 16 beats."""

    def __init__(self, *, address_bits: int, data_bits: int) -> None:
        self.address_bits, self.data_bits = address_bits, data_bits
        members: dict[str, wiring.Member] = {}
        for prefix in ("aw", "ar"):
            members |= {
                f"{prefix}addr": Out(address_bits),
                f"{prefix}len": Out(4),
                f"{prefix}size": Out(3),
                f"{prefix}burst": Out(Burst),
                f"{prefix}valid": Out(1),
                f"{prefix}ready": In(1),
            }
        full = Axi4Signature(address_bits=address_bits, data_bits=data_bits, id_bits=0).members
        super().__init__(members | {name: full[name] for name in full if name[0] in "rwb"})


def to_axi3(name: str, slave: Axi4Signature) -> VendorIp:
    """Convert AXI4 without identifiers to AXI3: long bursts in parts."""
    master = Axi3Signature(address_bits=slave.address_bits, data_bits=slave.data_bits)
    locks = tuple(
        VendorPort(name=f"m_axi_{channel}lock", direction="output", bits=2, unused=True)
        for channel in ("aw", "ar")
    )
    return VendorIp(
        name=name,
        vlnv="xilinx.com:ip:axi_protocol_converter:2.1",
        config=(
            ("SI_PROTOCOL", "AXI4"),
            ("MI_PROTOCOL", "AXI3"),
            ("READ_WRITE_MODE", "READ_WRITE"),
            ("ADDR_WIDTH", str(slave.address_bits)),
            ("DATA_WIDTH", str(slave.data_bits)),
            ("ID_WIDTH", "0"),
            ("TRANSLATION_MODE", "2"),
        ),
        ports=(
            *clocked(),
            *bus_ports("s_axi_", "slave", slave, extras=EXTRAS),
            *bus_ports("m_axi_", "master", master, extras=("cache", "prot", "qos")),
            *locks,
        ),
    )


def to_lite(name: str, slave: Axi4Signature) -> VendorIp:
    """Convert AXI4 of 32 bits without identifiers to AXI4-Lite."""
    return VendorIp(
        name=name,
        vlnv="xilinx.com:ip:axi_protocol_converter:2.1",
        config=(
            ("SI_PROTOCOL", "AXI4"),
            ("MI_PROTOCOL", "AXI4LITE"),
            ("READ_WRITE_MODE", "READ_WRITE"),
            ("ADDR_WIDTH", str(slave.address_bits)),
            ("DATA_WIDTH", "32"),
            ("ID_WIDTH", "0"),
            ("TRANSLATION_MODE", "2"),
        ),
        ports=(
            *clocked(),
            *bus_ports("s_axi_", "slave", slave, extras=EXTRAS),
            *bus_ports("m_axi_", "master", AxiLiteSignature(address_bits=slave.address_bits)),
        ),
    )
