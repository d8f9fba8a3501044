"""Describes the fields of frames that a switch in a tree receives, and of its answers."""

from amaranth.hdl import signed
from amaranth.lib import data

from hdl.p4sgd.network.frame import FRAMES, LANES

LEVEL_BITS = 5  #: additional bits of a lane on the way up, for the exact sum of 32 workers
SUM_BITS = 32 + LEVEL_BITS
MORE_BYTES = 4  #: number of bytes after the activations in a frame with a sum

TAKEN = ("is_agg", "acked", "bm", "job", "epoch", "seq", "use", "saturated")

#: Describes a received frame: its fields, exact sums, and who may have sent it.
TREE_FIELDS = data.StructLayout(
    {
        **{name: FRAMES.first.as_shape()[name].shape for name in TAKEN},
        "payload": data.ArrayLayout(signed(SUM_BITS), LANES),
        "longer": 1,
        "up": 1,  # a child may have sent it
        "down": 1,  # a parent may have sent it
        "neither": 1,  # neither a child nor a parent may have sent it
    }
)

#: Describes an answer of a switch. It goes down to children, and with ``up`` also to the parent, as
#: a ``partial`` sum or else as an acknowledgement. The other fields belong to the answer that goes
#: down.
TREE_ANSWER = data.StructLayout(
    {
        "up": 1,
        "partial": 1,
        **{name: FRAMES.first.as_shape()[name].shape for name in TAKEN},
        "payload": data.ArrayLayout(signed(SUM_BITS), LANES),
    }
)
