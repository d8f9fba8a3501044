"""Copies bytes between a buffer in memory and a subordinate of the same address space."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.axi import Axi4Signature
from hdl.common.axi_write_port import AxiWritePort
from hdl.common.burst_generator import BurstGenerator
from hdl.common.component import Component
from hdl.common.params import Params, whole
from hdl.common.read_master import ReadMaster
from hdl.common.read_plan import COUNT_BITS, ReadMasterParams
from hdl.common.streams import StreamRegister

BURST_BEATS = 16
PREFETCH_BEATS = 64

#: Describes a transfer: where it begins, in bytes of the common address space, and its length.
TRANSFER = data.StructLayout({"offset": 32, "beats": COUNT_BITS})


class MemoryMoverParams(Params, suffix="{address_bits}x{data_bits}"):
    """Sets the widths of both buses."""

    address_bits: int = whole(12, 32)  #: width of a byte address, of the subordinate's
    data_bits: int = whole(64, 512, power_of_two=True, default=256)  #: width of a beat

    @property
    def reader(self) -> ReadMasterParams:
        """Return the sizes of the bursts, and of what is read ahead."""
        return ReadMasterParams(
            address_bits=self.address_bits,
            data_bits=self.data_bits,
            burst_beats=BURST_BEATS,
            prefetch_beats=PREFETCH_BEATS,
        )

    @property
    def axi(self) -> Axi4Signature:
        """Describe each bus."""
        return Axi4Signature(address_bits=self.address_bits, data_bits=self.data_bits)


class MemoryMover(Component):
    """Copies beats of ``memory`` to the same addresses of ``inner``, or back.

    ``load``, for a cycle while ``busy`` is low, begins a copy of ``transfer`` from memory;
    ``store`` begins one to memory. Of both, ``load`` acts; while ``busy`` is high neither does. The
    lowest bits of ``transfer.offset``, inside a beat, are ignored. ``done`` is high from the end of
    a copy to the next that begins. Bursts are INCR, of full width, and stay inside aligned windows
    of :data:`BURST_BEATS` beats.

    Errors: ``failed_beats`` and ``failed_bursts`` count the beats read and the bursts written that
    were not answered OKAY, since the start; these beats are written as they came. A bus that makes
    no progress for two of ``tick``, or that answers out of turn, ends the copy: what has not
    been read is written without strobes, and ``broken`` is high from then until the next start that
    finds the buses with nothing to answer. Until then a start fails: ``busy`` is high for a cycle,
    and nothing moves. So a copy always ends while ``tick`` comes. A start whose ``transfer`` passes
    the end of the address space fails in the same way: ``broken`` is high until the next start that
    does not.

    Throughput: a beat a cycle, while PREFETCH_BEATS - BURST_BEATS beats cover the latency of what
    is read. Latency: ``latency`` cycles from the start to the first ARVALID and AWVALID.
    """

    latency = ReadMaster.plan_latency + 1  # the check of the transfer has a cycle of its own

    def __init__(self, params: MemoryMoverParams) -> None:
        super().__init__(
            params,
            load=In(1),
            store=In(1),
            transfer=In(TRANSFER),
            tick=In(1),
            busy=Out(1),
            done=Out(1),
            broken=Out(1),
            failed_beats=Out(COUNT_BITS),
            failed_bursts=Out(COUNT_BITS),
            memory=Out(params.axi),
            inner=Out(params.axi),
        )

    def build(self, m: Module) -> None:
        params = self.params.reader
        m.submodules.reader = reader = ReadMaster(params)
        m.submodules.bursts = bursts = BurstGenerator(params)
        m.submodules.writer = writer = AxiWritePort(params.port)
        storing = Signal(reset_less=True)
        transfer = Signal(TRANSFER, reset_less=True)
        past_end = Signal(reset_less=True)
        broken = reader.bus.broken | writer.bus.broken  # as long as it is busy
        starts, checks = Signal(), Signal()
        fails, begins, ends = Signal(), Signal(), Signal()
        m.d.comb += [
            starts.eq((self.load | self.store) & ~self.busy),
            fails.eq(checks & (broken | past_end)),
            begins.eq(checks & ~fails),
            *self.plan(reader.plan, begins, transfer),
            *self.plan(bursts.plan, begins, transfer),
            reader.watch.tick.eq(self.tick),
            reader.watch.revive.eq(~self.busy),
            writer.watch.eq(reader.watch),
        ]
        m.d.sync += [
            checks.eq(starts),
            self.broken.eq((self.broken & ~begins) | (self.busy & broken) | fails),
            self.busy.eq(starts | (self.busy & ~ends & ~fails)),
            self.done.eq((self.done | ends) & ~begins),
            transfer.eq(self.transfer),
            past_end.eq(self.passes_the_end()),
        ]
        with m.If(starts):
            m.d.sync += storing.eq(~self.load)
        writes = self.write(m, reader, bursts, writer, begins, transfer)
        m.d.comb += ends.eq(self.busy & ~checks & ~(reader.busy | writes))
        self.count(m, begins, reader.failed, writer.answers)
        self.choose(m, storing, reader.axi, writer.axi)

    def passes_the_end(self) -> Value:
        """Return whether the transfer has a beat behind the end of the address space."""
        beat_bits = exact_log2(self.params.data_bits // 8)
        bits = self.params.address_bits - beat_bits
        end = self.transfer.offset[beat_bits:] + self.transfer.beats
        return end[bits + 1 :].any() | (end[bits] & end[:bits].any())

    def plan(self, plan: data.View, valid: Value, transfer: data.View) -> list:
        """Return what offers the beats of the transfer as a single run, which is taken at once."""
        return [
            plan.valid.eq(valid),
            plan.payload.address.eq(transfer.offset[: self.params.address_bits]),
            plan.payload.beats.eq(transfer.beats),
            plan.payload.runs.eq(1),
            plan.payload.epochs.eq(1),
        ]

    def write(
        self,
        m: Module,
        reader: ReadMaster,
        bursts: BurstGenerator,
        writer: AxiWritePort,
        begins: Signal,
        transfer: data.View,
    ) -> Value:
        """Write what is read, or nothing in its place if it is lost; return whether it goes on."""
        lost = reader.bus.broken
        params = self.params.reader
        beat_bits = exact_log2(params.beat_bytes)
        left = Signal(COUNT_BITS, reset_less=True)
        more = Signal(reset_less=True)  # some are left
        at = Signal(params.window_bits, reset_less=True)  # the beat's place in its window
        due = Signal(range(params.port.outstanding + 1))
        beats = writer.beats
        burst, first = bursts.bursts.payload, transfer.offset[beat_bits:][: len(at)]
        m.d.comb += [
            writer.bursts.valid.eq(bursts.bursts.valid),
            bursts.bursts.ready.eq(writer.bursts.ready),
            writer.bursts.payload.address.eq(burst.beat << beat_bits),
            writer.bursts.payload.length.eq(burst.length),
        ]
        # Its registers cut the paths from bus to bus.
        m.submodules.cut = cut = StreamRegister.sized(shape=params.data_bits + 2)
        some, skipped = Signal(), Signal()
        m.d.comb += [
            some.eq(more & (reader.o.valid | lost)),
            cut.i.valid.eq(some),
            cut.i.payload.eq(Cat(reader.o.payload, at.all() | (left == 1), lost)),
            reader.o.ready.eq(cut.i.ready),
            beats.valid.eq(cut.o.valid),
            Cat(beats.payload.data, beats.payload.last, skipped).eq(cut.o.payload),
            beats.payload.strobes.eq((~skipped).replicate(params.beat_bytes)),
            cut.o.ready.eq(beats.ready),
        ]
        with m.If(begins | (some & cut.i.ready)):
            m.d.sync += [
                left.eq(Mux(begins, transfer.beats, (left - 1)[: len(left)])),
                more.eq(Mux(begins, transfer.beats.any(), left != 1)),
                at.eq(Mux(begins, first, (at + 1)[: len(at)])),
            ]
        go = writer.bursts.valid & writer.bursts.ready
        m.d.sync += due.eq((due + go - writer.answers.valid)[: len(due)])
        return more | cut.o.valid | due.any()

    def count(self, m: Module, clears: Value, failed_beat: Value, answers: data.View) -> None:
        """Count errors."""
        for count, event in (
            (self.failed_beats, failed_beat),
            (self.failed_bursts, answers.valid & answers.failed),
        ):
            m.d.sync += count.eq(Mux(clears, 0, count + event)[: len(count)])

    def choose(self, m: Module, storing: Value, reader: Value, writer: Value) -> None:
        """Connect the reader to the bus that is read, the writer to the other one."""
        for own, reads in ((self.memory, ~storing), (self.inner, storing)):
            for port, chosen in ((reader, reads), (writer, ~reads)):
                for name, member in port.signature.members.items():
                    if member.flow == Out:
                        value = getattr(port, name)
                        gate = name in ("arvalid", "awvalid", "wvalid")
                        m.d.comb += getattr(own, name).eq(value & chosen if gate else value)
        for port, first, second in (
            (reader, self.memory, self.inner),
            (writer, self.inner, self.memory),
        ):
            for name, member in port.signature.members.items():
                if member.flow == In and name not in ("rid", "bid"):
                    values = (getattr(bus, name) for bus in (second, first))
                    m.d.comb += getattr(port, name).eq(Mux(storing, *values))
