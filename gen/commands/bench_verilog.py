"""Measures for ``make bench`` how readable the Verilog of every design is, at the card's preset."""

import re
from collections.abc import Callable, Iterable

from gen.base.emission.verilog.naming import WORDS
from gen.base.emission.verilog.sources import COLUMNS
from gen.designs.catalogue import designs
from sim.bench.limits import Limit, Row
from sim.harness.emissions import emission_of

PRESET = "u280"
MOST_MADE_UP = Limit(20)
#: most lines of Verilog, for a design and for a module of it
MOST_LINES = {"netsparse-snic": Limit(27_000), "pending_table_256x32_w16_t2": Limit(800)}

ASSIGNED = re.compile(r"^ *assign (\\\S+|[\w$]+)", re.M)
#: what ends a name that the writer made up for a value without a signal of its own
MADE_UP = re.compile(rf"_(?:{'|'.join(sorted({*WORDS.values(), 'elements'}))})(?:_\d+)?$")


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Emit every design; what has been emitted before is found in the cache."""
    found = []
    for name, design in designs().items():
        if design.within or PRESET not in design.presets:
            continue
        progress(f"emitting {name}")
        emission = emission_of(design.make(design.params_of(PRESET)), generated=True)
        texts = {module.name: module.verilog for module in emission.modules.values()}
        found += judged(name, texts.values())
        found += [
            Row(what=f"{module}: lines", value=texts[module].count("\n"), limit=limit)
            for module, limit in MOST_LINES.items()
            if module in texts
        ]
    return found


def judged(name: str, texts: Iterable[str]) -> list[Row]:
    """Return the rows of a design of these modules."""
    verilog = "".join(texts)
    names = ASSIGNED.findall(verilog)
    made_up = sum(MADE_UP.search(one) is not None for one in names)
    return [
        Row(what=f"{name}: lines", value=verilog.count("\n"), limit=MOST_LINES.get(name)),
        Row(
            what=f"{name}: longest line",
            value=max(map(len, verilog.splitlines())),
            unit="columns",
            limit=Limit(COLUMNS),
        ),
        Row(
            what=f"{name}: assignments to names that no Python gives",
            value=100 * made_up / max(1, len(names)),
            unit="%",
            limit=MOST_MADE_UP,
            note=f"{made_up:,} of {len(names):,}",
        ),
    ]
