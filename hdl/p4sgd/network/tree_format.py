"""Describes P4SGD's frames in a tree of switches, where sums on the way up have more bits."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux

from hdl.p4sgd.network.frame import FRAMES
from hdl.p4sgd.network.tree_frame import MORE_BYTES
from hdl.p4sgd.network.tree_reader import TreeReader
from hdl.p4sgd.network.tree_writer import TreeWriter
from hdl.switch.frame_format import FrameFormat, copied


class TreeFormat(FrameFormat):
    """Describes P4SGD's frames, and those of 64 bytes that have a sum of a subtree (MINA, "RTL").

    In the longer frame, the low 32 bits of a lane have the place of an activation in the shorter
    frame. The high five bits of lane k begin at bit 5 k of a number of 40 bits, whose low byte is
    byte 27 and whose other bytes are 60 to 63.
    """

    def read(self, m: Module, judge: Any) -> Any:
        """Return the fields of the frame that the filter ``judge`` reports."""
        m.submodules.reader = reader = TreeReader()
        m.d.comb += [
            reader.frame.eq(judge.frame),
            reader.longer.eq(judge.longer),
            reader.more.eq(judge.more),
        ]
        return reader.fields

    def write(self, m: Module, axis: Any, answer: Any, frame: Any, parent: Any = None) -> None:
        """Put ``answer`` on ``axis``; an answer that goes up is sent to the ``parent``."""
        m.submodules.writer = writer = TreeWriter()
        m.d.comb += [
            *copied(writer.answer, answer),
            *copied(writer.answer, answer.header),
            writer.around.eq(frame),
            writer.above.eq(parent.above),
            writer.place.eq(parent.place),
            axis.tdata.eq(Cat(writer.frame, writer.more)),
            axis.tkeep.eq(Mux(writer.longer, self.longest_keep, self.keep)),
        ]


TREE_FRAMES = TreeFormat(
    name="tree",
    first=FRAMES.first,
    constants=FRAMES.constants,
    kinds=FRAMES.kinds,
    zero=FRAMES.zero,
    more_bytes=MORE_BYTES,
)
