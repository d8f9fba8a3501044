"""Measures for ``make bench`` how readable the Verilog of every design is, at the card's preset."""

import re
from collections.abc import Callable, Iterable

from gen.base.emission.verilog.naming import WORDS
from gen.base.emission.verilog.sources import COLUMNS
from gen.designs.catalogue import designs
from sim.bench.limits import Limit, Row
from sim.harness.emissions import emission_of

PRESET = "u280"
MAX_INVENTED = Limit(20)
#: most lines of Verilog, for a design and for a module of it
MAX_LINES = {"netsparse-snic": Limit(27_000), "pending_table_256x32_w16_t2": Limit(800)}

ASSIGNED = re.compile(r"^ *assign (\\\S+|[\w$]+)", re.M)
#: what ends a name that the writer made up for a value without a signal of its own
INVENTED = re.compile(rf"_(?:{'|'.join(sorted({*WORDS.values(), 'elements'}))})(?:_\d+)?$")


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Emit every design; what has been emitted before is found in the cache."""
    result = []
    for name, design in designs().items():
        if design.within or PRESET not in design.presets:
            continue
        progress(f"emitting {name}")
        emission = emission_of(design.make(design.params_of(PRESET)), generated=True)
        texts = {module.name: module.verilog for module in emission.modules.values()}
        result += judged(name, texts.values())
        result += [
            Row(what=f"{module}: lines", value=texts[module].count("\n"), limit=limit)
            for module, limit in MAX_LINES.items()
            if module in texts
        ]
    return result


def judged(name: str, texts: Iterable[str]) -> list[Row]:
    """Return the rows of a design of these modules."""
    verilog = "".join(texts)
    names = ASSIGNED.findall(verilog)
    invented = sum(INVENTED.search(item) is not None for item in names)
    return [
        Row(what=f"{name}: lines", value=verilog.count("\n"), limit=MAX_LINES.get(name)),
        Row(
            what=f"{name}: longest line",
            value=max(map(len, verilog.splitlines())),
            unit="columns",
            limit=Limit(COLUMNS),
        ),
        Row(
            what=f"{name}: assignments to names that no Python gives",
            value=100 * invented / max(1, len(names)),
            unit="%",
            limit=MAX_INVENTED,
            note=f"{invented:,} of {len(names):,}",
        ),
    ]
