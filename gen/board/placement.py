"""Estimates what a design takes of a card, and chooses the SLR of each of its units."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gen.base.emission.emit import Emission
from gen.board.black_boxes import with_boxes
from gen.board.boards import Board
from gen.designs.design import Design

if TYPE_CHECKING:
    from gen.synth.synthesis import Synthesis


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Holds a floorplan as text: constraints and a drawing."""

    xdc: str
    svg: str


def estimated(
    emission: Emission, progress: Callable[[str], None], cache: Any, jobs: int | None = None
) -> "Synthesis":
    """Estimate the resources of a design, the vendor's IP left out.

    The first time this takes minutes. What has been estimated before is found in ``cache``, a
    function such as :func:`sim.harness.cache.cached_folder`.
    """
    from gen.synth.synthesis import synthesise

    def mapped(done: int, of: int, name: str) -> None:
        progress(f"estimated {done} of {of} modules, {name}")

    return synthesise(with_boxes(emission), cache, mapped, jobs)


def place(
    emission: Emission, board: Board, design: Design, synthesis: "Synthesis"
) -> tuple[Placement | None, list[str]]:
    """Return the floorplan of ``design`` on ``board``, if any, and a line for each misfit."""
    from gen.floorplan.drawing import to_svg
    from gen.floorplan.model import FloorplanError
    from gen.floorplan.parts import floorplan
    from gen.floorplan.pblocks import to_xdc
    from gen.synth.device import fits

    misfits = list(fits(synthesis.total, board.device))
    try:
        parts = board.plan(design, emission.top.component.params)
        plan = floorplan(emission, synthesis, board.device, parts)
    except FloorplanError as error:
        return None, [*misfits, f"no floorplan: {error}"]
    return Placement(xdc=to_xdc(plan), svg=to_svg(plan)), misfits
