"""Lists the shells in which a design can be user logic, and what each design becomes there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gen.base.errors import UserError
from gen.board.boards import BoardDesign
from gen.designs.catalogue import find_design
from gen.designs.design import load
from gen.shells.vitis.platforms import U280, Platform, find_platform
from gen.synth.device import U280_PART, U280_XDMA, Device


@dataclass(frozen=True, kw_only=True)
class Shell:
    """Describes a shell of others, which has the card's pins and gives user logic streams."""

    name: str
    writes: str  #: path of a function that adds a plugin's files to a generated folder
    without: Mapping[str, str] = field(default_factory=dict)  #: designs it cannot hold, and why
    takes: str  #: what it takes: why it cannot hold any other design
    part: str = "plugin"  #: what a design is in it
    device: Device  #: what an estimate is compared with
    platforms: bool = False  #: whether it is chosen for which card a design is built

    def find(self, name: str) -> BoardDesign:
        """Return what design ``name`` becomes in the shell; raise UserError if it cannot be."""
        design = find_design(name)
        if self.name in design.shells:
            return BoardDesign(design, design.shells[self.name])
        why = self.without.get(name, f"it is no {self.takes}")
        raise UserError(f"{name} cannot be a {self.part} of {self.name}: {why}")

    def cards(self, platform: str | None) -> list[Platform]:
        """Return the card that is chosen, or the usual one; none if the shell asks for none.

        UserError if a ``platform`` is named that is not there, or that the shell does not ask for.
        """
        if platform is not None and not self.platforms:
            raise UserError(f"{self.name} is not built for a chosen card, such as {platform}")
        name = U280.name if platform is None else platform
        return [find_platform(name)] if self.platforms else []

    def check(self, name: str, top: Any, platform: str | None) -> None:
        """Raise UserError if the chosen card is none for ``top``, the kernel of design ``name``."""
        for card in self.cards(platform):
            card.check(name, top)

    def write(self, *args: Any, chosen: tuple[str | None, float, Any]) -> dict[str, str]:
        """Add what the shell's build needs to a generated folder; return its files' hashes.

        ``chosen`` are the platform, the clock and the estimate, of which a kernel's pages speak.
        """
        platform, *clock = chosen
        cards = self.cards(platform)
        return load(self.writes)(*args, *cards, *(clock if cards else []))


OPENNIC = Shell(
    name="opennic",
    device=U280_PART,
    takes="switch of two ports",
    writes="gen.shells.opennic.package:write_plugin",
    without={
        "netsparse-snic": "it reads and writes host memory by itself, and OpenNIC's QDMA moves"
        " packets only"
    },
)

VITIS = Shell(
    name="vitis",
    device=U280_XDMA,
    part="kernel",
    platforms=True,
    takes="design with registers",
    writes="gen.shells.vitis.package:write_kernel",
    without={
        "p4sgd-engine": "it has no registers; use p4sgd-worker, which holds it",
    },
)

SHELLS: Mapping[str, Shell] = {shell.name: shell for shell in (OPENNIC, VITIS)}
