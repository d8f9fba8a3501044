"""Adds the address of a buffer to the addresses of an AXI4 manager."""

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.axi import (
    FOUR_KB,
    Axi4Signature,
    AxiReadSignature,
    AxiWriteSignature,
    MemoryBusSignature,
)
from hdl.common.axi_guard import beat_of, fields
from hdl.common.component import Component
from hdl.common.params import Params, tagged, whole
from hdl.common.streams import StreamRegister

ADDRESS_BITS = 64  #: width of a byte address of a kernel's managers (UG1393)
PAGE_BITS = exact_log2(FOUR_KB)  #: buffers begin at multiples of so many bytes

KINDS: dict[tuple[bool, bool], type[MemoryBusSignature]] = {
    (True, True): Axi4Signature,
    (True, False): AxiReadSignature,
    (False, True): AxiWriteSignature,
}


class BaseAddressParams(Params, suffix="{address_bits}x{data_bits}"):
    """Sets the manager's bus, and which directions it has."""

    address_bits: int = whole(PAGE_BITS, ADDRESS_BITS)  #: width of the manager's byte address
    data_bits: int = whole(8, 1024, power_of_two=True, default=256)  #: width of a beat
    reads: bool = tagged("_r", default=False)  #: whether it reads
    writes: bool = tagged("_w", default=False)  #: whether it writes

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.reads | self.writes:
            raise ValueError("a manager must have reads or writes: it has neither")

    def bus(self, address_bits: int) -> MemoryBusSignature:
        """Describe the bus with addresses of this width."""
        kind = KINDS[self.reads, self.writes]
        return kind(address_bits=address_bits, data_bits=self.data_bits)

    @classmethod
    def of(cls, bus: MemoryBusSignature) -> "BaseAddressParams":
        """Return the sizes for a manager with this bus."""
        return cls(
            address_bits=bus.address_bits,
            data_bits=bus.data_bits,
            reads="araddr" in bus.members,
            writes="awaddr" in bus.members,
        )


class BaseAddress(Component):
    """Passes ``i`` to ``o``; an address at ``o`` is ``page`` x 4 KB more than at ``i``.

    A burst that stays within 4 KB at ``i`` does so at ``o``. Sums are modulo 2^64. ``page`` may
    change in any cycle; a burst takes the value of the cycle in which it moves at ``i``, and never
    changes behind that.

    Throughput: a beat a cycle in each channel. Latency: ``latency`` in AR, AW and W, none in R and
    B. Stalls: each channel waits on its own.
    """

    latency = StreamRegister.latency

    def __init__(self, params: BaseAddressParams) -> None:
        super().__init__(
            params,
            page=In(ADDRESS_BITS - PAGE_BITS),
            i=In(params.bus(params.address_bits)),
            o=Out(params.bus(ADDRESS_BITS)),
        )

    def build(self, m: Module) -> None:
        channels = [*(["ar"] if self.params.reads else [])]
        channels += ["aw", "w"] if self.params.writes else []
        for channel in channels:
            self.register(m, channel)
        for channel in ("r",) * self.params.reads + ("b",) * self.params.writes:
            m.d.comb += [
                beat_of(self.i, channel).eq(beat_of(self.o, channel)),
                getattr(self.i, f"{channel}valid").eq(getattr(self.o, f"{channel}valid")),
                getattr(self.o, f"{channel}ready").eq(getattr(self.i, f"{channel}ready")),
            ]

    def register(self, m: Module, channel: str) -> None:
        """Register a channel that leaves, with the sum in the place of the address."""
        beat = {name: Value.cast(getattr(self.i, name)) for name in fields(self.i, channel)}
        if channel != "w":
            base = Cat(Const(0, PAGE_BITS), self.page)
            beat[f"{channel}addr"] = (beat[f"{channel}addr"] + base)[:ADDRESS_BITS]
        taken = beat_of(self.o, channel)
        m.submodules[channel] = register = StreamRegister.sized(shape=len(taken))
        m.d.comb += [
            register.i.payload.eq(Cat(beat.values())),
            register.i.valid.eq(getattr(self.i, f"{channel}valid")),
            getattr(self.i, f"{channel}ready").eq(register.i.ready),
            taken.eq(register.o.payload),
            getattr(self.o, f"{channel}valid").eq(register.o.valid),
            register.o.ready.eq(getattr(self.o, f"{channel}ready")),
        ]
