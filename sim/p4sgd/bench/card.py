"""Measures what the u280 preset's worker takes of its card, and how long that estimate takes."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim.bench.limits import CPU, Limit, Row
from sim.bench.synth import synth

MAX_SECONDS = Limit(300)
MAX_SECONDS_AGAIN = Limit(30)
MAX_LUT, MAX_FF, MAX_DSP = Limit(12_000), Limit(20_000), Limit(512)
MAX_URAM = Limit(96)  #: an eighth of what the floorplan may use, of 2 M features at 4 bits in all
#: The authors' own engine in the same Yosys, and an eighth of P4SGD's Table III, by Vivado.
AUTHORS = {"luts": 26_900, "ff": 49_500, "dsp": 512, "uram": 66}
PAPER = {"luts": 188_000 // 8, "ff": 904_000 // 8, "dsp": 4_096 // 8}
MAX_LEVELS, MAX_CHAINS, MAX_CARRY = Limit(6), Limit(1), Limit(64)


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Estimate worker and engine as a user does, with an empty cache and again."""
    with tempfile.TemporaryDirectory(prefix="ingather-bench-") as folder:
        progress("estimating the u280 worker from nothing")
        first, worker = synth("p4sgd-worker", cache=Path(folder))
        progress("estimating the u280 worker again")
        again, repeated = synth("p4sgd-worker", cache=Path(folder))
        progress("estimating an engine")
        _, engine = synth("p4sgd-engine", cache=Path(folder))
    if repeated != worker:
        raise RuntimeError("two estimates of one design differ")
    return [*times(first, again, worker), *sizes(engine)]


def times(first: float, again: float, worker: dict[str, Any]) -> list[Row]:
    """Return how long the worker's estimates took, and whether the card has room for it."""
    count = len(worker["modules"])
    return [
        Row(
            what="worker, estimated from nothing",
            value=first,
            unit=CPU,
            limit=MAX_SECONDS,
            note=f"{count} distinct modules",
        ),
        Row(what="worker, nothing changed", value=again, unit=CPU, limit=MAX_SECONDS_AGAIN),
        Row(what="worker: kinds that the card lacks", value=len(worker["lacks"]), limit=Limit(0)),
    ]


def sizes(engine: dict[str, Any]) -> list[Row]:
    """Return the resources of an engine, against its limits."""
    total, depth = engine["total"], engine["depth"]
    amounts = (
        ("LUT, LUTRAM, SRL", "luts", MAX_LUT),
        ("FF", "ff", MAX_FF),
        ("DSP48E2", "dsp", MAX_DSP),
        ("URAM288", "uram", MAX_URAM),
    )
    return [
        *(
            Row(what=f"engine: {what}", value=total[kind], limit=most, note=beside(kind))
            for what, kind, most in amounts
        ),
        Row(what="engine: BRAM18", value=total["bram18"]),
        Row(what="engine: LUTs on any path", value=depth["most_levels"], limit=MAX_LEVELS),
        Row(what="engine: carry chains on any path", value=depth["most_chains"], limit=MAX_CHAINS),
        Row(what="engine: bits of a chain", value=depth["most_carry"], limit=MAX_CARRY),
    ]


def beside(kind: str) -> str:
    """Return what the authors' engine takes of a resource."""
    authors = f"authors' RTL {AUTHORS[kind]:,}"
    return f"{authors}; paper {PAPER[kind]:,}" if kind in PAPER else authors
