"""Declares the signals of AXI4, AXI4-Lite and AXI4-Stream, as the master sees them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

FOUR_KB = 4096  #: no burst crosses a multiple of this many bytes
#: width of identifiers where a bus says nothing else: models and interconnects of others want some.
#: Masters here leave theirs at 0, so that a slave answers in order, and do not read an answer's.
ID_BITS = 1


class Response(enum.Enum, shape=2):
    """Names the responses of an AXI slave; the larger of two values is the worse one."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


class Burst(enum.Enum, shape=2):
    """Says how a burst's address moves from beat to beat."""

    FIXED = 0
    INCR = 1
    WRAP = 2


def check_bus(address_bits: int, data_bits: int, id_bits: int) -> None:
    """Raise ValueError for widths that no AXI bus has."""
    if data_bits not in (8 << k for k in range(8)):
        raise ValueError(f"data_bits must be 8, 16, 32, ... or 1024: {data_bits!r}")
    if not 1 <= address_bits <= 64:
        raise ValueError(f"address_bits must be from 1 to 64: {address_bits!r}")
    if not 0 <= id_bits <= 32:
        raise ValueError(f"id_bits must be from 0 (no identifiers) to 32: {id_bits!r}")


def address_channel(prefix: str, address_bits: int, id_bits: int) -> dict[str, wiring.Member]:
    """List the signals of an address channel, AR or AW."""
    identifier = {f"{prefix}id": Out(id_bits)} if id_bits else {}
    return identifier | {
        f"{prefix}addr": Out(address_bits),
        f"{prefix}len": Out(8),
        f"{prefix}size": Out(3),
        f"{prefix}burst": Out(Burst),
        f"{prefix}valid": Out(1),
        f"{prefix}ready": In(1),
    }


def read_channels(address_bits: int, data_bits: int, id_bits: int) -> dict[str, wiring.Member]:
    """List the signals of the channels of reads, AR and R."""
    identifier = {"rid": In(id_bits)} if id_bits else {}
    return (
        address_channel("ar", address_bits, id_bits)
        | identifier
        | {
            "rdata": In(data_bits),
            "rresp": In(Response),
            "rlast": In(1),
            "rvalid": In(1),
            "rready": Out(1),
        }
    )


def write_channels(address_bits: int, data_bits: int, id_bits: int) -> dict[str, wiring.Member]:
    """List the signals of the channels of writes, AW, W and B."""
    identifier = {"bid": In(id_bits)} if id_bits else {}
    return (
        address_channel("aw", address_bits, id_bits)
        | {
            "wdata": Out(data_bits),
            "wstrb": Out(data_bits // 8),
            "wlast": Out(1),
            "wvalid": Out(1),
            "wready": In(1),
        }
        | identifier
        | {"bresp": In(Response), "bvalid": In(1), "bready": Out(1)}
    )


@dataclass(frozen=True, kw_only=True)
class Bursts:
    """Says what a manager requests at most, of reads or of writes."""

    beats: int  #: beats of a burst
    under_way: int  #: bursts that AR or AW has taken and that wait for their response


class BusSignature(wiring.Signature):
    """Compares two buses: they are equal if their kinds and their members are.

    ``reads`` and ``writes`` tell a reader what the manager requests at most, where it is known.
    """

    reads: Bursts | None = None
    writes: Bursts | None = None

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.members == other.members


class MemoryBusSignature(BusSignature):
    """Describes what all forms of AXI4 have; without identifiers if ``id_bits`` is 0."""

    channels: ClassVar[Callable[[int, int, int], dict]]  #: returns the members of these widths

    def __init__(
        self,
        *,
        address_bits: int,
        data_bits: int,
        id_bits: int = ID_BITS,
        reads: Bursts | None = None,
        writes: Bursts | None = None,
    ) -> None:
        check_bus(address_bits, data_bits, id_bits)
        self.reads, self.writes = reads, writes
        self.address_bits, self.data_bits, self.id_bits = address_bits, data_bits, id_bits
        super().__init__(type(self).channels(address_bits, data_bits, id_bits))


class AxiReadSignature(MemoryBusSignature):
    """Describes AR and R of AXI4, for a read-only bus."""

    channels = staticmethod(read_channels)


class AxiWriteSignature(MemoryBusSignature):
    """Describes AW, W and B of AXI4, for a write-only bus."""

    channels = staticmethod(write_channels)


class Axi4Signature(MemoryBusSignature):
    """Describes all five channels of AXI4, without lock, cache, protection, QoS and region."""

    @staticmethod
    def channels(address_bits: int, data_bits: int, id_bits: int) -> dict:
        """Return the members of all channels, of these widths."""
        widths = address_bits, data_bits, id_bits
        return write_channels(*widths) | read_channels(*widths)


class AxiLiteSignature(BusSignature):
    """Describes AXI4-Lite with 32 bits of data."""

    def __init__(self, *, address_bits: int) -> None:
        check_bus(address_bits, 32, 0)
        self.address_bits = address_bits
        super().__init__(
            {
                "awaddr": Out(address_bits),
                "awprot": Out(3),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(32),
                "wstrb": Out(4),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(Response),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(address_bits),
                "arprot": Out(3),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(32),
                "rresp": In(Response),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )


class AxiStreamSignature(BusSignature):
    """Describes AXI4-Stream with byte enables; byte 0 of a beat is in the lowest bits.

    ``tuser``, valid with the last beat, marks a packet that the MAC found to be corrupt; there is
    none without ``user``.
    """

    def __init__(self, *, data_bits: int, user: bool = True) -> None:
        check_bus(1, data_bits, 0)
        self.data_bits, self.user_bits = data_bits, int(user)
        super().__init__(
            {
                "tdata": Out(data_bits),
                "tkeep": Out(data_bits // 8),
                "tlast": Out(1),
                **({"tuser": Out(1)} if user else {}),
                "tvalid": Out(1),
                "tready": In(1),
            }
        )
