"""Describes what links to other switches keep and are told, in a switch that has some."""

from amaranth.lib import data
from amaranth.utils import bits_for, ceil_log2

from hdl.common.memory import MemoryParams
from hdl.switchgnn.switch.egress_params import EgressParams
from hdl.switchgnn.switch.sizes import OPEN_TURNS, SEQ_BITS


class LinkParams(EgressParams):
    """Adds the bundles of links between switches to those of the way out."""

    @property
    def link_slot_bits(self) -> int:
        """Return the width of a PARTIAL's place among those of its turn that are kept."""
        return ceil_log2(self.link_window)

    @property
    def link_seq_bits(self) -> int:
        """Return the width of the number of a PARTIAL in its turn, and of how many there are."""
        return bits_for(self.slots * self.banks)

    @property
    def link_ack(self) -> data.StructLayout:
        """Describe what an ACK of another switch says of the PARTIALs of an open turn."""
        return data.StructLayout(
            {
                "place": 1,  # of its turn among those that are open
                "base": SEQ_BITS,  # all below have arrived
                "bitmap": self.link_window,  # bit k: base + k has
            }
        )

    @property
    def link_order(self) -> data.StructLayout:
        """Describe which PARTIAL of a turn is to leave."""
        return data.StructLayout({"slot": self.link_slot_bits, "again": 1})

    @property
    def kept_partial(self) -> data.StructLayout:
        """Describe a PARTIAL that is kept until it is acknowledged: all that its frame says."""
        names = ("job", "epoch", "turn", "list", "sums")
        seq = {"seq": ceil_log2(self.slots * self.banks)}
        return data.StructLayout({name: self.delivery.members[name] for name in names} | seq)

    @property
    def link_memory(self) -> MemoryParams:
        """Return the sizes of the memory of PARTIALs that are kept: a window of each open turn."""
        depth = OPEN_TURNS * self.link_window
        return MemoryParams(bits=self.kept_partial.size, depth=depth, style="distributed")
