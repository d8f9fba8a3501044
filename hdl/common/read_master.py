"""Reads memory by a plan, as an AXI4 master, and delivers the data as one stream."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hdl.common.axi_read_port import AxiReadPort
from hdl.common.burst_generator import BurstGenerator
from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.read_plan import ReadMasterParams


class ReadMaster(Component):
    """Reads memory as ``plan`` says (see ``read_plan``); the beats leave ``o`` in order.

    A plan is taken when ``busy`` has been low for a cycle; ``busy`` then stays high until its last
    beat has left ``o``. Bursts are INCR, full width, and stay inside aligned windows of
    ``burst_beats`` beats. A burst is issued only when the buffer has room for all its beats, so R
    is never stalled. ``failed`` is high for one cycle, one cycle after R, for each beat that did
    not answer OKAY; such beats are delivered like others. While the bus is broken (``bus``, see
    :class:`AxiReadPort`) plans are abandoned as by ``halt``, and none is taken; but a beat that
    waits at ``o`` is withdrawn a cycle later, as it came before the fault.

    ``halt``, for one cycle or longer, abandons a plan. From then on no burst begins, though an
    ``arvalid`` that is high stays high until it is taken; a beat that waits at ``o`` is withdrawn,
    and all beats that are buffered or still to come are dropped. ``busy`` goes low when ``halt`` is
    low and nothing is left.

    Throughput: one beat a cycle while fewer than ``prefetch_beats - burst_beats`` of them cover the
    memory's latency; one burst a cycle, so runs of one beat are no slower while 256 bursts cover
    it. Latency: ``plan_latency`` cycles from the plan to the first ``arvalid``, ``beat_latency``
    from R to ``o``. Stalls: when ``o`` is stalled, the buffer fills, and then no burst is issued.
    """

    plan_latency = BurstGenerator.latency + AxiReadPort.latency

    def __init__(self, params: ReadMasterParams) -> None:
        self.buffer = FifoParams(shape=params.data_bits, depth=params.prefetch_beats, style="block")
        self.beat_latency = self.buffer.latency
        super().__init__(
            params,
            plan=In(stream.Signature(params.plan)),
            o=Out(stream.Signature(params.data_bits)),
            axi=Out(params.port.read_bus),
            halt=In(1),
            watch=In(WATCH),
            bus=Out(BUS),
            busy=Out(1),
            failed=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.generator = generator = BurstGenerator(self.params)
        m.submodules.port = port = AxiReadPort(self.params.port)
        m.submodules.fifo = fifo = Fifo(self.buffer)
        connect(m, port.axi, flipped(self.axi))
        draining = Signal()
        stop = Signal()
        idle = Signal()
        returned = Signal()  # a beat has left the buffer
        accepts = Signal(init=1)  # a plan may come; a register, as ready comes late
        taken = Signal()
        # A cycle late, with a level of logic less: what waits then came before the bus broke.
        was_broken = Signal()
        assert self.buffer.latency > 1
        m.d.comb += [
            port.watch.eq(self.watch),
            self.bus.eq(port.bus),
            stop.eq(self.halt | draining | port.bus.broken),
            self.busy.eq(generator.active | ~idle | draining),
            generator.plan.payload.eq(self.plan.payload),
            taken.eq(self.plan.valid & self.plan.ready),
            generator.plan.valid.eq(taken),
            self.plan.ready.eq(accepts & ~stop),
            generator.clear.eq(stop),
        ]
        m.d.sync += accepts.eq(~self.busy & ~taken)
        with m.If(self.halt):
            m.d.sync += draining.eq(1)
        with m.Elif(idle):
            m.d.sync += draining.eq(0)
        self.issue(m, generator, port, stop, idle, returned)

        m.d.comb += [
            fifo.i.valid.eq(port.beats.valid),
            fifo.i.payload.eq(port.beats.data),
            self.o.valid.eq(fifo.o.valid & ~(self.halt | draining | was_broken)),
            self.o.payload.eq(fifo.o.payload),
            fifo.o.ready.eq(self.o.ready | stop),
        ]
        m.d.sync += [
            was_broken.eq(port.bus.broken),
            returned.eq(fifo.o.valid & fifo.o.ready),
            self.failed.eq(port.beats.valid & port.beats.failed & ~port.bus.broken),
        ]

    def issue(
        self,
        m: Module,
        generator: BurstGenerator,
        port: AxiReadPort,
        stop: Signal,
        idle: Signal,
        returned: Signal,
    ) -> None:
        """Send bursts to the port, while there is room for their beats."""
        bursts, params = generator.bursts, self.params
        # Only the top bit is set when the whole buffer is free.
        room = Signal(ceil_log2(params.prefetch_beats) + 1, init=params.prefetch_beats)
        enough = Signal()
        go = Signal()
        m.d.comb += [
            idle.eq(room[-1]),
            enough.eq(room[params.window_bits :].any()),
            bursts.ready.eq(port.bursts.ready & enough),
            port.bursts.valid.eq(bursts.valid & enough & ~stop),
            go.eq(port.bursts.valid & port.bursts.ready),
            port.bursts.payload.address.eq(bursts.payload.beat << ceil_log2(params.beat_bytes)),
            port.bursts.payload.length.eq(bursts.payload.length),
        ]
        # -(~length) is length + 1, the number of beats, and saves an adder.
        taken = Mux(go, ~Cat(bursts.payload.length, Const(0, 1)).as_signed(), 0)
        m.d.sync += room.eq((room + returned + taken)[: len(room)])
