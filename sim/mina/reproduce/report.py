"""Reproduces all figures of the paper that its simulator makes."""

from collections.abc import Callable, Sequence
from functools import cache

from sim.mina.reproduce import ablation, paper, placing, steps, testbed
from sim.mina.reproduce.requested import FIGURES, MinaRequest
from sim.mina.reproduce.runs import run_all
from sim.reproduce.contents import items_of
from sim.reproduce.figure import Figure
from sim.reproduce.report import Progress, Report, figures_of, points_of

METHOD = (
    "The authors publish their simulator, recordings of seven models and histograms of ten traces;"
    " its published settings are not the paper's, so that both stand beside ours: *binary* is their"
    " program. Our jobs are drawn by its generator of random numbers. Events at one time may come"
    " in any order, which moves scores: the first column of ours has the binary's order, and where"
    " that decides, the mean of several orders stands beside it. *Our best* is what"
    " `ingather schedule` does unless told otherwise.\n\nThe paper and the program also differ in"
    " what they measure. The paper's score is that of the mean time of all jobs, and its R is what"
    " a job gains for each second of INA: *by words*. The program weighs a job by its hosts in"
    " both, and divides by the time until the end of the all-reduce: *by program*. Numbers of the"
    " paper are judged by its words, those of the program by the program's."
)
QUICK = "\n\nMade with `--quick`: one order of events, fewer traces and candidates for MINA."


def reproduce(
    names: Sequence[str], requested: MinaRequest, *, quick: bool, progress: Progress
) -> Report:
    """Return the figures of these names, in the order of the paper."""
    seeds = 1 if quick else requested.seeds
    traces = (1, 9, 10) if quick else range(1, 11)
    candidates = (1, 5) if quick else (*range(1, 11), placing.ALL)
    of_runs = {
        "traces": (lambda: ablation.trace_runs(traces), lambda: ablation.traces(result(), traces)),
        "ablation": (
            lambda: ablation.ablation_runs(seeds),
            lambda: ablation.ablation(result(), seeds),
        ),
        "oversubscription": (placing.link_runs, lambda: placing.oversubscription(result())),
        "candidates": (
            lambda: placing.candidate_runs(candidates),
            lambda: placing.candidates(result(), candidates),
        ),
    }
    result = cache(lambda: run_all(points_of(names, of_runs), progress))
    makers: dict[str, Callable[[], Figure]] = {
        "fragments": placing.fragments,
        "timeline": steps.timeline,
        "bandwidth": steps.bandwidth,
        "testbed": lambda: testbed.testbed(20 if quick else paper.MIGRATIONS_TRIED, progress),
        "sharing": lambda: steps.sharing(2 if quick else 4),
        **{name: figure for name, (_, figure) in of_runs.items()},
    }
    figures = figures_of(FIGURES, names, makers, progress)
    return Report(
        title="MINA", method=METHOD + QUICK * quick, figures=figures, contents=items_of("mina")
    )
