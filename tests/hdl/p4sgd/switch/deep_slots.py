"""Has switches of few slots that are read like 64 K of them, but soon cleared."""

from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.tree_params import TreeSwitchParams
from hdl.switch.slots import MORE_CYCLES


class DeepSwitchParams(SwitchParams):
    """A switch whose memory of slots has registers between its blocks."""

    @property
    def more_cycles(self) -> int:
        """Return the cycles of the deepest memory."""
        return MORE_CYCLES


class DeepTreeSwitchParams(TreeSwitchParams):
    """The same for a switch of a tree."""

    @property
    def more_cycles(self) -> int:
        """Return the cycles of the deepest memory."""
        return MORE_CYCLES
