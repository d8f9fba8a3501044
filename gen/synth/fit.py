"""Says whether a design fits a device, beside the shell."""

from gen.synth.device import FILL, LIMITED, Device
from gen.synth.resources import Resources

#: names of the resources as people call them
TITLES = {"luts": "LUT", "ff": "FF", "bram18": "BRAM18", "uram": "URAM", "dsp": "DSP"}


def free_of(device: Device) -> dict[str, int]:
    """Return what the shell leaves of each limited kind in all SLRs together."""
    return {kind: sum(slr.free[kind] for slr in device.slrs) for kind in LIMITED}


def fits(total: Resources, device: Device) -> list[str]:
    """Return a line for each kind of which ``total`` needs more than the shell leaves."""
    lines = []
    for kind, free in free_of(device).items():
        needs = getattr(total, kind)
        if needs > free:
            lines.append(
                f"does not fit {device.name}: {TITLES[kind]} needs {needs:,}, {free:,} are free,"
                f" {needs - free:,} too many"
            )
    return lines


def crowded(total: Resources, device: Device) -> list[str]:
    """Return a line for each kind that fits, but fills the device too much to be placed easily."""
    lines = []
    for kind in LIMITED:
        offers, needs = getattr(device.offers, kind), getattr(total, kind)
        filled = needs + getattr(device.shell, kind)
        if filled * 100 > FILL[kind] * offers and needs <= free_of(device)[kind]:
            lines.append(
                f"{TITLES[kind]}: {filled * 100 / offers:.0f} % of {device.name} with the shell;"
                f" beyond {FILL[kind]} % placement is hard"
            )
    return lines
