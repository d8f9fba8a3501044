"""The cards that a design can be built for, and what each design becomes on them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gen.catalogue import Design, Settings, find_design, load
from gen.errors import UserError, unknown
from gen.synth.device import U280, Device

CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints"


@dataclass(frozen=True, kw_only=True)
class Most:
    """What the card sets a limit to."""

    value: int
    because: str  #: half a line for the user


@dataclass(frozen=True, kw_only=True)
class BoardDesign:
    """A design of the catalogue on a card: the top that stands around it."""

    name: str  #: the design's
    component: str  #: module:class of the top, made from the design's parameters
    presets: Mapping[str, Settings] = field(default_factory=dict)  #: added to the design's own
    preset: str  #: the one that is used unless another is named
    most: Mapping[str, Most] = field(default_factory=dict)  #: by parameter

    @property
    def design(self) -> Design:
        """The design without a card."""
        return find_design(self.name)

    def settings_of(self, preset: str) -> Settings:
        """What ``preset`` sets on this card; UserError if there is none of that name."""
        presets = {name: dict(settings) for name, settings in self.design.presets.items()}
        for name, settings in self.presets.items():
            presets[name] = presets.get(name, {}) | dict(settings)
        if preset not in presets:
            raise unknown(f"preset of {self.name}", preset, presets)
        return presets[preset]

    def make(self, params: Any) -> Any:
        """The top for these parameters of the design; UserError if the card has no room."""
        for name, most in self.most.items():
            if (value := getattr(params, name)) > most.value:
                raise UserError(f"{name} can be at most {most.value}, not {value}: {most.because}")
        try:
            return load(self.component)(params)
        except ValueError as error:
            raise UserError(" ".join(str(error).split())) from error


@dataclass(frozen=True, kw_only=True)
class Board:
    """A card: its FPGA, its constraints, the designs that have a top for it."""

    name: str
    about: str  #: what is written of it in half a line
    device: Device
    designs: Mapping[str, BoardDesign]
    instead: Mapping[str, str]  #: designs without a top -> the one that holds them

    @property
    def constraints(self) -> Path:
        """The folder of its table of pins and its templates."""
        return CONSTRAINTS / self.name

    def find(self, design: str) -> BoardDesign:
        """What ``design`` becomes; UserError if there is no top for it."""
        if design in self.designs:
            return self.designs[design]
        if design in self.instead:
            raise UserError(
                f"{design} alone has no top for the {self.name};"
                f" use {self.instead[design]}, which holds it"
            )
        raise unknown(f"top for the {self.name} of", design, self.designs)


def find_board(name: str) -> Board:
    """The card of that name; UserError if there is none."""
    if name not in BOARDS:
        raise unknown("board", name, BOARDS)
    return BOARDS[name]


def by_name(*designs: BoardDesign) -> Mapping[str, BoardDesign]:
    """Designs by their names."""
    return {design.name: design for design in designs}


BOARDS: Mapping[str, Board] = {
    board.name: board
    for board in (
        Board(
            name="u280",
            about="AMD Alveo U280: HBM, two QSFP28 cages, PCI Express",
            device=U280,
            designs=by_name(
                BoardDesign(
                    name="p4sgd-worker",
                    component="hdl.u280.worker_board:WorkerBoard",
                    presets={"u280": {"slrs": 3}},
                    preset="u280",
                ),
                BoardDesign(
                    name="p4sgd-switch",
                    component="hdl.u280.switch_board:SwitchBoard",
                    presets={"u280": {"ports": 2}},
                    preset="u280",
                    most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
                ),
                BoardDesign(
                    name="netsparse-snic",
                    component="hdl.u280.snic_board:SnicBoard",
                    preset="u280",
                ),
            ),
            instead={"p4sgd-engine": "p4sgd-worker"},
        ),
    )
}
