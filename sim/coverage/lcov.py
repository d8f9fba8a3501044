"""Writes coverage as lcov's tracefile, which genhtml and editors read, beside its Verilog."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sim.coverage.data import Place
from sim.coverage.exclusions import Rule
from sim.coverage.merge import Module, rule_for_place

SOURCES = "rtl"  #: folder of the modules' Verilog, beside the tracefile
TRACEFILE = "coverage.lcov"
SPAN = re.compile(r"(\d+)(?:-(\d+))?")
SIDES = {"if": 0, "else": 1, "cond_then": 0, "cond_else": 1}


def write(modules: Mapping[str, Module], rules: Sequence[Rule], folder: Path) -> Path:
    """Write the tracefile and the Verilog of ``modules`` into ``folder``; excluded points are out.

    A line has the hits of the point that names it, the largest of several. Branches are numbered
    by their column; its sides are 0 and 1.
    """
    (folder / SOURCES).mkdir(parents=True, exist_ok=True)
    records = []
    for file, module in named(modules.values()):
        (folder / SOURCES / file).write_text(module.source.text + "\n")
        own = [rule for rule in rules if rule.is_for(module.component)]
        records += [f"TN:{module.component}", f"SF:{SOURCES}/{file}", *record(module, own)]
        records.append("end_of_record")
    path = folder / TRACEFILE
    path.write_text("\n".join(records) + "\n" * bool(records))
    return path


def named(modules: Iterable[Module]) -> Iterator[tuple[str, Module]]:
    """Yield each module with a file name of its own; equal names are numbered."""
    counts: dict[str, int] = defaultdict(int)
    for module in modules:
        counts[module.source.name] += 1
        number = counts[module.source.name]
        yield module.source.name + (f"-{number}" if number > 1 else "") + ".v", module


def record(module: Module, rules: Sequence[Rule]) -> Iterator[str]:
    """Yield the lines of a module's record, those between SF and end_of_record."""
    lines: dict[int, int] = {}
    sides: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for place, hits in sorted(module.places.items()):
        if rule_for_place(place, module, rules) is not None:
            continue
        for line in covered(place):
            lines[line] = max(hits, lines.get(line, 0))
        if place.what in SIDES:
            side = SIDES[place.what]
            # Verilator writes the sides in columns side by side.
            sides[place.line, place.column - side][side] = hits
    pairs = {at: both for at, both in sides.items() if len(both) == 2}
    for (line, block), both in pairs.items():
        yield from (f"BRDA:{line},{block},{side},{both[side]}" for side in (0, 1))
    yield f"BRF:{2 * len(pairs)}"
    yield f"BRH:{sum(hits > 0 for both in pairs.values() for hits in both.values())}"
    yield from (f"DA:{line},{hits}" for line, hits in sorted(lines.items()))
    yield f"LF:{len(lines)}"
    yield f"LH:{sum(map(bool, lines.values()))}"


def covered(place: Place) -> Iterator[int]:
    """Yield the numbers of a place's lines, counted from the module's first."""
    for first, last in SPAN.findall(place.lines):
        yield from range(int(first), int(last or first) + 1)
