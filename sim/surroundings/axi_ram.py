"""Simulates a RAM behind an AXI4 port, such as host memory or DRAM, inside the simulated design."""

from pathlib import Path

from amaranth.hdl import ClockSignal, Const, Instance, Module, Mux, Signal, Value
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out

from hdl.common.axi import ID_BITS, Axi4Signature, AxiReadSignature, Response
from hdl.common.burst_beats import BurstBeats, BurstBeatsParams
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.params import Params, tagged, whole
from sim.surroundings.chance import random_bits

RAM_ARRAY = Path(__file__).with_name("axi_ram_array.sv")  #: C++ that every such simulation needs
TIME_BITS = 32
CHANCE_BITS = 8
LATENCY_BITS = 10
REFRESH_BITS = 16
GOLDEN = 159  #: 256 times the golden ratio: multiples spread evenly over 0..255


class Fault(enum.Enum, shape=3):
    """Names what a memory does where it fails."""

    ERROR = 0  #: answers with an error
    LAST = 1  #: RLAST is wrong: missing from a burst's last beat, or with an earlier one
    EXTRA = 2  #: an extra beat with RLAST is sent
    MUTE = 3  #: the beat and all later ones are not answered
    DEAF = 4  #: no address is taken


def ram_file(index: int, path: Path) -> str:
    """Return the argument that fills RAM ``index`` with the bytes of ``path`` and sets its size."""
    return f"+ram_{index}={path}"


def dump_file(index: int, path: Path) -> str:
    """Return the argument that names where RAM ``index`` is dumped: its size in whole beats."""
    return f"+dump_{index}={path}"


class AxiRamParams(Params, suffix="{bus.suffix}"):
    """Sets the widths of the port, and what holds the words."""

    address_bits: int = 28  #: width of a byte address; at most 2**31 beats
    data_bits: int = whole(32, 1024, power_of_two=True, default=512)  #: width of a beat
    id_bits: int = whole(1, 32, default=ID_BITS)  #: width of identifiers
    array: str = tagged("_{}", default="axi_ram_array")  #: module that holds the words
    #: a host's processor uses the memory too, beside the bus
    processor: bool = tagged("_processor", default=False)
    read_only: bool = tagged("_read_only", default=False)  #: the port has no channels to write
    #: bursts of each direction that are taken and not yet begun; bursts written that have no B yet
    bursts: int = whole(1, 1024, default=256, tag="_b{}")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bus.index_bits > 31:
            raise ValueError(
                f"address_bits must be at most {31 + self.bus.offset_bits}: {self.address_bits}"
            )

    @property
    def usual(self) -> bool:
        """Return whether the words are in the usual module."""
        return self.array == "axi_ram_array"

    @property
    def axi(self) -> Axi4Signature | AxiReadSignature:
        """Return the port, as the master sees it."""
        signature = AxiReadSignature if self.read_only else Axi4Signature
        return signature(
            address_bits=self.address_bits, data_bits=self.data_bits, id_bits=self.id_bits
        )

    @property
    def bus(self) -> BurstBeatsParams:
        """Return the sizes of the bus, as :class:`BurstBeats` counts its beats."""
        return BurstBeatsParams(
            address_bits=self.address_bits, data_bits=self.data_bits, id_bits=self.id_bits
        )

    @property
    def access(self) -> data.StructLayout:
        """Describe a processor's access; what the beat held before is there a cycle later."""
        return data.StructLayout(
            {
                "valid": 1,
                "beat": self.bus.index_bits,
                "strobes": self.data_bits // 8,  # of the bytes that are written
                "data": self.data_bits,
            }
        )

    @property
    def settings(self) -> data.StructLayout:
        """Describe what a simulation can change without being built again."""
        return data.StructLayout(
            {
                "read_latency": LATENCY_BITS,  # cycles from AR to the first beat; 0..3 are all 3
                "write_latency": LATENCY_BITS,  # cycles from the last W to B; 0..2 are all 2
                "ar_stall": CHANCE_BITS,  # chance in 256, every cycle, that AR is not taken
                "r_stall": CHANCE_BITS,  # chance in 256, every cycle, that no beat is fetched
                "aw_stall": CHANCE_BITS,  # as AR
                "w_stall": CHANCE_BITS,  # chance in 256, every cycle, that W is not taken
                "b_stall": CHANCE_BITS,  # chance in 256, every cycle, that no answer becomes B
                "seed": 32,  # of these chances; read after reset, mixed with index
                "refresh_interval": REFRESH_BITS,  # cycles between refreshes; 0: there are none
                "refresh_pause": REFRESH_BITS,  # cycles of a refresh: no beat is fetched or stored
                "refresh_hidden": REFRESH_BITS,  # beats that are nevertheless, in each refresh
                "refresh_shared": 1,  # memories 2 k and 2 k + 1 are refreshed at the same time
                "fail_read": 1,  # do what fault says for
                "fail_read_beat": self.bus.index_bits,  # reads of this beat of memory
                "fail_write": 1,  # do what fault says for
                "fail_write_beat": self.bus.index_bits,  # bursts that write this beat of memory
                "fail_response": Response,  # the error's
                "fault": Fault,  # of writes only ERROR, and MUTE and DEAF for all of them
            }
        )


