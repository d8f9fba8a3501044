"""Generates a design's folder, from the design's name to the last file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gen.base.emission.emit import Emission
from gen.base.errors import UserError, unknown
from gen.board import placement
from gen.board.black_boxes import with_boxes
from gen.board.boards import BOARDS, BoardDesign, find_board
from gen.designs.design import Design
from gen.output.folder import written_whole
from gen.output.manifest import write_design
from gen.packages import require
from gen.shells.shells import SHELLS, Shell
from gen.synth.device import fits
from hdl.common.core_clock import CORE_MHZ
from sim.harness.cache import cached_folder
from sim.harness.emissions import emission_of
from sim.reproduce.outcomes import stored


@dataclass(frozen=True, kw_only=True)
class Generated:
    """Reports what has been written."""

    emission: Emission
    files: Sequence[str] = field(repr=False)  #: names relative to the folder
    size: int  #: bytes of all files
    misfits: Sequence[str]  #: what does not fit the card, a line each


@dataclass(frozen=True, kw_only=True)
class Order:
    """Says what to generate: a design with its parameters, alone or on a card."""

    design: Design
    board: str | None = None  #: a card to build for: adds its top, Tcl and XDC
    core_mhz: float | None = None  #: clock of the core on the card, if it is not the usual one
    platform: str | None = None  #: a shell's card, if it is not the usual one
    preset: str = ""  #: name; if empty, the default of the design or of its top
    changes: Mapping[str, Any]  #: parameters that differ from the preset's
    estimate: bool | None = None  #: whether to synthesise; None: only for a card
    strict: bool = False  #: UserError, and nothing is written, if it does not fit the card
    sources: bool = True  #: whether comments name the lines of Python that the Verilog comes from

    @property
    def target(self) -> Design | BoardDesign:
        """Return the object that has presets and is made: the design, or its top on the card."""
        if self.board is None:
            return self.design
        if self.shell is not None:
            return self.shell.find(self.design.name)
        if self.board not in BOARDS:
            raise unknown("board", self.board, [*BOARDS, *SHELLS])
        return find_board(self.board).find(self.design.name, self.core_mhz)

    @property
    def shell(self) -> Shell | None:
        """Return the shell that it is for, in place of a card, or None."""
        return SHELLS.get(self.board or "")

    @property
    def preset_name(self) -> str:
        """Return the name of the preset, or of the usual one if none was named."""
        return self.preset or self.target.preset

    def params(self) -> Any:
        """Return the parameters; raise UserError if one is illegal."""
        from gen.base.settings import make_params

        presets = self.target.settings_of(self.preset_name)
        return make_params(self.design.params_class, presets, self.changes)

    def check(self) -> None:
        """Raise UserError for an illegal parameter, or options of the command that do not fit."""
        if self.board is None and self.strict:
            raise UserError("--strict needs --board: without a card there is nothing to fit")
        if self.board is None and self.core_mhz is not None:
            raise UserError("--core-mhz needs --board: without a card you give the clock")
        if self.strict and self.estimate is False:
            raise UserError("--strict needs the estimate that --no-estimate leaves out")
        if self.shell and self.strict:
            raise UserError("--strict is for cards: the shell has the floorplan")
        if self.shell and self.core_mhz is not None and not self.shell.platforms:
            raise UserError(f"--core-mhz is for cards and kernels: {self.board} gives the clock")
        if self.platform is not None and not (self.shell and self.shell.platforms):
            raise UserError("--platform needs --board vitis: only kernels are linked for a card")
        self.params()


def generate(
    order: Order, output: Path, progress: Callable[[str], None] = lambda text: None
) -> Generated:
    """Write all files of ``order`` into the folder ``output``, or none of them.

    Raises UserError for parameters that are illegal, for a card that has no room, and for a folder
    that holds something else; ``progress`` hears what is going on.
    """
    shell = order.shell
    card = None if order.board is None or shell else find_board(order.board)
    if card is not None or shell is not None:
        floorplan = () if order.estimate is False or shell else ("highspy",)
        require("generate --board", "pyslang", *floorplan)
    component = order.target.make(order.params())
    if shell is not None:
        shell.check(order.design.name, component, order.platform)
    emission = emission_of(
        component, generated=True, progress=lambda name: progress(f"elaborating {name}")
    )
    synthesis, placed, misfits = None, None, []
    if card is not None if order.estimate is None else order.estimate:
        synthesis = placement.estimated(emission, progress, cached_folder)
    if card is not None and synthesis is not None:
        placed, misfits = placement.place(emission, card, order.design, synthesis)
    if shell is not None and synthesis is not None:
        synthesis = synthesis.clocked(order.core_mhz or CORE_MHZ)
        misfits = [*fits(synthesis.total, shell.device), *synthesis.too_slow()]
    resources = None if synthesis is None else synthesis.describe()
    if order.strict and misfits:
        raise UserError("; ".join(misfits))
    with written_whole(output) as folder:
        files = write_design(
            folder,
            emission if card is None else with_boxes(emission),
            design=order.design.name,
            preset=order.preset_name,
            settings=order.changes,
            sources=order.sources,
            stored=stored,
            resources=resources,
            mhz=order.core_mhz if shell else None,
        )
        if card is not None:
            from gen.board.package import write_package

            files |= write_package(folder, emission, card, order.design, placed, resources)
        if shell is not None:
            chosen = (order.platform, order.core_mhz or CORE_MHZ, synthesis)
            files |= shell.write(folder, emission, order.design, chosen=chosen)
        size = sum((folder / name).stat().st_size for name in files)
    return Generated(emission=emission, files=list(files), size=size, misfits=misfits)
