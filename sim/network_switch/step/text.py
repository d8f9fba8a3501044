"""Says in words what a run of training steps measured: cycles by stage, and what overlaps."""

from collections.abc import Iterator, Mapping

from sim.network_switch.step.compute import FORMULA
from sim.network_switch.step.timeline import NAMES, PAIRS, STAGES


def measured(figures: Mapping[str, float], rate: int) -> Iterator[str]:
    """Yield lines on an epoch's cycles and overlaps; ``rate``: multiply-adds of a cycle."""
    stages = ", ".join(f"{NAMES[name]} {figures[f'{name}_cycles']:,.0f}" for name in STAGES)
    yield (
        f"an epoch takes {figures['step_cycles']:,.0f} cycles of the RTL; of a worker, on average:"
        f" {stages}"
    )
    yield (
        f"in {figures['host_cycles']:,.0f} of them hosts write and read memories beside the buses,"
        f" and start jobs; compute takes {figures['compute_cycles']:,.0f} more, which are not"
        f" simulated: {FORMULA}, R = {rate:,} a cycle"
    )
    both, apart = [], []
    for name, pair in PAIRS.items():
        words = " and ".join(NAMES[stage] for stage in pair)
        shorter = min(figures[f"{stage}_cycles"] for stage in pair)
        if figures[name]:
            both.append(f"{words} {figures[name]:,.0f} ({figures[name] / shorter:.0%})")
        else:
            apart.append(words)
    yield f"cycles in which both work, and their share of the shorter: {'; '.join(both) or 'none'}"
    yield f"never at the same time: {'; '.join(apart) or 'none'}"
