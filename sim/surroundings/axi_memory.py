"""Simulates a memory behind an AXI4 read port, such as HBM, inside the simulated design."""

from pathlib import Path

from amaranth.hdl import ClockSignal, Const, Instance, Module, Mux, Signal, Value
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out

from hdl.common.axi import ID_BITS, AxiReadSignature, Response
from hdl.common.burst_beats import BurstBeats, BurstBeatsParams
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.params import Params, same_as
from sim.surroundings.chance import random_bits

MEMORY_ARRAY = Path(__file__).with_name("memory_array.sv")  #: C++ that every such simulation needs
OUTSTANDING = 64  #: bursts taken and not yet begun
TIME_BITS = 32


class Fault(enum.Enum, shape=3):
    """Names what a memory does where it fails."""

    ERROR = 0  #: answers with an error
    LAST = 1  #: RLAST is wrong: missing from a burst's last beat, or with an earlier one
    EXTRA = 2  #: an extra beat with RLAST is sent
    MUTE = 3  #: the beat and all later ones are not answered
    DEAF = 4  #: no address is taken


def memory_file(index: int, path: Path) -> str:
    """Return the argument that fills memory ``index`` with the bytes of ``path``."""
    return f"+memory_{index}={path}"


class AxiMemoryParams(Params, suffix="{data_bits}_a{address_bits}"):
    """Sets the widths of the port."""

    address_bits: int = 28  #: width of a byte address; at most 2**31 beats
    data_bits: int = same_as(BurstBeatsParams, "data_bits", default=256)  #: width of a beat

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bus.index_bits > 31:
            raise ValueError(
                f"address_bits must be at most {31 + self.bus.offset_bits}: {self.address_bits}"
            )

    @property
    def bus(self) -> BurstBeatsParams:
        """Return the sizes of the bus, as :class:`BurstBeats` counts its beats."""
        return BurstBeatsParams(
            address_bits=self.address_bits, data_bits=self.data_bits, id_bits=ID_BITS
        )

    @property
    def settings(self) -> data.StructLayout:
        """Describe what a simulation can change without being built again."""
        return data.StructLayout(
            {
                "latency": 10,  # cycles from AR to the first beat; 0..3 are all 3
                "ar_stall": 8,  # chance in 256, every cycle, that AR is not taken
                "r_stall": 8,  # chance in 256, every cycle, that no beat is fetched
                "seed": 32,  # of these chances; read after reset, mixed with index
                "fail": 1,  # do what fault says at
                "fail_beat": self.bus.index_bits,  # this beat of memory
                "fault": Fault,
            }
        )


class AxiMemory(Component):
    """Answers bursts from the file that ``memory_file(index, ...)`` names, in order.

    A beat has its burst's identifier. ``index`` must be constant. Beats beyond the file read as
    zero; ``missing`` counts them. Only full-width INCR bursts are legal: others answer SLVERR, as
    does the beat that fails, unless ``settings.fault`` has it do something else (:class:`Fault`).

    Latency: ``settings.latency`` cycles from AR to the burst's first beat, at least
    ``least_latency``; more while earlier beats or stalls hold it up. Throughput: without stalls
    one beat a cycle, at any latency that 64 bursts cover. Full: AR waits.
    """

    least_latency = 3

    def __init__(self, params: AxiMemoryParams) -> None:
        super().__init__(
            params,
            {
                "axi": In(
                    AxiReadSignature(address_bits=params.address_bits, data_bits=params.data_bits)
                ),
                "index": In(8),
                "settings": In(params.settings),
                "missing": Out(32),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.walker = walker = BurstBeats(self.params.bus)
        chances = self.chances(m)
        self.take_bursts(m, walker, chances[:8])
        self.answer_beats(m, walker, chances[16:24])
        return m

    def chances(self, m: Module) -> Signal:
        """Return a random number every cycle, another one in each memory."""
        start = self.settings.seed ^ (self.index * Const(0x9E3779B9, 32))
        return random_bits(m, start | 1)

    def take_bursts(self, m: Module, walker: BurstBeats, chance: Value) -> None:
        """Take AR into a queue, and from there to the walker when its time has come."""
        axi, settings = self.axi, self.settings
        waiting_layout = data.StructLayout({"burst": self.params.bus.burst, "since": TIME_BITS})
        m.submodules.queue = queue = Fifo(
            FifoParams(width=waiting_layout.size, depth=OUTSTANDING, style="distributed")
        )
        taken = Signal(waiting_layout)
        waiting = Signal(waiting_layout)
        now = Signal(TIME_BITS)
        ripe = Signal()
        m.d.sync += now.eq(now + 1)
        m.d.comb += [
            taken.since.eq(now),
            taken.burst.id.eq(axi.arid),
            taken.burst.addr.eq(axi.araddr),
            taken.burst.len.eq(axi.arlen),
            taken.burst.size.eq(axi.arsize),
            taken.burst.burst.eq(axi.arburst),
            queue.i.payload.eq(taken),
            queue.i.valid.eq(axi.arvalid & axi.arready),
            axi.arready.eq(
                queue.i.ready
                & (chance >= settings.ar_stall)
                & ~(settings.fail & (settings.fault == Fault.DEAF))
            ),
            waiting.eq(queue.o.payload),
            ripe.eq(
                (now - waiting.since)[:TIME_BITS] + (self.least_latency - 1) >= settings.latency
            ),
            walker.bursts.payload.eq(waiting.burst),
            walker.bursts.valid.eq(queue.o.valid & ripe),
            queue.o.ready.eq(walker.bursts.ready & ripe),
        ]

    def answer_beats(self, m: Module, walker: BurstBeats, chance: Value) -> None:
        """Fetch a beat and hold it on R until the master takes it."""
        axi, beat = self.axi, walker.beats.payload
        fetch = Signal()
        missing = Signal()
        chosen = self.settings.fail & (beat.index == self.settings.fail_beat)
        failing = {kind: chosen & (self.settings.fault == kind) for kind in Fault}
        free = ~axi.rvalid | axi.rready
        more = Signal()  # a beat that nobody wants is next
        m.submodules.array = Instance(
            "memory_array",
            p_WIDTH=self.params.data_bits,
            p_ADDRESS_BITS=self.params.bus.index_bits,
            i_clk=ClockSignal(),
            i_index=self.index,
            i_enable=fetch,
            i_address=beat.index,
            o_data=axi.rdata,
            o_missing=missing,
        )
        m.d.comb += [
            walker.beats.ready.eq(
                free & (chance >= self.settings.r_stall) & ~failing[Fault.MUTE] & ~more
            ),
            fetch.eq(walker.beats.valid & walker.beats.ready),
        ]
        with m.If(axi.rready):
            m.d.sync += axi.rvalid.eq(0)
            with m.If(axi.rvalid & missing):
                m.d.sync += self.missing.eq(self.missing + 1)
        with m.If(fetch):
            m.d.sync += [
                axi.rvalid.eq(1),
                axi.rid.eq(beat.id),
                axi.rlast.eq(beat.last ^ failing[Fault.LAST]),
                axi.rresp.eq(
                    Mux(beat.plain & ~failing[Fault.ERROR], Response.OKAY, Response.SLVERR)
                ),
                more.eq(failing[Fault.EXTRA]),
            ]
        with m.If(more & free):
            m.d.sync += [axi.rvalid.eq(1), axi.rlast.eq(1), more.eq(0)]
