"""Judges for ``make bench`` whether every design, in its card's top, is fit for its clocks."""

from collections.abc import Callable, Mapping
from typing import Any

from gen.designs.catalogue import designs
from gen.shells.shells import SHELLS
from gen.synth.device import TITLES
from gen.synth.limits import MAX_CHAINS, MAX_FAN_OUT, most_levels, path_ns
from sim.bench.limits import Limit, Row
from sim.bench.synth import synth

#: Earlier estimates of designs at the card's preset, for comparison: before paths were shortened
#: for 250 MHz, and for SwitchGNN's switch before its lanes were spread over two dies.
BEFORE: Mapping[str, Mapping[str, int]] = {
    "p4sgd-worker": {"most_chains": 2},
    "switchgnn-switch": {"luts": 90_725, "ff": 144_012, "bram18": 321, "uram": 464, "dsp": 0},
}
LEAST = "tiny"  #: preset for simulations
CORE = "sync"  #: name of the core's clock
#: MHz of the core's clock that these must allow beyond the one that they are built with
FASTER: Mapping[str, float] = {"p4sgd-worker": 300}
FASTER_KERNELS: Mapping[str, float] = {**FASTER, "p4sgd-switch": 300}  #: the same, of kernels


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Estimate every design by itself, in shells, and on cards at all presets named after them.

    By itself it has its own preset, unless that is the least one, for simulations; there and in
    shells clocks alone are judged. What has been estimated before is found in the cache.
    """
    result = []
    for name, design in designs().items():
        if not design.within and design.preset != LEAST:
            progress(f"estimating {name}")
            _, figures = synth(name)
            result += levels(f"{name} by itself, {design.preset}", figures, FASTER.get(name, 0))
        for card, entry in design.cards.items():
            named = (preset for preset in entry.presets if preset.startswith(card))
            for preset in dict.fromkeys((entry.preset, *named)):
                progress(f"estimating {name} on {preset}")
                _, figures = synth(name, preset=preset, card=card)
                before = BEFORE.get(name, {}) if preset == entry.preset else {}
                core_mhz = FASTER.get(name, 0) if preset == entry.preset else 0
                result += judged(f"{name} on {preset}", figures, before, core_mhz)
        for shell in design.shells:
            progress(f"estimating {name} for {shell}")
            _, figures = synth(name, shell=shell)
            core_mhz = FASTER_KERNELS.get(name, 0) if SHELLS[shell].platforms else 0
            result += levels(f"{name} for {shell}", figures, core_mhz)
    return result


def judged(
    name: str, figures: dict[str, Any], before: Mapping[str, int], core_mhz: float = 0
) -> list[Row]:
    """Return the rows of a design, from the ``figures`` that ``synth --card`` gives.

    The note of a row gives the earlier figure where ``before`` has one, by the name of ``figures``.
    The core's clock is judged at ``core_mhz`` if that is more than its own.
    """
    depth = figures["depth"]
    nets = [net | {"module": m["name"]} for m in figures["modules"] for net in m["crowded"]]
    worst = max(nets, key=lambda net: net["loads"], default=None)
    where = f"{worst['driver']} of {worst['module']}" if worst else ""
    return [
        *levels(name, figures, core_mhz),
        Row(
            what=f"{name}: carry chains on any path",
            value=depth["most_chains"],
            limit=Limit(MAX_CHAINS),
            note=beside(before, "most_chains"),
        ),
        Row(
            what=f"{name}: wires of more than {MAX_FAN_OUT:,} loads without a flip-flop",
            value=len(nets),
            limit=Limit(0),
            note=beside(before, "crowded", where),
        ),
        Row(
            what=f"{name}: registers that a wire resets",
            value=figures["reset"]["resets"],
            note=f"{figures['reset']['driver']} of {figures['reset']['module']}",
        ),
        Row(
            what=f"{name}: wires between dies without registers",
            value=len(figures["crossings"]),
            limit=Limit(0),
            note="; ".join(figures["crossings"]),
        ),
        *(
            Row(
                what=f"{name}: {title}",
                value=figures["total"][kind],
                note=beside(before, kind),
            )
            for kind, title in TITLES.items()
        ),
    ]


def levels(name: str, figures: dict[str, Any], core_mhz: float = 0) -> list[Row]:
    """Return a row for each clock that a path has, and one for what the core's clock could be."""
    result = []
    for clock in figures["clocks"]:
        core, taken = clock["name"] == CORE, clock["depth"]["most_levels"]
        mhz = max(clock["mhz"], core_mhz) if core else clock["mhz"]
        if clock["path"]:
            what = f"{name}: levels on any path of clock {clock['name']}, {mhz:g} MHz"
            limit = Limit(most_levels(mhz))
            result.append(Row(what=what, value=taken, limit=limit, note=clock["path"]))
        if core:
            what = f"{name}: MHz that the paths of the core's clock allow"
            result.append(Row(what=what, value=int(1000 / path_ns(taken))))
    return result


def beside(before: Mapping[str, int], kind: str, note: str = "") -> str:
    """Return ``note``, with the earlier value of the figure in front of it if there is one."""
    return "; ".join(filter(None, [f"{before[kind]:,} before" if kind in before else "", note]))
