"""Marks the ends of groups among the PRs of packets that take one of two paths."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from hdl.common.arithmetic import looked_up
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.params import Params, whole


class GroupMarksParams(Params, suffix="{depth}"):
    """Sets the number of PRs that may wait for their marks."""

    depth: int = whole(2, 64)  #: most PRs that have taken this path and have not left


class GroupMarks(Component):
    """Emits a mark for each PR that takes this path: whether it is the last one of its packet.

    ``comes`` says that the path of a PR is known, ``ends`` that the PR is the last of its packet,
    ``takes`` that it takes this path. The mark of a PR on this path comes to ``o`` when it is
    known: with the next PR of its packet that takes this path, or with the packet's last PR.
    ``cut`` marks a PR that still waits for that as the last one, and its group ends there.
    ``whole`` says that the waiting marks include the end of a group, or fill the queue.

    Latency: :attr:`latency` from the PR that determines the mark; in a packet with one PR it is
    that PR. Throughput: a mark a cycle. At most ``params.depth`` PRs may be without a taken mark.
    """

    def __init__(self, params: GroupMarksParams) -> None:
        self.sizes = FifoParams(shape=1, depth=params.depth, style="distributed")
        self.latency = self.sizes.latency
        super().__init__(
            params,
            comes=In(1),
            takes=In(1),
            ends=In(1),
            cut=In(1),
            o=Out(stream.Signature(1)),
            whole=Out(1),
        )

    def build(self, m: Module) -> None:
        depth = self.params.depth
        m.submodules.marks = marks = Fifo(self.sizes)
        waits = Signal()  # the mark of a PR is not in the queue yet
        known = Signal()  # it is known to be a last one
        takes = Signal()
        ends = Signal()  # this PR ends its packet
        count = Signal(bits_for(depth))  # number of groups whose end is in the queue
        adds = Signal()
        goes = Signal()
        connect(m, marks.o, flipped(self.o))
        m.d.comb += [
            takes.eq(self.comes & self.takes),
            ends.eq(self.comes & self.ends),
            marks.i.valid.eq((waits & (takes | ends | known | self.cut)) | (takes & ends)),
            marks.i.payload.eq(~waits | known | ~takes),
            adds.eq(marks.i.valid & marks.i.payload),
            goes.eq(self.o.valid & self.o.ready & self.o.payload),
            # The user counts with this value, so a comparison here would be a second carry chain.
            self.whole.eq((count != 0) | looked_up(lambda level: level >= depth - 1, marks.level)),
        ]
        with m.If(takes & (waits | ~self.ends)):
            m.d.sync += [waits.eq(1), known.eq(self.ends)]
        with m.Elif(marks.i.valid):
            m.d.sync += waits.eq(0)
        m.d.sync += count.eq((count + adds - goes)[: len(count)])