class AxiRam(Component):
    """Reads and writes what the file that ``ram_file(index, ...)`` names held at first.

    ``index`` must be constant. Reads and writes are each answered in order, with their identifiers.
    A read sees every write that was answered before it was asked. Beats beyond the file's end read
    as zero and are not written; ``missing`` and ``lost`` count them. Full-width INCR bursts of any
    length are legal: others are not written and answer SLVERR, as do bursts whose WLAST is wrong. A
    beat that fails by ``settings`` is read and written all the same. Memories with different
    ``index`` are refreshed at different times. When ``dump`` rises, the contents go to the file
    that ``dump_file(index, ...)`` names; it is complete a cycle later. With
    ``params.processor`` an ``access`` a cycle is possible beside the bus, and ``accessed`` is what
    the beat held. With ``params.read_only`` there is nothing of writes, nor ``dump``.

    Latency: ``settings.read_latency`` cycles from AR to the burst's first beat, at least
    ``least_read_latency``; ``settings.write_latency`` from a burst's last W to its B, at least
    ``least_write_latency``; more while earlier beats or stalls hold it up. W is taken from
    two cycles after its AW on. Throughput: without stalls one beat a cycle in each direction at
    once, while at most ``params.bursts`` cover the latency. Full: AR, AW or W waits.
    """

    least_read_latency = 3
    least_write_latency = 2

    def __init__(self, params: AxiRamParams) -> None:
        super().__init__(
            params,
            axi=In(params.axi),
            index=In(8),
            settings=In(params.settings),
            missing=Out(32),
            **({} if params.read_only else {"dump": In(1), "lost": Out(32)}),
            **(
                {"access": In(params.access), "accessed": Out(params.data_bits)}
                if params.processor
                else {}
            ),
        )

    def build(self, m: Module) -> None:
        now = Signal(TIME_BITS)
        m.d.sync += now.eq(now + 1)
        m.submodules.reads = reads = BurstBeats(self.params.bus)
        ar, r, *chances = self.chances(m)
        settings = self.settings
        hears = self.hears(settings.fail_read)
        self.take_bursts(m, "ar", reads, now, (ar >= settings.ar_stall) & hears)
        moves = Signal()
        available = self.refresh(m, moves)
        fetch = self.answer_reads(m, reads, (r >= settings.r_stall) & available)
        writes = (
            self.no_writes if self.params.read_only else self.add_writes(m, now, chances, available)
        )
        m.d.comb += moves.eq(fetch | writes["i_write"])
        self.add_array(m, reads, fetch, writes)

    def refresh(self, m: Module, moves: Value) -> Value:
        """Return whether a beat can be fetched or stored; ``moves`` says whether one is."""
        settings = self.settings
        begun = Signal()
        left = Signal(REFRESH_BITS)  # cycles until the end of the next refresh, which come last
        hidden = Signal(REFRESH_BITS)  # beats that are delivered in it
        refreshing = (settings.refresh_interval != 0) & (left < settings.refresh_pause)
        place = (self.index >> settings.refresh_shared) * GOLDEN
        with m.If(~begun):
            m.d.sync += [
                begun.eq(1),
                left.eq((settings.refresh_interval * place[:8]) >> 8),
            ]
        with m.Elif(left == 0):
            m.d.sync += left.eq(settings.refresh_interval - 1)
        with m.Else():
            m.d.sync += left.eq(left - 1)
        with m.If(~refreshing):
            m.d.sync += hidden.eq(settings.refresh_hidden)
        with m.Elif(moves):
            m.d.sync += hidden.eq(hidden - 1)
        return ~refreshing | (hidden != 0)

    def hears(self, fails: Value) -> Value:
        """Return whether addresses are taken in a direction that ``fails``, or does not."""
        return ~((self.settings.fault == Fault.DEAF) & fails)

    def add_writes(
        self, m: Module, now: Signal, chances: list[Value], available: Value
    ) -> dict[str, Value]:
        """Add what takes writes while ``available``, and answers them; return the words' ports."""
        m.submodules.writes = writes = BurstBeats(self.params.bus)
        m.submodules.answers = answers = Fifo.sized(
            shape=self.answer_layout, depth=self.params.bursts, style="distributed"
        )
        aw, w, b = chances
        settings = self.settings
        mute = settings.fail_write & (settings.fault == Fault.MUTE)
        hears = self.hears(settings.fail_write)
        self.take_bursts(m, "aw", writes, now, (aw >= settings.aw_stall) & hears)
        store = self.take_writes(m, writes, answers, now, (w >= settings.w_stall) & available)
        self.answer_writes(m, answers, now, (b >= settings.b_stall) & ~mute)
        lost = Signal()
        with m.If(lost):
            m.d.sync += self.lost.eq(self.lost + 1)
        return {
            "i_write": store,
            "i_write_address": writes.beats.payload.index,
            "i_write_data": self.axi.wdata,
            "i_write_enable": self.axi.wstrb,
            "o_lost": lost,
            "i_dump": self.dump,
        }

    @property
    def no_writes(self) -> dict[str, Value]:
        """Return the ports of the words for writes where there are none."""
        bits = self.params.data_bits
        return {
            "i_write": Const(0),
            "i_write_address": Const(0, self.params.bus.index_bits),
            "i_write_data": Const(0, bits),
            "i_write_enable": Const(0, bits // 8),
            "o_lost": Signal(name="lost"),
            "i_dump": Const(0),
        }

    def chances(self, m: Module) -> list[Value]:
        """Return random bytes every cycle, others in each memory."""
        start = (self.settings.seed ^ (self.index * Const(0x9E3779B9, 32))) | (1 << 40)
        state = random_bits(m, start, bits=64)
        return [state[k : k + CHANCE_BITS] for k in range(0, 5 * CHANCE_BITS, CHANCE_BITS)]

    def take_bursts(
        self, m: Module, prefix: str, walker: BurstBeats, now: Signal, go: Value
    ) -> None:
        """Take AR or AW into a queue, and from there to the walker; AR when its time has come."""
        layout = data.StructLayout({"burst": self.params.bus.burst, "since": TIME_BITS})
        m.submodules[f"{prefix}_queue"] = queue = Fifo.sized(
            shape=layout, depth=self.params.bursts, style="distributed"
        )
        port = {
            name: getattr(self.axi, prefix + name)
            for name in ("id", "addr", "len", "size", "burst")
        }
        valid, ready = getattr(self.axi, f"{prefix}valid"), getattr(self.axi, f"{prefix}ready")
        taken = Signal(layout, name=f"{prefix}_taken")
        waiting = Signal(layout, name=f"{prefix}_waiting")
        ripe = Signal(name=f"{prefix}_ripe")
        age = (now - waiting.since)[:TIME_BITS]
        early = self.least_read_latency - 1
        m.d.comb += [
            taken.since.eq(now),
            *(taken.burst[name].eq(signal) for name, signal in port.items()),
            queue.i.payload.eq(taken),
            queue.i.valid.eq(valid & ready),
            ready.eq(queue.i.ready & go),
            waiting.eq(queue.o.payload),
            ripe.eq(age + early >= self.settings.read_latency if prefix == "ar" else 1),
            walker.bursts.payload.eq(waiting.burst),
            walker.bursts.valid.eq(queue.o.valid & ripe),
            queue.o.ready.eq(walker.bursts.ready & ripe),
        ]

    def answer_reads(self, m: Module, walker: BurstBeats, go: Value) -> Signal:
        """Fetch a beat, in the cycle that is returned, and hold it on R until it is taken."""
        axi, beat, settings = self.axi, walker.beats.payload, self.settings
        fetch = Signal()
        chosen = settings.fail_read & (beat.index == settings.fail_read_beat)
        failing = {kind: chosen & (settings.fault == kind) for kind in Fault}
        free = ~axi.rvalid | axi.rready
        more = Signal()  # a beat that nobody wants is next
        m.d.comb += [
            walker.beats.ready.eq(free & go & ~failing[Fault.MUTE] & ~more),
            fetch.eq(walker.beats.valid & walker.beats.ready),
        ]
        with m.If(axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        with m.If(fetch):
            m.d.sync += [
                axi.rvalid.eq(1),
                axi.rid.eq(beat.id),
                axi.rlast.eq(beat.last ^ failing[Fault.LAST]),
                axi.rresp.eq(Mux(failing[Fault.ERROR], settings.fail_response, Response.OKAY)),
                more.eq(failing[Fault.EXTRA]),
            ]
            with m.If(~beat.plain):
                m.d.sync += axi.rresp.eq(Response.SLVERR)
        with m.If(more & free):
            m.d.sync += [axi.rvalid.eq(1), axi.rlast.eq(1), more.eq(0)]
        return fetch

    def take_writes(
        self, m: Module, walker: BurstBeats, answers: Fifo, now: Signal, go: Value
    ) -> Signal:
        """Join W with its burst and return the cycle of storing; the last beat owes a B."""
        axi, beat, settings = self.axi, walker.beats.payload, self.settings
        moved = Signal()
        store = Signal()
        worst = Signal(Response)  # of the burst's beats so far
        answer = Signal(self.answer_layout)
        failing = (
            settings.fail_write
            & (beat.index == settings.fail_write_beat)
            & (settings.fault == Fault.ERROR)
        )
        m.d.comb += [
            axi.wready.eq(walker.beats.valid & answers.i.ready & go),
            moved.eq(axi.wvalid & axi.wready),
            walker.beats.ready.eq(moved),
            store.eq(moved & beat.plain),
            answer.since.eq(now),
            answer.response.eq(Mux(failing, settings.fail_response, worst)),
            answers.i.payload.eq(answer),
            answers.i.valid.eq(moved & beat.last),
        ]
        if self.params.id_bits:
            m.d.comb += answer.id.eq(beat.id)
        with m.If(~beat.plain | (axi.wlast != beat.last)):
            m.d.comb += answer.response.eq(Response.SLVERR)
        with m.If(moved):
            m.d.sync += worst.eq(Mux(beat.last, Response.OKAY, answer.response))
        return store

    @property
    def answer_layout(self) -> data.StructLayout:
        """Describe what waits to become B."""
        return data.StructLayout(
            self.params.bus.identifier | {"response": Response, "since": TIME_BITS}
        )

    def answer_writes(self, m: Module, answers: Fifo, now: Signal, go: Value) -> None:
        """Hold an answer on B, when its time has come, until it is taken."""
        axi = self.axi
        waiting = Signal(self.answer_layout)
        ripe = Signal()
        age = (now - waiting.since)[:TIME_BITS]
        m.d.comb += [
            waiting.eq(answers.o.payload),
            ripe.eq(age + 1 >= self.settings.write_latency),
            answers.o.ready.eq((~axi.bvalid | axi.bready) & ripe & go),
        ]
        with m.If(axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(answers.o.valid & answers.o.ready):
            m.d.sync += [
                axi.bvalid.eq(1),
                axi.bid.eq(waiting.id),
                axi.bresp.eq(waiting.response),
            ]

    def add_array(
        self, m: Module, reads: BurstBeats, fetch: Signal, writes: dict[str, Value]
    ) -> None:
        """Add the words, and the count of beats that are not among them."""
        axi = self.axi
        missing = Signal()
        m.submodules.array = Instance(
            self.params.array,
            p_WIDTH=self.params.data_bits,
            p_ADDRESS_BITS=self.params.bus.index_bits,
            i_clk=ClockSignal(),
            i_index=self.index,
            i_read=fetch,
            i_read_address=reads.beats.payload.index,
            o_read_data=axi.rdata,
            o_missing=missing,
            **writes,
            **self.processor_ports(),
        )
        with m.If(axi.rvalid & axi.rready & missing):
            m.d.sync += self.missing.eq(self.missing + 1)

    def processor_ports(self) -> dict:
        """Return the ports by which a processor reaches the words beside the bus."""
        if not self.params.usual:
            return {}
        access, accessed = Signal(self.params.access), Signal(self.params.data_bits)
        if self.params.processor:
            access, accessed = self.access, self.accessed
        return {
            "i_processor": access.valid,
            "i_processor_address": access.beat,
            "i_processor_write_data": access.data,
            "i_processor_write_enable": access.strobes,
            "o_processor_read_data": accessed,
        }
