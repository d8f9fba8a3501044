"""Reads a worker's labels, a micro-batch at a time (P4SGD, section 4.1.1)."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.read_master import ReadMaster
from hdl.p4sgd.engine.params import PORT_BITS
from hdl.p4sgd.memory.hbm_reader import port_reader
from hdl.p4sgd.worker_params import WorkerParams


class LabelReader(Component):
    """Reads ``plan`` and delivers the labels of one micro-batch after the other.

    A beat holds 8 labels, sample by sample, so with K banks it serves 8 / K micro-batches, or two
    beats serve one of 16. With several classes the labels of each micro-batch come class after
    class, and each counts as a micro-batch here. ``micro_batches`` is their number in an epoch, at
    least 1, and must be stable from the plan to the end of ``busy``; the plan must read
    ``ceil(micro_batches * K / 8)`` beats per epoch. Surplus labels of an epoch's last beat are
    dropped: each epoch starts with a new beat.

    ``halt``, ``bus``, ``busy`` and ``failed`` are those of ``ReadMaster``. Throughput: one
    micro-batch a cycle, one in two cycles with 16 banks. Latency: that of ``ReadMaster``. Stalls:
    the buffer fills, and then no burst is issued. ``half`` is high while the first of two beats
    waits for the second, of which a plan without it leaves one until the reader is halted.
    """

    plan_latency = ReadMaster.plan_latency

    def __init__(self, params: WorkerParams) -> None:
        self.reader = port_reader(params)
        super().__init__(
            params,
            plan=In(stream.Signature(self.reader.plan)),
            micro_batches=In(32),
            labels=Out(stream.Signature(params.engine.activations)),
            m_axi=Out(self.reader.port.read_bus),
            halt=In(1),
            watch=In(WATCH),
            bus=Out(BUS),
            busy=Out(1),
            half=Out(1),
            failed=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.reader = reader = ReadMaster(self.reader)
        size = self.params.engine.activations.size
        shares = PORT_BITS // size  # number of micro-batches whose labels are in one beat
        connect(m, reader.axi, flipped(self.m_axi))
        m.d.comb += [
            reader.plan.payload.eq(self.plan.payload),
            reader.plan.valid.eq(self.plan.valid & ~self.half),
            self.plan.ready.eq(reader.plan.ready & ~self.half),
            reader.halt.eq(self.halt),
            reader.watch.eq(self.watch),
            self.bus.eq(reader.bus),
            self.busy.eq(reader.busy),
            self.failed.eq(reader.failed),
        ]
        if shares == 0:
            self.join_beats(m, reader.o, self.half)
        elif shares == 1:
            connect(m, reader.o, flipped(self.labels))
        else:
            self.split_beats(m, reader.o, shares)

    def split_beats(self, m: Module, beats, shares: int) -> None:
        """Take a beat for ``shares`` micro-batches, or fewer at the end of an epoch."""
        size = self.params.engine.activations.size
        beat = Array(beats.payload[k * size : (k + 1) * size] for k in range(shares))
        share = Signal(range(shares))
        final = self.count_epochs(m)
        done = (share == shares - 1) | final
        m.d.comb += [
            self.labels.valid.eq(beats.valid),
            self.labels.payload.eq(beat[share]),
            beats.ready.eq(self.labels.ready & done),
        ]
        with m.If(self.labels.valid & self.labels.ready):
            m.d.sync += share.eq(Mux(final, 0, share + 1))
        with m.If(~self.busy):
            m.d.sync += share.eq(0)

    def join_beats(self, m: Module, beats, half: Signal) -> None:
        """Take two beats for a micro-batch; ``half`` is high between them."""
        first = Signal(PORT_BITS, reset_less=True)
        m.d.comb += [
            self.labels.valid.eq(beats.valid & half),
            self.labels.payload.eq(Cat(first, beats.payload)),
            beats.ready.eq(~half | self.labels.ready),
        ]
        with m.If(~half):
            m.d.sync += first.eq(beats.payload)
        with m.If(self.halt):
            m.d.sync += half.eq(0)
        with m.Elif(beats.valid & beats.ready):
            m.d.sync += half.eq(~half)

    def count_epochs(self, m: Module) -> Signal:
        """Return a register that is high while the next micro-batch is the last of its epoch."""
        left = Signal(32, reset_less=True)
        final = Signal(reset_less=True)
        single = Signal(reset_less=True)
        m.d.sync += single.eq(self.micro_batches == 1)
        with m.If(self.labels.valid & self.labels.ready):
            with m.If(final):
                m.d.sync += [left.eq(self.micro_batches), final.eq(single)]
            with m.Else():
                m.d.sync += [left.eq(left - 1), final.eq(left == 2)]
        # The first label comes several cycles after busy rises.
        starting = Signal()
        m.d.sync += starting.eq(~self.busy)
        with m.If(starting):
            m.d.sync += [left.eq(self.micro_batches), final.eq(single)]
        return final
