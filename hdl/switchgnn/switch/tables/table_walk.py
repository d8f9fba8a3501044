"""Cuts a request for rows into the beats of memory that contain them."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.streams import StreamRegister
from hdl.switchgnn.switch.tables.row_reader import COUNT_BITS
from hdl.switchgnn.switch.tables.table_memory_params import TableMemoryParams


class TableWalk(Component):
    """Cuts each of ``requests`` into ``steps``, in order: the rows of one beat each.

    Rows that do not exist come after those that do, in steps that are ``missing``, with as many
    rows as a beat would have; no beat is read for them.

    Throughput: a step a cycle, also from request to request. Latency: :attr:`latency` from a
    request to its first step. Stalls: holds.
    """

    latency = StreamRegister.latency + 2

    def __init__(self, params: TableMemoryParams) -> None:
        self.cut = data.StructLayout(
            {
                "descriptors": 1,
                "first": params.place_bits,
                "present": COUNT_BITS,  # number of rows that exist
                "absent": COUNT_BITS,  # number of rows that do not exist
                "reads": 1,  # some rows exist
                "lacks": 1,  # some rows do not exist
            }
        )
        super().__init__(
            params,
            requests=In(stream.Signature(params.request)),
            steps=Out(stream.Signature(params.step)),
        )

    def build(self, m: Module) -> None:
        m.submodules.taken = taken = StreamRegister.sized(shape=self.params.request)
        requested = taken.o.payload
        cut = Signal(self.cut, reset_less=True)
        waits = Signal()  # a cut request waits
        takes = Signal()  # the walk takes the cut request
        lacks = Signal()
        connect(m, flipped(self.requests), taken.i)
        m.d.comb += [
            lacks.eq(requested.present < requested.count),
            taken.o.ready.eq(~waits | takes),
        ]
        with m.If(taken.o.ready):
            m.d.sync += [
                waits.eq(taken.o.valid),
                cut.descriptors.eq(requested.descriptors),
                cut.first.eq(requested.first),
                cut.present.eq(Mux(lacks, requested.present, requested.count)),
                cut.absent.eq((requested.count - requested.present)[:COUNT_BITS]),
                cut.reads.eq(requested.present.any()),
                cut.lacks.eq(lacks),
            ]
        self.walk(m, cut, waits, takes)

    def walk(self, m: Module, cut, waits: Signal, takes: Signal) -> None:
        """Step from beat to beat: first those with rows that exist, then virtual ones."""
        params = self.params
        shift = params.list_shift
        busy = Signal()
        descriptors = Signal(reset_less=True)
        reads = Signal(reset_less=True)
        more = Signal(reset_less=True)  # rows that do not exist follow
        absent = Signal(COUNT_BITS, reset_less=True)
        left = Signal(COUNT_BITS, reset_less=True)
        beat = Signal(params.place_bits, reset_less=True)
        begin = Signal(shift, reset_less=True)
        top = Signal(shift)  # place of the last row in a beat
        room = Signal(shift + 1)  # rows from ``begin`` to there
        over = Signal()  # the rows go on after this beat
        ends = Signal()
        moves = Signal()
        share = self.steps.payload.share
        list_top, descriptor_top = (1 << shift) - 1, (1 << params.descriptor_shift) - 1
        m.d.comb += [
            top.eq(Mux(descriptors, descriptor_top, list_top)),
            room.eq((top - begin + 1)[: shift + 1]),
            over.eq(left > room),
            ends.eq(~over & ~more),
            moves.eq(~busy | self.steps.ready),
            takes.eq(~busy | (self.steps.ready & ends)),
            self.steps.valid.eq(busy),
            self.steps.payload.line.eq(beat >> exact_log2(params.ports)),
            share.port.eq(beat[: exact_log2(params.ports)] if params.ports > 1 else 0),
            share.descriptors.eq(descriptors),
            share.missing.eq(~reads),
            share.begin.eq(begin),
            share.end.eq(Mux(over, top, (begin + left - 1)[:shift])),
            share.last.eq(ends),
        ]
        with m.If(takes):
            fewer = Mux(cut.descriptors, descriptor_top, list_top)
            m.d.sync += [
                busy.eq(waits),
                descriptors.eq(cut.descriptors),
                reads.eq(cut.reads),
                more.eq(cut.reads & cut.lacks),
                absent.eq(cut.absent),
                left.eq(Mux(cut.reads, cut.present, cut.absent)),
                beat.eq(
                    Mux(
                        cut.descriptors,
                        cut.first >> params.descriptor_shift,
                        cut.first >> shift,
                    )
                ),
                begin.eq(Mux(cut.reads, low_bits(cut.first, shift) & fewer, Const(0, shift))),
            ]
        with m.Elif(moves):
            m.d.sync += begin.eq(0)
            with m.If(over):
                m.d.sync += [
                    left.eq((left - room)[:COUNT_BITS]),
                    beat.eq((beat + 1)[: params.place_bits]),
                ]
            with m.Else():
                m.d.sync += [reads.eq(0), more.eq(0), left.eq(absent)]
