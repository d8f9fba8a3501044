"""Judges for ``make bench`` whether every design, in its card's top, is fit for its clocks."""

from collections.abc import Callable, Mapping
from typing import Any

from gen.designs.catalogue import designs
from gen.synth.device import TITLES
from gen.synth.limits import MAX_CHAINS, MAX_FAN_OUT
from sim.bench.limits import Limit, Row
from sim.bench.synth import synth

#: Earlier estimates of designs at the card's preset, for comparison: before paths were shortened
#: for 250 MHz, and for SwitchGNN's switch before its lanes were spread over two dies.
BEFORE: Mapping[str, Mapping[str, int]] = {
    "p4sgd-worker": {"most_chains": 2},
    "switchgnn-switch": {"luts": 90_725, "ff": 144_012, "bram18": 321, "uram": 464, "dsp": 0},
}
LEAST = "tiny"  #: preset for simulations


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Estimate every design by itself, and on its cards at all presets that are named after them.

    By itself it has its own preset, unless that is the least one, for simulations, and clocks alone
    are judged. What has been estimated before is found in the cache.
    """
    result = []
    for name, design in designs().items():
        if not design.within and design.preset != LEAST:
            progress(f"estimating {name}")
            _, figures = synth(name)
            result += levels(f"{name} by itself, {design.preset}", figures)
        for card, entry in design.cards.items():
            named = (preset for preset in entry.presets if preset.startswith(card))
            for preset in dict.fromkeys((entry.preset, *named)):
                progress(f"estimating {name} on {preset}")
                _, figures = synth(name, preset=preset, card=card)
                before = BEFORE.get(name, {}) if preset == entry.preset else {}
                result += judged(f"{name} on {preset}", figures, before)
    return result


def judged(name: str, figures: dict[str, Any], before: Mapping[str, int]) -> list[Row]:
    """Return the rows of a design, from the ``figures`` that ``synth --card`` gives.

    The note of a row gives the earlier figure where ``before`` has one, by the name of ``figures``.
    """
    depth = figures["depth"]
    nets = [net | {"module": m["name"]} for m in figures["modules"] for net in m["crowded"]]
    worst = max(nets, key=lambda net: net["loads"], default=None)
    where = f"{worst['driver']} of {worst['module']}" if worst else ""
    return [
        *levels(name, figures),
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


def levels(name: str, figures: dict[str, Any]) -> list[Row]:
    """Return a row for each clock that a path has."""
    return [
        Row(
            what=f"{name}: levels on any path of clock {clock['name']}, {clock['mhz']:g} MHz",
            value=clock["depth"]["most_levels"],
            limit=Limit(clock["most_levels"]),
            note=clock["path"],
        )
        for clock in figures["clocks"]
        if clock["path"]
    ]


def beside(before: Mapping[str, int], kind: str, note: str = "") -> str:
    """Return ``note``, with the earlier value of the figure in front of it if there is one."""
    return "; ".join(filter(None, [f"{before[kind]:,} before" if kind in before else "", note]))
