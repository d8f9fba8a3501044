"""Marks where groups begin and end among those PRs of packets that go one of two ways."""

from dataclasses import dataclass

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import looked_up
from hdl.common.checks import check_range
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams


@dataclass(frozen=True, kw_only=True)
class GroupMarksParams:
    """Says how many PRs wait beside their marks."""

    depth: int  #: PRs that have gone this way and have not left, 2..64

    def __post_init__(self) -> None:
        check_range("depth", self.depth, 2, 64)

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: the depth."""
        return f"{self.depth}"


class GroupMarks(Component):
    """Gives a mark for each PR that goes this way: whether it is its packet's last that does.

    ``comes`` says that it is known of a PR which way it goes, ``ends`` that it is the last of its
    packet, ``takes`` that it goes this way. The mark of a PR that does comes to ``o`` when it is
    known: with the next PR of its packet that takes this way, or with the packet's last PR;
    ``cut`` makes a last one of a PR that still waits for that, and its group ends there.
    ``whole`` says that the marks that wait reach to the end of a group or are all that fit.

    Latency: :attr:`latency` from what tells the mark; of a packet with one PR that is the PR.
    Throughput: a mark a cycle. No more than ``params.depth`` PRs may be without their mark taken.
    """

    def __init__(self, params: GroupMarksParams) -> None:
        self.sizes = FifoParams(width=1, depth=params.depth, style="distributed")
        self.latency = self.sizes.latency
        super().__init__(
            params,
            {
                "comes": In(1),
                "takes": In(1),
                "ends": In(1),
                "cut": In(1),
                "o": Out(stream.Signature(1)),
                "whole": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        depth = self.params.depth
        m.submodules.marks = marks = Fifo(self.sizes)
        waits = Signal()  # the mark of a PR is not in the queue yet
        known = Signal()  # it is a last one
        takes = Signal()
        ends = Signal()  # with this PR, its packet
        count = Signal(bits_for(depth))  # of groups whose end is in the queue
        adds = Signal()
        goes = Signal()
        m.d.comb += [
            takes.eq(self.comes & self.takes),
            ends.eq(self.comes & self.ends),
            marks.i.valid.eq((waits & (takes | ends | known | self.cut)) | (takes & ends)),
            marks.i.payload.eq(~waits | known | ~takes),
            self.o.valid.eq(marks.o.valid),
            self.o.payload.eq(marks.o.payload),
            marks.o.ready.eq(self.o.ready),
            adds.eq(marks.i.valid & marks.i.payload),
            goes.eq(self.o.valid & self.o.ready & self.o.payload),
            # What is offered is counted behind this: a comparison would be a second carry chain.
            self.whole.eq((count != 0) | looked_up(lambda level: level >= depth - 1, marks.level)),
        ]
        with m.If(takes & (waits | ~self.ends)):
            m.d.sync += [waits.eq(1), known.eq(self.ends)]
        with m.Elif(marks.i.valid):
            m.d.sync += waits.eq(0)
        m.d.sync += count.eq((count + adds - goes)[: len(count)])
        return m
