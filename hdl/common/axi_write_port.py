"""Connects an AXI4 write master to its bus: every burst gets an answer, if need be a failed one."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.axi import AxiWriteSignature, Burst, Response
from hdl.common.axi_read_port import AxiPortParams
from hdl.common.bus_watch import BUS, WATCH, overdue
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams

AHEAD = 32  #: bursts of several beats that AW may be ahead of W


class AxiWritePort(Component):
    """Sends ``bursts`` and their ``beats`` to ``axi``; ``answers`` tell of each burst, in order.

    Bursts are INCR and of full width. ``beats`` are those of the bursts, in order; ``last`` goes
    with the last of each. They never leave before their burst: those of several are taken from the
    cycle behind it on. If all are of one beat (``length_bits`` = 0), the master must not offer a
    beat before its burst; both may be taken in one cycle. Nobody can hold up ``answers``;
    ``failed``: not OKAY.

    A B that no burst waits for whose AW and W have all been taken breaks the bus
    (``bus.broken``), and so does one that lets AW, W, or a whole burst's B wait for two ticks of
    ``watch`` without a movement (``bus.silent`` too). From then on no burst goes out, all beats
    are taken and thrown away, those under way and those that still come are answered here as
    failed, and what B brings is dropped. AXI forbids to withdraw: AW and W stay until they are
    taken, beats that an AW has promised follow without a strobe, and ``bus.owes`` is high until
    every burst that was sent has had its B: only then does ``watch.revive`` help, so no late B is
    ever taken for that of a later burst. Nobody can tell a B too many from the next one's, if that
    burst has been taken whole: it is noticed when the last one comes unasked.

    Throughput: a burst and a beat a cycle. Latency: ``latency`` to AWVALID and WVALID, none from B
    to ``answers``. Stalls: AW and W wait each on its own. Full: bursts wait at ``outstanding``, or
    when the W of :data:`AHEAD` of them has not been sent, of one if all are of one beat.
    """

    latency = 1

    def __init__(self, params: AxiPortParams) -> None:
        super().__init__(
            params,
            {
                "bursts": In(stream.Signature(params.burst)),
                "beats": In(
                    stream.Signature(
                        data.StructLayout(
                            {
                                "data": params.data_bits,
                                "strobes": params.data_bits // 8,
                                "last": 1,
                            }
                        )
                    )
                ),
                "answers": Out(
                    data.StructLayout({"valid": 1, "failed": 1, "tag": params.tag_bits})
                ),
                "watch": In(WATCH),
                "bus": Out(BUS),
                "axi": Out(
                    AxiWriteSignature(address_bits=params.address_bits, data_bits=params.data_bits)
                ),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        axi, answers = self.axi, self.answers
        m.submodules.owed = owed = Fifo(
            FifoParams(
                width=self.params.tag_bits,
                depth=self.params.outstanding,
                style="distributed",
            )
        )
        room = Signal()
        go = self.send(m, owed, room)
        promised = self.write(m, go, room)
        whole, debt = self.count(m)
        fits = Signal()
        answered = Signal()
        given = Signal(self.params.debt_bits)  # bursts whose last beat the master has given
        ended = Signal()
        m.d.comb += [
            axi.bready.eq(1),
            fits.eq(axi.bvalid & whole & ~self.bus.broken),
            answered.eq(fits | (self.bus.broken & given.any() & owed.o.valid)),
            owed.o.ready.eq(answered),
            answers.valid.eq(answered),
            answers.failed.eq(self.bus.broken | (axi.bresp != Response.OKAY)),
            answers.tag.eq(owed.o.payload),
            # A burst whose W alone has been taken waits for AW.
            self.bus.owes.eq(axi.awvalid | axi.wvalid | promised | debt),
        ]
        m.d.sync += [
            ended.eq(self.beats.valid & self.beats.ready & self.beats.payload.last),
            given.eq(given + ended - answered),
            self.bus.dropped.eq(axi.bvalid & ~fits),
        ]
        late = overdue(
            m,
            self.watch.tick,
            axi.awvalid | axi.wvalid | whole,
            (axi.awvalid & axi.awready) | (axi.wvalid & axi.wready) | axi.bvalid,
        )
        with m.If(~self.bus.broken):
            m.d.sync += [
                self.bus.broken.eq((axi.bvalid & ~fits) | late),
                self.bus.silent.eq(late),
            ]
        with m.Elif(self.watch.revive & ~self.bus.owes & ~owed.o.valid & ~go):
            m.d.sync += [self.bus.broken.eq(0), self.bus.silent.eq(0)]
        return m

    def send(self, m: Module, owed: Fifo, room: Signal) -> Signal:
        """Send bursts to AW, unless the bus is broken, and to where answers are waited for."""
        axi, bursts = self.axi, self.bursts
        burst = Signal(self.params.burst, reset_less=True)
        go = Signal()
        m.d.comb += [
            bursts.ready.eq(
                owed.i.ready & (self.bus.broken | (room & (~axi.awvalid | axi.awready)))
            ),
            go.eq(bursts.valid & bursts.ready),
            owed.i.valid.eq(go),
            owed.i.payload.eq(bursts.payload.tag),
            axi.awaddr.eq(burst.address),
            axi.awlen.eq(burst.length if self.params.length_bits else 0),
            axi.awsize.eq(ceil_log2(self.params.data_bits // 8)),
            axi.awburst.eq(Burst.INCR),
        ]
        with m.If(axi.awready):
            m.d.sync += axi.awvalid.eq(0)
        with m.If(go & ~self.bus.broken):
            m.d.sync += [axi.awvalid.eq(1), burst.eq(bursts.payload)]
        return go

    def write(self, m: Module, go: Signal, room: Signal) -> Value:
        """Send beats to W; on a broken bus only those promised by AW, without a strobe.

        The value returned is high while AW has promised beats that have not been sent.
        """
        axi, beats = self.axi, self.beats
        beat = Signal(beats.payload.shape(), reset_less=True)
        free = Signal()
        may = Signal()  # a beat has its burst
        final = Signal()  # and is its last
        sent = Signal()
        promise = go & ~self.bus.broken
        if self.params.length_bits:
            m.submodules.lengths = lengths = Fifo(
                FifoParams(width=self.params.length_bits, depth=AHEAD, style="distributed")
            )
            at = Signal(self.params.length_bits)
            promised = lengths.o.valid
            m.d.comb += [
                room.eq(lengths.i.ready),
                lengths.i.valid.eq(promise),
                lengths.i.payload.eq(self.bursts.payload.length),
                lengths.o.ready.eq(sent & final),
                may.eq(promised),
                final.eq(at == lengths.o.payload),
            ]
            with m.If(sent):
                m.d.sync += at.eq(Mux(final, 0, at + 1))
        else:
            promised = Signal()
            # A beat that is not promised comes with its burst, so only that one's ready matters.
            fresh = self.bursts.ready & ~self.bus.broken
            m.d.comb += [room.eq(~promised), may.eq(promised | fresh), final.eq(1)]
            m.d.sync += promised.eq((promised | promise) & ~sent)
        m.d.comb += [
            free.eq(~axi.wvalid | axi.wready),
            sent.eq(free & may & (beats.valid | self.bus.broken)),
            beats.ready.eq((free & may) | self.bus.broken),
            axi.wdata.eq(beat.data),
            axi.wstrb.eq(beat.strobes),
            axi.wlast.eq(beat.last),
        ]
        with m.If(free):
            m.d.sync += [
                axi.wvalid.eq(sent),
                beat.data.eq(beats.payload.data),
                beat.strobes.eq(Mux(self.bus.broken, 0, beats.payload.strobes)),
                beat.last.eq(final),
            ]
        return promised

    def count(self, m: Module) -> tuple[Value, Value]:
        """Return whether a burst waits for B that has been taken whole, and one of which AW has."""
        axi = self.axi
        asked = Signal(self.params.debt_bits)  # AW taken, no B
        written = Signal(self.params.debt_bits)  # last W taken, no B
        whole = Signal()
        ended = axi.bvalid & whole
        m.d.comb += whole.eq(asked.any() & written.any())
        m.d.sync += [
            asked.eq(asked + (axi.awvalid & axi.awready) - ended),
            written.eq(written + (axi.wvalid & axi.wready & axi.wlast) - ended),
        ]
        return whole, asked.any()
