"""Describes the sizes of a switch in a tree, and the fields that its rule adds."""

from amaranth.hdl import ShapeLike, signed
from amaranth.lib import data

from hdl.p4sgd.network.tree_format import TREE_FRAMES
from hdl.p4sgd.network.tree_frame import LEVEL_BITS
from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from hdl.switch.frame_format import FrameFormat


class TreeSwitchParams(TenantSwitchParams, suffix=f"{TenantSwitchParams.suffix_form}_tree"):
    """Sets the sizes of a switch whose tenants may have a parent at a port (MINA, "RTL")."""

    parents = True
    only_answers = ("neither",)

    @property
    def frames(self) -> FrameFormat:
        """Return the format of frames in a tree."""
        return TREE_FRAMES

    @property
    def payload(self) -> data.ArrayLayout:
        """Describe the sums of a packet: those of a worker, or of all workers below a switch."""
        return data.ArrayLayout(signed(self.value_bits + LEVEL_BITS), self.lanes)

    @property
    def agg(self) -> data.ArrayLayout:
        """Describe the exact sum of a subtree; the parent's answer replaces it by the total."""
        return self.payload

    @property
    def brought(self) -> dict[str, ShapeLike]:
        """Return the fields of a packet for the rule; a parent's packet has its kind, too."""
        return {"acked": 1, "saturated": self.lanes, "payload": self.payload}

    @property
    def state(self) -> data.StructLayout:
        """Describe the state of a slot.

        Children may have the sum if the slot is ``summed``, and begin the next use if it is
        ``finished``. At the root these flags are set when all children have sent; at other switches
        when the parent says so.
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
        """Describe an answer: to the children in ``bm``, and with ``up`` to the parent.

        An answer that goes up is the sum in ``payload`` if it is ``partial``, otherwise an
        acknowledgement; all other fields belong to the answer that goes down.
        """
        return data.StructLayout(
            {"up": 1, "partial": 1, **{name: field.shape for name, field in super().answer}}
        )
