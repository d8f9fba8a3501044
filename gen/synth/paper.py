"""Compares what papers report of their hardware with the estimate of ours."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gen.synth.resources import Resources
from gen.synth.synthesis import ModuleEstimate, Synthesis

URAM_BITS, BRAM18_BITS = 288 * 1024, 18 * 1024
MEGABIT = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Compares a part of a design, by column, with the paper's; None where a figure is missing."""

    part: str
    paper: Mapping[str, float | None]
    own: Mapping[str, float | None]

    def describe(self) -> dict[str, Any]:
        """Return the comparison as an object of JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """Holds the comparisons of an estimate with one table of the paper."""

    title: str
    rows: tuple[Comparison, ...]

    def describe(self) -> dict[str, Any]:
        """Return the comparisons as an object of JSON."""
        return {"title": self.title, "rows": [row.describe() for row in self.rows]}


def table_three(lut: float, ff: float, megabits: float, dsp: float) -> dict[str, float]:
    """Return a row of P4SGD's Table III: thousands of LUT and FF, Mb of RAM, DSPs."""
    return {"LUT K": lut, "FF K": ff, "RAM Mb": megabits, "DSP": dsp}


def own_as_table_three(use: Resources) -> dict[str, float]:
    """Return the same columns of an estimate; RAM is what the blocks hold, used or not."""
    bits = use.uram * URAM_BITS + use.bram18 * BRAM18_BITS
    megabits = round(bits / MEGABIT, 2)
    return table_three(round(use.luts / 1000, 1), round(use.ff / 1000, 1), megabits, use.dsp)


def p4sgd(synthesis: Synthesis) -> Comparisons | None:
    """Compare with P4SGD's Table III; per engine if there are not eight of them."""
    engines, transports = synthesis.of_class("Engine"), synthesis.of_class("Transport")
    if not engines or not transports:
        return None

    def total(modules: list[ModuleEstimate]) -> dict[str, float]:
        parts = (module.count * synthesis.inclusive(module.name) for module in modules)
        return own_as_table_three(sum(parts, Resources()))

    count = sum(module.count for module in engines)
    paper = [
        ("8 engines", table_three(188, 904, 152, 4096)),
        ("network transport", table_three(10, 27, 3.5, 0)),
        ("HBM subsystem", table_three(7, 42, 3.26, 0)),
        ("PCI-Express", table_three(63, 98, 4.3, 0)),
    ]
    estimated = [total(engines), total(transports), {}, {}]
    if sets := synthesis.of_class("EngineSet"):  # each has an engine of every class
        classes = count // sum(module.count for module in sets)
        paper.append((f"a class, of {classes}", {}))
        estimated.append({name: round(of / classes, 2) for name, of in total(sets).items()})
    name = f"8 engines (ours: {count})" if count != 8 else "8 engines"
    return Comparisons(
        title="P4SGD, Table III (the vendor's IP for HBM and PCI-Express is not estimated)",
        rows=tuple(
            Comparison(part=name if i == 0 else part, paper=figures, own=own)
            for i, ((part, figures), own) in enumerate(zip(paper, estimated, strict=True))
        ),
    )


#: NetSparse's Table 9: per cent of a RIG unit's area
AREA = {"Idx buffer": 12, "Pending PR Table": 53, "Property buffer": 12, "LSQ": 10, "Rest": 13}
#: structures by the classes from the unit down to them; the longest that matches counts
STRUCTURES = {
    ("RigUnit", "IdxFetch", "Fifo"): "Idx buffer",
    ("RigUnit", "Client", "PendingTable"): "Pending PR Table",
    ("RigUnit", "Fifo"): "Property buffer",
    ("RigUnit", "Client", "FilterPort"): "LSQ",
    ("RigUnit", "RigControl"): "Rest: control",
    ("RigUnit", "IdxFetch"): "Rest: idx fetch",
    ("RigUnit", "Client"): "Rest: idx pipeline",
    ("RigUnit", "ResponseMatch"): "Rest: responses",
    ("RigUnit", "Server"): "Rest: server",
    ("RigUnit", "WriteBack"): "Rest: write-back",
    ("RigUnit",): "Rest: between them",
}


#: those of a SNIC that figure 20 shows, whose bars have no numbers
EXTENSIONS = {
    ("Snic", "RigUnit"): "SNIC: RIG units",
    ("Snic", "FilterCache", "UnitCache"): "SNIC: L1",
    ("Snic", "FilterCache"): "SNIC: L2",
    ("Snic", "Concatenator"): "SNIC: concatenation",
    ("Snic", "Deconcatenator"): "SNIC: deconcatenation",
}
STORED = {"memory MB": 3.5}  #: of all extensions of a SNIC (section 9.5)


def compared(
    synthesis: Synthesis,
    root: ModuleEstimate,
    structures: Mapping[tuple[str, ...], str],
    paper: Mapping[str, Mapping[str, float | None]],
) -> list[Comparison]:
    """Return a row for each structure in ``root``; "a: b" counts as "a", too."""
    names = dict.fromkeys([*paper, *structures.values()])
    amounts = {name: {"LUT": 0.0, "FF": 0.0, "memory": 0.0} for name in names}

    def add(module: ModuleEstimate, path: tuple[str, ...], times: int) -> None:
        starts = (path[:n] for n in range(len(path), 0, -1))
        if name := next((structures[start] for start in starts if start in structures), ""):
            bits = sum(memory.bits * memory.depth for memory in module.memories)
            figures = {"LUT": module.own.luts, "FF": module.own.ff, "memory": bits}
            for where in {name, name.partition(":")[0]}:
                for column, figure in figures.items():
                    amounts[where][column] += times * figure
        for child, count in module.children.items():
            below = synthesis.modules[child]
            add(below, (*path, below.component), times * count)

    add(root, (root.component,), 1)
    whole = {
        column: sum(amounts[name][column] for name in paper) for column in ("LUT", "FF", "memory")
    }
    return [
        Comparison(
            part=name,
            paper=paper.get(name, {}),
            own={f"{column} %": percent(figure, whole[column]) for column, figure in own.items()}
            | {"memory MB": round(own["memory"] / 8 / MEGABIT, 3)},
        )
        for name, own in amounts.items()
    ]


def netsparse(synthesis: Synthesis) -> Comparisons | None:
    """Compare with NetSparse's Table 9 and figure 20: shares of a RIG unit, and of a SNIC."""
    units = synthesis.of_class("RigUnit")
    if not units:
        return None
    areas = {name: {"area %": share} for name, share in AREA.items()}
    rows = compared(synthesis, units[0], STRUCTURES, areas)
    for snic in synthesis.of_class("Snic"):
        rows += compared(synthesis, snic, EXTENSIONS, {"SNIC": STORED})
    return Comparisons(
        title=f"NetSparse, Table 9: shares of a RIG unit ({units[0].name}); figure 20: of a SNIC",
        rows=tuple(rows),
    )


def percent(part: float, whole: float) -> float:
    """Round a percentage to a tenth."""
    return round(100 * part / whole, 1) if whole else 0.0
