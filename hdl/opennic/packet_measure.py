"""Counts the bytes of packets, and marks those that break the rules of a stream of packets."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.common.params import Params, tagged

SIZE_BITS = 16  #: width of a packet's size
BYTE_BITS = 6  #: width of the number of a byte in a beat


class PacketMeasureParams(Params, suffix=""):
    """Says whether the source states a packet's size."""

    stated: bool = tagged("stated", default=False)  #: whether ``stated`` must be the size


class PacketMeasure(Component):
    """Passes the beats of ``axis`` to ``o`` with ``size``, the packet's bytes up to their end.

    ``o.tuser``, with a packet's last beat, says that ``axis.tuser`` was high then, that bytes are
    missing before its end, that it ends with an empty beat or, with ``params.stated``, that
    ``stated`` was not its size in each of its beats. What is left of a packet that a reset has cut
    is therefore marked. A packet has at most 65,535 bytes; counts of longer ones wrap.

    ``axis.tready`` is ``room``, and ``o.tready`` is ignored: what is behind must take the beats
    that were taken in the last :attr:`latency` cycles. Throughput: a beat a cycle.
    """

    latency = 2

    def __init__(self, params: PacketMeasureParams) -> None:
        stated = {"stated": In(SIZE_BITS)} if params.stated else {}
        super().__init__(
            params,
            axis=In(AXIS),
            room=In(1),
            o=Out(AXIS),
            size=Out(SIZE_BITS),
            **stated,
        )

    def build(self, m: Module) -> None:
        axis, o = self.axis, self.o
        come = Signal()  # ``beat`` holds a beat
        beat = {
            n: Signal.like(getattr(axis, n), name=n, reset_less=True) for n in ("tdata", "tkeep")
        }
        last, broken = Signal(reset_less=True), Signal(reset_less=True)
        m.d.comb += axis.tready.eq(self.room)
        m.d.sync += [
            come.eq(axis.tvalid & self.room),
            last.eq(axis.tlast),
            broken.eq(axis.tuser),
            *(register.eq(getattr(axis, name)) for name, register in beat.items()),
        ]
        keep = beat["tkeep"]
        before = Signal(SIZE_BITS - BYTE_BITS)  # whole beats of the packet so far
        wrong = Signal()  # of the packet so far
        gap = ~keep[0] | (keep[1:] & ~keep[:-1]).any() | (~last & ~keep.all())
        end = Cat(index_of(keep & ~Cat(keep[1:], 0)), before)  # the number of the last byte
        bad = wrong | gap | (self.misstated(m, before, last, end) if self.params.stated else 0)
        with m.If(come):
            m.d.sync += [
                before.eq(Mux(last, 0, (before + 1)[: len(before)])),
                wrong.eq(bad & ~last),
            ]
        valid, final, marked = Signal(), Signal(reset_less=True), Signal(reset_less=True)
        where = Signal(SIZE_BITS, reset_less=True)
        data, mask = (Signal.like(s, name=f"{n}_2", reset_less=True) for n, s in beat.items())
        m.d.sync += [
            valid.eq(come),
            final.eq(last),
            marked.eq(last & (bad | broken)),
            where.eq(end),
            data.eq(beat["tdata"]),
            mask.eq(keep),
        ]
        m.d.comb += [o.tvalid.eq(valid), o.tlast.eq(final), o.tuser.eq(marked)]
        m.d.comb += [o.tdata.eq(data), o.tkeep.eq(mask), self.size.eq((where + 1)[:SIZE_BITS])]

    def misstated(self, m: Module, before: Signal, last: Signal, end: Cat):
        """Return whether the beat's stated size is not that of the packet, as far as is known."""
        less = Signal(SIZE_BITS, reset_less=True)  # the stated number of the last byte
        kept = Signal(SIZE_BITS, reset_less=True)  # as the beat before stated it
        m.d.sync += less.eq((self.stated - 1)[:SIZE_BITS])
        with m.If(before == 0):
            m.d.sync += kept.eq(less)
        return (before.any() & (kept != less)) | (last & (less != end))
