"""Draws the stages of a training step on a line of time, for each worker."""

from pathlib import Path

from sim.harness.picture import picture
from sim.network_switch.step.timeline import NAMES, STAGES, Timeline

COLOURS = {"gather": "tab:blue", "up": "tab:orange", "down": "tab:green", "reduce": "tab:red"}
COMPUTE = {"facecolor": "0.9", "edgecolor": "0.6", "hatch": "///", "linewidth": 0}
ROOM = len(STAGES) + 1  #: lines of a worker, with one between it and the next


def draw_timeline(timeline: Timeline, title: str, path: Path) -> None:
    """Draw the last whole epoch: intervals as measured, between them compute by its formula."""
    begin, end = timeline.epochs[-1]
    shifts = timeline.shifts(begin, end)

    def place(cycle: int) -> int:
        return cycle - begin + sum(size for at, size in shifts if at <= cycle)

    with picture(path, title, 1, width=11) as (axis,):
        for at, size in shifts:
            if size:
                axis.axvspan(place(at) - size, place(at), **COMPUTE)
        for worker, stages in enumerate(timeline.intervals):
            for line, (stage, spans) in enumerate(stages.items()):
                inside = [(a, b) for a, b in spans.tolist() if begin <= a < end]
                axis.broken_barh(
                    [(place(first), behind - first) for first, behind in inside],
                    (ROOM * worker + line, 0.9),
                    facecolors=COLOURS[stage],
                    label=NAMES[stage] if worker == 0 else None,
                )
        axis.axvspan(0, 0, label="compute, by its formula", **COMPUTE)
        workers = range(len(timeline.intervals))
        middles = [ROOM * k + len(STAGES) / 2 for k in workers]
        axis.set_yticks(middles, [f"worker {k}" for k in workers])
        axis.set(ylim=(ROOM * len(workers) + 2, -0.5), xlim=(0, place(end)))
        axis.set_xlabel(
            "cycles of the RTL, and those of compute; empty: hosts use memories, or all wait"
        )
        axis.legend(fontsize="small", ncols=len(STAGES) + 1, loc="lower left")
