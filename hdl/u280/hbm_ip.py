"""Describes HBM's IP: both stacks, and those of their 32 ports that a design uses."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Const
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.common.axi import Burst, Response
from hdl.u280.axi_wires import bus_ports
from hdl.u280.vendor import VendorIp, VendorPort

PORTS = 32
SECOND_STACK = 16  #: the first port of the second stack
CHANNEL_BITS = 28  #: width of an address in one port's own 256 MB
ADDRESS_BITS = 33
DATA_BITS = 256
ID_BITS = 6
LENGTH_BITS = 4  #: width of a burst's length in AXI3, at most 16 beats
BYTES_SIZE = 5  #: AxSIZE of 32 bytes


class HbmSignature(wiring.Signature):
    """Describes a port of HBM from the master's side: AXI3, in the vendor's names in lower case."""

    def __init__(self) -> None:
        address = {
            "id": Out(ID_BITS),
            "addr": Out(ADDRESS_BITS),
            "len": Out(LENGTH_BITS),
            "size": Out(3),
            "burst": Out(Burst),
            "valid": Out(1),
            "ready": In(1),
        }
        super().__init__(
            {
                f"{prefix}{name}": member
                for prefix in ("ar", "aw")
                for name, member in address.items()
            }
            | {
                "rid": In(ID_BITS),
                "rdata": In(DATA_BITS),
                "rresp": In(Response),
                "rlast": In(1),
                "rvalid": In(1),
                "rready": Out(1),
                "wdata": Out(DATA_BITS),
                "wstrb": Out(DATA_BITS // 8),
                "wlast": Out(1),
                "wvalid": Out(1),
                "wready": In(1),
                "bid": In(ID_BITS),
                "bresp": In(Response),
                "bvalid": In(1),
                "bready": Out(1),
            }
        )

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.members == other.members


HBM_BUS = HbmSignature()


def enabled_ports(used: Sequence[int]) -> tuple[int, ...]:
    """Return the ports that the IP has: those used, and the first of a stack that nobody uses."""
    stacks = {port // SECOND_STACK for port in used}
    return tuple(sorted({*used, *(SECOND_STACK * stack for stack in {0, 1} - stacks)}))


def hbm_ip(used: Sequence[int]) -> VendorIp:
    """Describe HBM with at least the ports ``used``; addresses reach all of it from each."""
    enabled = enabled_ports(used)
    second = [port for port in enabled if port >= SECOND_STACK]
    config = [
        ("USER_HBM_DENSITY", "8GB"),
        ("USER_HBM_STACK", "2"),
        ("USER_MEMORY_DISPLAY", "8192"),
        ("USER_SWITCH_ENABLE_00", "TRUE"),
        ("USER_SWITCH_ENABLE_01", "TRUE"),
        ("USER_AXI_CLK_FREQ", "450"),
        ("USER_AXI_CLK1_FREQ", "450"),
        ("USER_AXI_INPUT_CLK_FREQ", "450"),
        ("USER_AXI_INPUT_CLK1_FREQ", "450"),
        ("USER_HBM_REF_CLK_0", "100"),
        ("USER_HBM_REF_CLK_1", "100"),
        ("USER_APB_EN", "false"),
        ("USER_APB_PCLK_0", "100"),
        ("USER_APB_PCLK_1", "100"),
        ("USER_XSDB_INTF_EN", "FALSE"),
        ("USER_CLK_SEL_LIST0", f"AXI_{enabled[0]:02}_ACLK"),
        ("USER_CLK_SEL_LIST1", f"AXI_{second[0]:02}_ACLK"),
        ("USER_MC_ENABLE_APB_01", "TRUE"),
    ]
    for k in range(SECOND_STACK // 2, SECOND_STACK):
        config += [(f"USER_MC_ENABLE_{k:02}", "TRUE"), (f"USER_PHY_ENABLE_{k:02}", "TRUE")]
    config += [
        (f"USER_SAXI_{port:02}", "true" if port in enabled else "false") for port in range(PORTS)
    ]
    ports = [port for stack in range(2) for port in stack_ports(stack)]
    for port in enabled:
        ports += axi_ports(port, idle=port not in used)
    return VendorIp(
        name="hbm", vlnv="xilinx.com:ip:hbm:1.0", config=tuple(config), ports=tuple(ports)
    )


def stack_ports(stack: int) -> list[VendorPort]:
    """List the ports of clocks, state and temperature of a stack."""
    return [
        VendorPort(name=f"HBM_REF_CLK_{stack}", direction="input"),
        VendorPort(name=f"APB_{stack}_PCLK", direction="input"),
        VendorPort(name=f"APB_{stack}_PRESET_N", direction="input"),
        VendorPort(name=f"apb_complete_{stack}", direction="output"),
        VendorPort(name=f"DRAM_{stack}_STAT_CATTRIP", direction="output"),
        VendorPort(name=f"DRAM_{stack}_STAT_TEMP", direction="output", bits=7),
    ]


def axi_ports(port: int, *, idle: bool = False) -> list[VendorPort]:
    """List the ports of an AXI3 port; it is ``idle`` if its answers are not used."""
    prefix = f"AXI_{port:02}_"
    bus = [
        VendorPort(
            name=prefix + item.name.upper(),
            direction=item.direction,
            bits=item.bits,
            unused=idle and item.direction == "output",
        )
        for item in bus_ports("", "slave", HBM_BUS)
    ]
    return [
        VendorPort(name=f"{prefix}ACLK", direction="input"),
        VendorPort(name=f"{prefix}ARESET_N", direction="input"),
        VendorPort(name=f"{prefix}WDATA_PARITY", direction="input", bits=DATA_BITS // 8),
        VendorPort(
            name=f"{prefix}RDATA_PARITY", direction="output", bits=DATA_BITS // 8, unused=True
        ),
        *bus,
    ]


def axi_wires(port: int, clock: Any, reset: Any, bus: Any) -> dict[str, Any]:
    """Return the wires of a port; a ``bus`` of None makes a port without requests."""
    prefix = f"AXI_{port:02}_"
    wires = {
        f"{prefix}ACLK": clock,
        f"{prefix}ARESET_N": ~reset,
        f"{prefix}WDATA_PARITY": Const(0, DATA_BITS // 8),
    }
    for item in axi_ports(port):
        name = item.name.removeprefix(prefix).lower()
        if name not in HBM_BUS.members:
            continue
        if bus is not None:
            wires[item.name] = getattr(bus, name)
        elif item.direction == "input":
            wires[item.name] = Const(0, item.bits)
    return wires
