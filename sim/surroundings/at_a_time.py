"""Says how many processes simulate a cluster that may be cut; the module imports little."""

import os

LEAST_CUT_LATENCY = 2  #: cycles of the shortest links that can be cut


def check_cut(processes: int | None, link_latency: int) -> None:
    """Raise ValueError if links are too short for this many processes."""
    if (processes or 1) > 1 and link_latency < LEAST_CUT_LATENCY:
        raise ValueError(
            f"several processes need links of at least {LEAST_CUT_LATENCY} cycles:"
            f" link_latency={link_latency}"
        )


def chosen_processes(processes: int | None, pays: bool) -> int:
    """Return how many processes work at a time: as many as requested, else the cores if it pays.

    With 1 the cluster is simulated as a whole.
    """
    if processes is not None:
        return processes
    return len(os.sched_getaffinity(0)) if pays else 1
