"""Estimates metrics by synthesis."""

from typing import Any

METRICS = {
    "luts": "LUTs of either use",
    "lut": "LUTs that compute",
    "lutram": "LUTs that are memory or shift registers",
    "ff": "registers",
    "carry": "CARRY8",
    "dsp": "DSP48E2",
    "bram18": "halves of a RAMB36",
    "uram": "URAM288",
    "levels": "LUTs on the worst path between registers",
    "chains": "carry chains on that path",
    "fits": "1 if it fits a U280 beside the shell, else 0",
    "fill": "of the resource that is scarcest, what is taken of what a U280 has free beside the"
    " shell",
}


def estimate(component: Any) -> dict[str, float]:
    """Return all METRICS of a component."""
    from dataclasses import asdict

    from gen.synth.device import U280, fits, free_of
    from gen.synth.synthesis import synthesise
    from sim.harness.cache import cached_folder
    from sim.harness.emissions import emission_of

    synthesis = synthesise(emission_of(component, generated=True), cached_folder)
    total, depth = synthesis.total, synthesis.depth
    free = free_of(U280)
    return {
        "luts": total.luts,
        **asdict(total),
        "levels": depth.levels,
        "chains": depth.chains,
        "fits": float(not fits(total, U280)),
        "fill": max(getattr(total, kind) / free[kind] for kind in free),
    }
