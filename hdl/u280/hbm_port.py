"""Presents a port of HBM to the core: AXI4, in the core's own clock."""

from typing import Any

from amaranth.hdl import Cat, DomainRenamer, Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import low_bits
from hdl.common.axi import Axi4Signature, AxiReadSignature, AxiWriteSignature, Burst, Response
from hdl.common.component import Component
from hdl.common.crossing.async_fifo import AsyncFifo
from hdl.common.crossing.crossing import Crossing, inside
from hdl.common.params import Params, whole
from hdl.common.streams import StreamRegister
from hdl.u280.axi_wires import connect_bus
from hdl.u280.hbm_ip import ADDRESS_BITS, BYTES_SIZE, DATA_BITS, HBM_BUS, LENGTH_BITS
from hdl.u280.line_splitter import LINE_BITS, LineSplitter, LineSplitterParams

ADDRESS_DEPTH = 16  #: most bursts that wait on their way to HBM
SPLITTER = LineSplitterParams(address_bits=ADDRESS_BITS, length_bits=LENGTH_BITS - 1)
DATA_DEPTH = 32  #: beats on theirs: more than a way there and back takes
#: beats that were read, which the core still gets while HBM is refreshed: most of 350 ns
READ_DEPTH = 64


class HbmPortParams(Params):
    """Says what the core can do with a port."""

    #: width of a byte address of the core's; 33 bits address all of HBM
    address_bits: int = whole(16, ADDRESS_BITS, default=28)
    reads: bool = True  #: whether AR and R are there
    writes: bool = False  #: whether AW, W and B are there
    lines: bool = False  #: whether the core's beats are lines of 512 bits, two of HBM's

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.reads and not self.writes:
            raise ValueError("a port needs reads, writes or both")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: address bits, directions, and kind of beats."""
        ways = "r" * self.reads + "w" * self.writes + "_lines" * self.lines
        return f"{self.address_bits}_{ways}"

    @property
    def data_bits(self) -> int:
        """Return the width of the core's beats."""
        return LINE_BITS if self.lines else DATA_BITS

    @property
    def axi(self) -> AxiReadSignature | AxiWriteSignature | Axi4Signature:
        """Describe the bus, from the master's side."""
        kind = AxiReadSignature if not self.writes else AxiWriteSignature
        if self.reads and self.writes:
            kind = Axi4Signature
        return kind(address_bits=self.address_bits, data_bits=self.data_bits)

    def channels(self, data_bits: int) -> dict[str, tuple[data.StructLayout, int, bool]]:
        """Return by channel what crosses, the depth, and whether it goes from the core to HBM.

        ``data_bits`` is the width of a beat.
        """
        burst = data.StructLayout({"addr": self.address_bits, "len": LENGTH_BITS})
        beat = {"data": data_bits, "resp": 2, "last": 1}
        written = {"data": data_bits, "strb": data_bits // 8, "last": 1}
        channels = {}
        if self.reads:
            channels["ar"] = (burst, ADDRESS_DEPTH, True)
            channels["r"] = (data.StructLayout(beat), READ_DEPTH, False)
        if self.writes:
            channels["aw"] = (burst, ADDRESS_DEPTH, True)
            channels["w"] = (data.StructLayout(written), DATA_DEPTH, True)
            channels["b"] = (data.StructLayout({"resp": 2}), ADDRESS_DEPTH, False)
        return channels


class HbmPort(Component):
    """Connects ``axi`` of the core's clock to ``hbm`` of HBM's, each channel through its own queue.

    Bursts are of full width, INCR and of 1 to 16 beats of HBM, and have identifier 0. Lines cross
    whole and are split in HBM's clock, so that a port gives as much as HBM has. Where ``axi`` has
    fewer address bits than HBM, ``base`` has those above. ``base`` must not change.

    Each channel has a register beside HBM, in both directions: a hard block takes a good part of
    the 2.2 ns of HBM's clock for itself.

    Throughput: a beat a cycle of the slower clock and channel. Latency: that of a
    ``AsyncFifo`` and of the register there and back. Stalls: each channel holds on its own.
    """

    domains = ("sync", "hbm")

    def __init__(self, params: HbmPortParams) -> None:
        crossings: list[Crossing] = []
        for name, (layout, depth, to_hbm) in params.channels(params.data_bits).items():
            path = AsyncFifo.sized(shape=layout, depth=depth)
            crossings += inside(name, path.crossings, clocks(to_hbm))
        self.crossings = tuple(crossings)
        super().__init__(params, axi=In(params.axi), base=In(ADDRESS_BITS), hbm=Out(HBM_BUS))

    def build(self, m: Module) -> None:
        beside = HBM_BUS.create(path=("beside",))  # the core's side of the registers
        memory = beside
        if self.params.lines:
            splitter = LineSplitter(SPLITTER)
            m.submodules.halves = DomainRenamer("hbm")(splitter)
            connect_bus(m, splitter.halves, beside)
            memory = splitter.lines
        halves = self.params.channels(DATA_BITS)
        for channel, (layout, depth, to_hbm) in self.params.channels(self.params.data_bits).items():
            path = AsyncFifo.sized(shape=layout, depth=depth)
            m.submodules[channel] = DomainRenamer(clocks(to_hbm))(path)
            pass_beats(m, channel, path, (self.axi, memory), to_hbm)
            register = StreamRegister.sized(shape=halves[channel][0])
            m.submodules[f"{channel}_register"] = DomainRenamer("hbm")(register)
            base = self.base[self.params.address_bits :]
            pass_beats(m, channel, register, (beside, self.hbm), to_hbm, base)
        m.d.comb += [
            getattr(self.hbm, f"{prefix}{field}").eq(value)
            for prefix in ("ar", "aw")
            for field, value in (("size", BYTES_SIZE), ("burst", Burst.INCR))
        ]


def pass_beats(
    m: Module, channel: str, part: Any, buses: tuple[Any, Any], to_hbm: bool, base: Any = ()
) -> None:
    """Pass a channel of the first of ``buses`` to the second, or back, through a stream's part.

    ``base`` are the bits of an address above those that it passes.
    """
    source, sink = buses if to_hbm else buses[::-1]
    provided, taken = part.i.payload, part.o.payload
    for field in provided.shape().members:
        of, to, value = (
            getattr(source, channel + field),
            getattr(sink, channel + field),
            taken[field],
        )
        value = Cat(value, base) if field == "addr" else value
        m.d.comb += [
            provided[field].eq(low_bits(of, len(provided[field]))),
            to.eq(Response(value) if field == "resp" else value),
        ]
    m.d.comb += [
        part.i.valid.eq(getattr(source, f"{channel}valid")),
        getattr(source, f"{channel}ready").eq(part.i.ready),
        getattr(sink, f"{channel}valid").eq(part.o.valid),
        part.o.ready.eq(getattr(sink, f"{channel}ready")),
    ]


def clocks(to_hbm: bool) -> dict[str, str]:
    """Return the clock domains of a channel's queue."""
    core, hbm = ("write", "read") if to_hbm else ("read", "write")
    return {core: "sync", hbm: "hbm"}
