"""Writes a floorplan as constraints: a pblock for each SLR."""

from gen.floorplan.model import Floorplan
from gen.synth.device import LIMITED

HEADER = """\
# Floorplan for {device} ({part}): a pblock for each SLR, its parts in it.
# A pblock is hard: wires between SLRs have registers where this floorplan has their ends, and
# nowhere else. Logic between the cells named here is the placer's to place.
#
"""


def to_xdc(floorplan: Floorplan) -> str:
    """Return the constraints, one cell a line; equal floorplans give equal text."""
    device = floorplan.device
    text = [HEADER.format(device=device.name, part=device.part)]
    text += [f"# {line}\n" for line in figures(floorplan)]
    blocks = [f"[get_pblocks pblock_{slr.name.lower()}]" for slr in device.slrs]
    for index, (slr, block) in enumerate(zip(device.slrs, blocks, strict=True)):
        text.append(f"\ncreate_pblock pblock_{slr.name.lower()}\n")
        text.append(f"resize_pblock {block} -add {{{slr.name}}}\n")
        text.append(f"set_property IS_SOFT FALSE {block}\n")
        for part in floorplan.parts_of(index):
            text.append(f"# {part.name}\n")
            text += [added(block, cell) for cell in part.cells]
    if floorplan.held:
        text.append("\n# Ways between SLRs; a synchroniser lies with those who read it.\n")
        text += [added(blocks[held.slr], held.cells) for held in floorplan.held]
        text.append("\n# On both sides of an SLR's edge a wire is in a Laguna register.\n")
        text += [
            f"set_property USER_SLL_REG TRUE [get_cells {{{held.cells}}}]\n"
            for held in floorplan.held
            if held.at_edge
        ]
    return "".join(text)


def added(block: str, cells: str) -> str:
    """Return the constraint that puts ``cells`` into a pblock."""
    return f"add_cells_to_pblock {block} [get_cells {{{cells}}}]\n"


def figures(floorplan: Floorplan) -> list[str]:
    """Return lines that tell what each SLR holds, its limits, and the wires between SLRs."""
    device = floorplan.device
    lines = []
    for index, (slr, use) in enumerate(zip(device.slrs, floorplan.use, strict=True)):
        names = ", ".join(part.name for part in floorplan.parts_of(index)) or "nothing"
        lines.append(f"{slr.name}: {names}")
        budget = slr.budget
        amounts = (f"{kind} {getattr(use, kind):,} of {budget[kind]:,}" for kind in LIMITED)
        lines.append(f"  {', '.join(amounts)}")
        if index < len(floorplan.wires):
            far = device.slrs[index + 1].name
            wires, limit = floorplan.wires[index], device.crossing_wires
            lines.append(f"{slr.name}-{far}: {wires:,} of {limit:,} wires")
    return lines
