"""Describes what a switch takes of frames of P4SGD's AllReduce in a tree, and what it answers."""

from amaranth.hdl import signed
from amaranth.lib import data

from hdl.p4sgd.network.frame import FRAMES, LANES

LEVEL_BITS = 5  #: number of bits that a lane has more on its way up: 32 workers' exact sum
SUM_BITS = 32 + LEVEL_BITS
MORE_BYTES = 4  #: number of bytes that a frame with a sum has behind the activations

TAKEN = ("is_agg", "acked", "bm", "job", "epoch", "seq", "use", "saturated")

#: Describes a frame as a switch takes it: its fields, exact sums, and who may have sent it.
TREE_FIELDS = data.StructLayout(
    {
        **{name: FRAMES.first.as_shape()[name].shape for name in TAKEN},
        "payload": data.ArrayLayout(signed(SUM_BITS), LANES),
        "longer": 1,
        "up": 1,  # a child may have sent it
        "down": 1,  # a parent may have sent it
        "neither": 1,  # nobody may have sent it
    }
)

#: Describes an answer of a switch: it goes down, and if ``up`` to the parent, where it is a
#: ``partial`` sum or else an acknowledgement. The other fields say what goes down.
TREE_ANSWER = data.StructLayout(
    {
        "up": 1,
        "partial": 1,
        **{name: FRAMES.first.as_shape()[name].shape for name in TAKEN},
        "payload": data.ArrayLayout(signed(SUM_BITS), LANES),
    }
)
