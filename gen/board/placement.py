"""What a design takes of a card, and which SLR its units lie in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gen.board.black_boxes import with_boxes
from gen.board.boards import Board
from gen.emission.emit import Emission

if TYPE_CHECKING:
    from gen.synth.synthesis import Synthesis


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A floorplan as text."""

    xdc: str
    svg: str


def estimated(
    emission: Emission, progress: Callable[[str], None] | None = None, cache: Any = None
) -> "Synthesis":
    """What a design takes, the vendor's IP left out.

    The first time this takes minutes. What has been estimated before is found in ``cache``, a
    function such as :func:`sim.harness.cache.cached_folder`.
    """
    from gen.synth.synthesis import synthesise

    def mapped(done: int, of: int, name: str) -> None:
        if progress is not None:
            progress(f"estimated {done} of {of} modules, {name}")

    return synthesise(with_boxes(emission), progress=mapped, cache=cache)


def place(
    emission: Emission, board: Board, synthesis: "Synthesis"
) -> tuple[Placement | None, list[str]]:
    """The floorplan of a top for ``board``, if there is one; what does not fit, a line each."""
    from gen.floorplan.drawing import to_svg
    from gen.floorplan.model import FloorplanError
    from gen.floorplan.parts import floorplan
    from gen.floorplan.pblocks import to_xdc
    from gen.floorplan.plans import plan_of
    from gen.synth.fit import fits

    misfits = list(fits(synthesis.total, board.device))
    try:
        plan = floorplan(emission, synthesis, board.device, plan_of(emission.top.component))
    except FloorplanError as error:
        return None, [*misfits, f"no floorplan: {error}"]
    return Placement(xdc=to_xdc(plan), svg=to_svg(plan)), misfits
