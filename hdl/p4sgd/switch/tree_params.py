"""Describes the sizes of a switch that is one of a tree, and what its rule adds for that."""

from dataclasses import dataclass

from amaranth.hdl import ShapeLike, signed
from amaranth.lib import data

from hdl.p4sgd.network.tree_format import TREE_FRAMES
from hdl.p4sgd.network.tree_frame import LEVEL_BITS
from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from hdl.switch.frame_format import FrameFormat


@dataclass(frozen=True, kw_only=True)
class TreeSwitchParams(TenantSwitchParams):
    """Sets the sizes of a switch whose tenants may have a parent at a port (MINA, "RTL")."""

    parents = True
    only_answers = ("neither",)

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: every size."""
        return f"{super().suffix}_tree"

    @property
    def frames(self) -> FrameFormat:
        """Return the format of frames in a tree."""
        return TREE_FRAMES

    @property
    def payload(self) -> data.ArrayLayout:
        """Describe the sums that a packet brings: of a worker, or of all workers below a switch."""
        return data.ArrayLayout(signed(self.value_bits + LEVEL_BITS), self.lanes)

    @property
    def agg(self) -> data.ArrayLayout:
        """Describe the exact sum of a subtree, replaced by that of all when the parent answers."""
        return self.payload

    @property
    def brought(self) -> dict[str, ShapeLike]:
        """Return the fields that a packet brings; a parent's packet brings its kind, too."""
        return {"acked": 1, "saturated": self.lanes, "payload": self.payload}

    @property
    def state(self) -> data.StructLayout:
        """Describe what is kept of a slot.

        Children may have the sum if it is ``summed``, and begin the next use if this one is
        ``finished``. A root's are as soon as all children are in; others' when the parent says so.
        """
        return data.StructLayout(
            {
                **{name: field.shape for name, field in super().state},
                "gathered": 1,  # all children are in agg_bm: the sum has gone up
                "thanked": 1,  # all children are in ack_bm: the acknowledgement has gone up
                "saturated": self.lanes,  # the lanes of the parent's sum that were clamped
            }
        )

    @property
    def answer(self) -> data.StructLayout:
        """Describe an answer: down to the children in ``bm``, and ``up`` to the parent.

        An answer that goes up is the sum in ``payload`` if it is ``partial``, and else an
        acknowledgement; all other fields say what goes down.
        """
        return data.StructLayout(
            {"up": 1, "partial": 1, **{name: field.shape for name, field in super().answer}}
        )
