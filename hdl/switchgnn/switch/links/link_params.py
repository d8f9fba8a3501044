"""Describes the stored PARTIALs and the ACKs of links to other switches."""

from amaranth.lib import data
from amaranth.utils import bits_for, ceil_log2

from hdl.common.memory import MemoryParams
from hdl.switchgnn.switch.egress.egress_params import EgressParams
from hdl.switchgnn.switch.sizes import OPEN_TURNS, SEQ_BITS


class LinkParams(EgressParams):
    """Adds the bundles of links between switches to those of the output path."""

    @property
    def link_slot_bits(self) -> int:
        """Return the width of a PARTIAL's place among the stored ones of its turn."""
        return ceil_log2(self.link_window)

    @property
    def link_seq_bits(self) -> int:
        """Return the width of a PARTIAL's number in its turn, and of the number of PARTIALs."""
        return bits_for(self.slots * self.banks)

    @property
    def link_ack(self) -> data.StructLayout:
        """Describe an ACK of another switch about the PARTIALs of an open turn."""
        return data.StructLayout(
            {
                "place": 1,  # place of its turn among the open ones
                "base": SEQ_BITS,  # all below it have arrived
                "bitmap": self.link_window,  # bit k: base + k has arrived
            }
        )

    @property
    def link_order(self) -> data.StructLayout:
        """Describe the order to send a PARTIAL of a turn."""
        return data.StructLayout({"slot": self.link_slot_bits, "again": 1})

    @property
    def kept_partial(self) -> data.StructLayout:
        """Describe a PARTIAL that is stored until it is acknowledged: all fields of its frame."""
        names = ("job", "epoch", "turn", "list", "sums")
        seq = {"seq": ceil_log2(self.slots * self.banks)}
        return data.StructLayout({name: self.delivery.members[name] for name in names} | seq)

    @property
    def link_memory(self) -> MemoryParams:
        """Return the sizes of the memory of stored PARTIALs: a window for each open turn."""
        depth = OPEN_TURNS * self.link_window
        style = "distributed" if self.style == "distributed" else "block"
        return MemoryParams(shape=self.kept_partial, depth=depth, style=style)
