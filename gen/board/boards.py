"""Lists the cards that a design can be built for, and what each design becomes on them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen.base.errors import UserError, unknown
from gen.designs.catalogue import designs, find_design
from gen.designs.design import Card, Design, Settings, load
from gen.floorplan.plan import Plan, PlanPart
from gen.synth.device import U280, Device

CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints"
CORE = "core"  #: the name of the design inside every top of a card


@dataclass(frozen=True)
class BoardDesign:
    """Pairs a design with a card: it makes the top that connects one to the other."""

    design: Design
    card: Card
    core_mhz: float | None = None  #: clock of the core; None: the one that designs are written for

    @property
    def preset(self) -> str:
        """Return the preset that is used unless another is named."""
        return self.card.preset

    def settings_of(self, preset: str) -> Settings:
        """Return what ``preset`` sets on this card; raise UserError for an unknown preset."""
        presets = {name: dict(settings) for name, settings in self.design.presets.items()}
        for name, settings in self.card.presets.items():
            presets[name] = presets.get(name, {}) | dict(settings)
        if preset not in presets:
            raise unknown(f"preset of {self.design.name}", preset, presets)
        return presets[preset]

    def make(self, params: Any) -> Any:
        """Return the top for these parameters of the design; raise UserError if it does not fit."""
        for name, most in self.card.most.items():
            if (value := getattr(params, name)) > most.value:
                raise UserError(f"{name} can be at most {most.value}, not {value}: {most.because}")
        top = load(self.card.component)
        try:
            return (top if self.core_mhz is None else top.clocked(self.core_mhz))(params)
        except ValueError as error:
            raise UserError(" ".join(str(error).split())) from error


@dataclass(frozen=True, kw_only=True)
class Board:
    """Describes a card: its FPGA, its constraints, and the parts of a floorplan that it fixes."""

    name: str
    about: str  #: what it is, in half a line
    device: Device
    parts: tuple[PlanPart, ...]  #: parts of every floorplan that the card's pins hold in place

    @property
    def constraints(self) -> Path:
        """Return the folder of the card's table of pins and of its templates."""
        return CONSTRAINTS / self.name

    @property
    def designs(self) -> dict[str, BoardDesign]:
        """Return the designs that have a top for this card, by name."""
        return {
            name: BoardDesign(design, design.cards[self.name])
            for name, design in designs().items()
            if self.name in design.cards
        }

    def find(self, name: str, core_mhz: float | None = None) -> BoardDesign:
        """Return what design ``name`` becomes on the card; raise UserError if it has no top."""
        design = find_design(name)
        if self.name in design.cards:
            return BoardDesign(design, design.cards[self.name], core_mhz)
        instead = f"; use {design.within}, which holds it" if design.within else ""
        raise UserError(f"{name} alone has no top for the {self.name}{instead}")

    def plan(self, design: Design, params: Any) -> Plan:
        """Return the floorplan parts of a top around ``design``: the design's, then the card's."""
        inside = load(design.plan)(params, CORE) if design.plan else ()
        return Plan(parts=(*inside, *self.parts))


def find_board(name: str) -> Board:
    """Return the card of that name; raise UserError if there is none."""
    if name not in BOARDS:
        raise unknown("board", name, BOARDS)
    return BOARDS[name]


U280_BOARD = Board(
    name="u280",
    about="AMD Alveo U280: HBM, two QSFP28 cages, PCI Express",
    device=U280,
    # beside the cages' transceivers, if a design has any; all else is beside HBM and PCI Express
    parts=(PlanPart(name="cages", cells=("mac_*", "cages_*"), slr=2, optional=True),),
)

BOARDS: Mapping[str, Board] = {U280_BOARD.name: U280_BOARD}
