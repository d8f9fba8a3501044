"""Connects an AXI4 read master to its bus; every burst gets all its beats, even on a dead bus."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2, exact_log2

from hdl.common.axi import (
    FOUR_KB,
    Axi4Signature,
    AxiReadSignature,
    AxiWriteSignature,
    Burst,
    Bursts,
    Response,
)
from hdl.common.bus_watch import BUS, WATCH, overdue
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import Fifo
from hdl.common.params import Params, whole


class AxiPortParams(
    Params, suffix="{data_bits}_a{address_bits}_l{length_bits}_t{tag_bits}_o{outstanding}"
):
    """Sets the widths of a read or write port, and the most bursts that it has under way."""

    address_bits: int  #: width of a byte address
    data_bits: int  #: width of a beat
    #: width of AXI's burst length; 0: every burst is one beat
    length_bits: int = whole(0, 8, default=0)
    tag_bits: int = 1  #: width of the tag that comes back with a burst's answer
    outstanding: int = whole(2, 1024, default=64)  #: most bursts without an answer

    @property
    def burst(self) -> data.StructLayout:
        """Describe a burst; ``length`` is the number of its beats less one, as in AXI."""
        length = {"length": self.length_bits} if self.length_bits else {}
        return data.StructLayout({"address": self.address_bits} | length | {"tag": self.tag_bits})

    @property
    def waiting(self) -> data.StructLayout:
        """Describe the fields of a burst that are kept until its answer comes."""
        return data.StructLayout(
            {name: field.shape for name, field in self.burst if name != "address"}
        )

    @property
    def reads(self) -> Bursts:
        """Return what a read port requests at most: the oldest burst has left the queue."""
        return Bursts(beats=1 << self.length_bits, under_way=self.outstanding + 1)

    @property
    def writes(self) -> Bursts:
        """Return what a write port requests at most."""
        return Bursts(beats=1 << self.length_bits, under_way=self.outstanding)

    @property
    def read_bus(self) -> AxiReadSignature:
        """Describe the bus of a read port."""
        return AxiReadSignature(
            address_bits=self.address_bits, data_bits=self.data_bits, reads=self.reads
        )

    @property
    def write_bus(self) -> AxiWriteSignature:
        """Describe the bus of a write port."""
        return AxiWriteSignature(
            address_bits=self.address_bits, data_bits=self.data_bits, writes=self.writes
        )

    @property
    def debt_bits(self) -> int:
        """Return the width of the number of bursts that the bus has not answered yet."""
        return bits_for(self.outstanding + 1)


def full_bus(reads: AxiPortParams, writes: AxiPortParams) -> Axi4Signature:
    """Describe the bus of a read port and a write port of the same widths."""
    return Axi4Signature(
        address_bits=reads.address_bits,
        data_bits=reads.data_bits,
        reads=reads.reads,
        writes=writes.writes,
    )


def expect_within_4_kb(m: Module, port: Component) -> None:
    """Expect of the master that no burst crosses a multiple of 4 KB, as AXI demands."""
    bits, burst = exact_log2(FOUR_KB), port.bursts.payload
    size = exact_log2(port.params.data_bits // 8)
    length = burst.length if port.params.length_bits else Const(0, 1)
    last = (burst.address[size:bits] + length)[bits - size :]  # carries of the last beat's number
    expect(m, port, stays_within_4_kb=lambda: ~port.bursts.valid | ~last.any())


class AxiReadPort(Component):
    """Sends ``bursts`` to ``axi``; the beats of each come back as ``beats``, in order.

    Bursts are INCR and of full width. ``beats`` has no back-pressure: the master must have room for
    what it requests. ``beats.failed``: the response was not OKAY. ``beats.last`` marks the last
    beat of a burst by the port's own count, and ``beats.tag`` is the burst's tag.

    Errors: a beat that no burst waits for, or whose RLAST does not fit the burst's length, sets
    ``bus.broken``. So does a burst for which neither AR nor R makes progress for two ticks of
    ``watch``; this sets ``bus.silent`` as well. From then on no burst is sent; bursts under way and
    new ones are answered here with failed beats, one a cycle, and beats on R are dropped. AXI does
    not allow a master to withdraw a request, so ARVALID stays high until it is taken. ``bus.owes``
    stays high until the bursts that AR took have had all their RLASTs and all their beats;
    ``watch.revive`` has no effect before. So late beats of a slow memory are never taken for those
    of a later burst. If the count of RLASTs and the count of beats do not end together, neither can
    say what is still to come; then ``bus.owes`` stays high until R has been idle from one tick to
    the next. A surplus beat of one burst looks like the first beat of the next one; it is detected
    when an RLAST does not fit, at the latest when the last beat comes without a burst.

    Throughput: a beat and a burst a cycle. Latency: ``latency`` from a burst to ARVALID, none from
    R to ``beats``. Full: bursts wait when ``outstanding`` bursts, and one that is being answered,
    are under way.
    """

    latency = 1

    def __init__(self, params: AxiPortParams) -> None:
        super().__init__(
            params,
            bursts=In(stream.Signature(params.burst)),
            beats=Out(
                data.StructLayout(
                    {
                        "valid": 1,
                        "failed": 1,
                        "last": 1,
                        "tag": params.tag_bits,
                        "data": params.data_bits,
                    }
                )
            ),
            watch=In(WATCH),
            bus=Out(BUS),
            axi=Out(params.read_bus),
        )

    def build(self, m: Module) -> None:
        axi, beats = self.axi, self.beats
        m.submodules.waiting = waiting = Fifo.sized(
            shape=self.params.waiting, depth=self.params.outstanding, style="distributed"
        )
        go = self.send(m, waiting)
        answered = Signal()  # a beat of the oldest burst comes
        due, final = self.follow(m, waiting, answered)
        fits = Signal()
        m.d.comb += [
            fits.eq(axi.rvalid & due & (axi.rlast == final) & ~self.bus.broken),
            answered.eq(fits | (self.bus.broken & due)),
            axi.rready.eq(1),
            beats.valid.eq(answered),
            beats.failed.eq(self.bus.broken | (axi.rresp != Response.OKAY)),
            beats.last.eq(final),
            beats.data.eq(axi.rdata),
        ]
        m.d.sync += self.bus.dropped.eq(axi.rvalid & ~fits)
        revived = Signal()
        m.d.comb += [
            self.bus.owes.eq(axi.arvalid | self.owes(m, revived)),
            revived.eq(
                self.bus.broken & self.watch.revive & ~(self.bus.owes | due | waiting.o.valid | go)
            ),
        ]
        moved = axi.rvalid | (axi.arvalid & axi.arready)
        late = overdue(m, self.watch.tick, self.bus.owes, moved)
        with m.If(~self.bus.broken):
            m.d.sync += [
                self.bus.broken.eq((axi.rvalid & ~fits) | late),
                self.bus.silent.eq(late),
            ]
        with m.Elif(revived):
            m.d.sync += [self.bus.broken.eq(0), self.bus.silent.eq(0)]
        expect_within_4_kb(m, self)

    def send(self, m: Module, waiting: Fifo) -> Signal:
        """Send bursts to AR, unless the bus is broken, and to the queue of bursts under way."""
        axi, bursts = self.axi, self.bursts
        burst = Signal(self.params.burst, reset_less=True)
        provided = self.params.waiting(waiting.i.payload)
        go = Signal()
        m.d.comb += [
            bursts.ready.eq(waiting.i.ready & (~axi.arvalid | axi.arready | self.bus.broken)),
            go.eq(bursts.valid & bursts.ready),
            waiting.i.valid.eq(go),
            *(provided[name].eq(bursts.payload[name]) for name in provided.shape().members),
            axi.araddr.eq(burst.address),
            axi.arlen.eq(burst.length if self.params.length_bits else 0),
            axi.arsize.eq(ceil_log2(self.params.data_bits // 8)),
            axi.arburst.eq(Burst.INCR),
        ]
        with m.If(axi.arready):
            m.d.sync += axi.arvalid.eq(0)
        with m.If(go & ~self.bus.broken):
            m.d.sync += [axi.arvalid.eq(1), burst.eq(bursts.payload)]
        return go

    def follow(self, m: Module, waiting: Fifo, answered: Signal) -> tuple[Signal, Signal]:
        """Return two registers: whether a beat is due, and whether it is the last of its burst.

        They are valid two cycles after the burst is taken. R cannot come earlier, because AR has a
        register and AXI needs another cycle.
        """
        due = Signal()
        final = Signal()
        tag = Signal(self.params.tag_bits, reset_less=True)
        oldest = waiting.o.payload
        m.d.comb += [
            waiting.o.ready.eq(~due | (answered & final)),
            self.beats.tag.eq(tag),
        ]
        with m.If(waiting.o.ready):
            m.d.sync += [due.eq(waiting.o.valid), tag.eq(oldest.tag)]
        if self.params.length_bits:
            left = Signal(self.params.length_bits, reset_less=True)  # beats after this one
            with m.If(waiting.o.ready):
                m.d.sync += [left.eq(oldest.length), final.eq(oldest.length == 0)]
            with m.Elif(answered):
                m.d.sync += [left.eq(left - 1), final.eq(left == 1)]
        else:
            m.d.comb += final.eq(1)
        return due, final

    def owes(self, m: Module, revived: Signal) -> Value:
        """Return whether beats may still come for bursts that AR has taken."""
        axi = self.axi
        bursts, beats = self.count(m, revived)
        odd = Signal()  # the counts did not end together
        still = Signal()  # since then R was idle for a whole period between ticks
        late = overdue(m, self.watch.tick, odd & ~still, axi.rvalid)
        with m.If(revived):
            m.d.sync += [odd.eq(0), still.eq(0)]
        with m.Else():
            m.d.sync += [odd.eq(odd | (bursts ^ beats)), still.eq((still | late) & ~axi.rvalid)]
        return (bursts & beats) | ((odd | (bursts ^ beats)) & ~still)

    def count(self, m: Module, revived: Signal) -> tuple[Value, Value]:
        """Count bursts and beats taken; return whether an RLAST, and whether a beat, is due."""
        axi = self.axi
        owed_bursts = Signal(self.params.debt_bits)
        owed_beats = Signal(self.params.debt_bits + self.params.length_bits)
        taken = axi.arvalid & axi.arready
        length = axi.arlen[: self.params.length_bits]
        ended = axi.rvalid & axi.rlast & owed_bursts.any()
        # -(~length) is length + 1, the number of beats, and saves an adder.
        more = Mux(taken, ~Cat(length, Const(0, 1)).as_signed(), 0)
        owed = owed_beats - more - (axi.rvalid & owed_beats.any())
        m.d.sync += [
            owed_bursts.eq(owed_bursts + taken - ended),
            owed_beats.eq(owed[: len(owed_beats)]),
        ]
        with m.If(revived):  # after wrong RLASTs or beats the counts may not be 0
            m.d.sync += [owed_bursts.eq(0), owed_beats.eq(0)]
        return owed_bursts.any(), owed_beats.any()
