"""Connects an AXI4 write master to its bus; every burst gets an answer, even on a dead bus."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.axi import Burst, Response
from hdl.common.axi_read_port import AxiPortParams, expect_within_4_kb
from hdl.common.bus_watch import BUS, WATCH, overdue
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.output_lane import add_lanes

AHEAD = 32  #: most bursts of several beats that AW may be ahead of W


class AxiWritePort(Component):
    """Sends ``bursts`` and their ``beats`` to ``axi``; ``answers`` acknowledge bursts in order.

    Bursts are INCR and of full width. ``beats`` are the beats of the bursts, in order; ``last``
    marks the last beat of a burst. W never precedes AW: the beats of a burst are taken from the
    cycle after the burst on. If all bursts have one beat (``length_bits`` = 0), the master must not
    offer a beat before its burst; both may be taken in the same cycle. ``answers`` has no
    back-pressure; ``answers.failed``: the response was not OKAY.

    Errors: a B for which no burst waits whose AW and W have all been taken sets ``bus.broken``. So
    does a bus on which AW, W, and the B of a complete burst make no progress for two ticks of
    ``watch``; this sets ``bus.silent`` as well. From then on no burst is sent, all beats are taken
    and dropped, bursts under way and new ones are answered here as failed, and responses on B are
    dropped. AXI does not allow a master to withdraw a request: AW and W stay valid until they are
    taken, and beats that an AW has announced follow without strobes. ``bus.owes`` is high until
    every burst that was sent has had its B; ``watch.revive`` has no effect before. So a late B is
    never taken for that of a later burst. A surplus B looks like that of the next complete burst;
    it is detected when the last B comes without a burst.

    Throughput: a burst and a beat a cycle. Latency: ``latency`` to AWVALID and WVALID, none from B
    to ``answers``. Stalls: AW and W stall independently. Full: bursts wait when ``outstanding`` are
    under way, or when the W beats of :data:`AHEAD` bursts (of one, if all have one beat) have not
    been sent.
    """

    latency = 1

    def __init__(self, params: AxiPortParams) -> None:
        super().__init__(
            params,
            bursts=In(stream.Signature(params.burst)),
            beats=In(
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
            answers=Out(data.StructLayout({"valid": 1, "failed": 1, "tag": params.tag_bits})),
            watch=In(WATCH),
            bus=Out(BUS),
            axi=Out(params.write_bus),
        )

    def build(self, m: Module) -> None:
        axi, answers = self.axi, self.answers
        m.submodules.owed = owed = Fifo.sized(
            shape=self.params.tag_bits, depth=self.params.outstanding, style="distributed"
        )
        room = Signal()
        go = self.send(m, owed, room)
        promised = self.write(m, go, room)
        whole, debt = self.count(m)
        fits = Signal()
        answered = Signal()
        provided = Signal(self.params.debt_bits)  # bursts whose last beat the master has given
        ended = Signal()
        m.d.comb += [
            axi.bready.eq(1),
            fits.eq(axi.bvalid & whole & ~self.bus.broken),
            answered.eq(fits | (self.bus.broken & provided.any() & owed.o.valid)),
            owed.o.ready.eq(answered),
            answers.valid.eq(answered),
            answers.failed.eq(self.bus.broken | (axi.bresp != Response.OKAY)),
            answers.tag.eq(owed.o.payload),
            # A burst of which only W was taken still has AWVALID high.
            self.bus.owes.eq(axi.awvalid | axi.wvalid | promised | debt),
        ]
        m.d.sync += [
            ended.eq(self.beats.valid & self.beats.ready & self.beats.payload.last),
            provided.eq(provided + ended - answered),
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
        expect_within_4_kb(m, self)

    def send(self, m: Module, owed: Fifo, room: Signal) -> Signal:
        """Send bursts to AW, unless the bus is broken, and to the queue of bursts under way."""
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
        """Send beats to W; on a broken bus only those that AW has announced, without strobes.

        The value returned is high while beats that AW has announced have not been sent.
        """
        axi, beats = self.axi, self.beats
        beat = stream.Signature(beats.payload.shape()).create(path=("beat",))
        free = Signal()
        may = Signal()  # the burst of the next beat was sent
        final = Signal()  # the next beat is its burst's last
        sent = Signal()
        promise = go & ~self.bus.broken
        if self.params.length_bits:
            m.submodules.lengths = lengths = Fifo.sized(
                shape=self.params.length_bits, depth=AHEAD, style="distributed"
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
            # A beat that was not announced comes with its burst, so only the burst's ready matters.
            fresh = self.bursts.ready & ~self.bus.broken
            m.d.comb += [room.eq(~promised), may.eq(promised | fresh), final.eq(1)]
            m.d.sync += promised.eq((promised | promise) & ~sent)
        some = may & (beats.valid | self.bus.broken)
        strobes = Mux(self.bus.broken, 0, beats.payload.strobes)
        m.d.comb += [
            free.eq(~axi.wvalid | axi.wready),
            sent.eq(free & some),
            beats.ready.eq((free & may) | self.bus.broken),
            beat.ready.eq(axi.wready),
            axi.wdata.eq(beat.payload.data),
            axi.wstrb.eq(beat.payload.strobes),
            axi.wlast.eq(beat.payload.last),
        ]
        add_lanes(m, Cat(beats.payload.data, strobes, final), beat, some)
        with m.If(free):
            m.d.sync += axi.wvalid.eq(sent)
        return promised

    def count(self, m: Module) -> tuple[Value, Value]:
        """Return whether a complete burst lacks B, and whether one whose AW was taken does."""
        axi = self.axi
        requested = Signal(self.params.debt_bits)  # bursts with AW taken, without B
        written = Signal(self.params.debt_bits)  # bursts with the last W taken, without B
        whole = Signal()
        ended = axi.bvalid & whole
        m.d.comb += whole.eq(requested.any() & written.any())
        m.d.sync += [
            requested.eq(requested + (axi.awvalid & axi.awready) - ended),
            written.eq(written + (axi.wvalid & axi.wready & axi.wlast) - ended),
        ]
        return whole, requested.any()
