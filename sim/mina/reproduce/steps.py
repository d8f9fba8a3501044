"""Reproduces figures 3, 5 and 12: a step, its turning point, and jobs that share a switch."""

from dataclasses import replace
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from sim.mina.golden.training import Step
from sim.mina.models import known_models
from sim.mina.reproduce import paper
from sim.mina.sharing import group_score
from sim.mina.workload import ScheduleWorkload, Sharing
from sim.reproduce.figure import Figure, Panel, by_paper, by_program, printed

SLOW = ScheduleWorkload(gpu_speed=1.5, ratio=1.5, sharing=Sharing.R)  #: the network is the limit
STEPS = 100
BANDWIDTHS = np.arange(1, 201) * 1e8


def step_of(name: str, requested: ScheduleWorkload, latency: float | None = None) -> Step:
    """Return a step of a job with several hosts."""
    model = known_models()[name]
    wait = requested.latency if latency is None else latency
    return Step(
        period=model.period / requested.gpu_speed,
        start=[start / requested.gpu_speed for start in model.starts],
        plain=[wait + size / requested.bandwidth for size in model.sizes],
        ina=[wait + size / requested.bandwidth / requested.ratio for size in model.sizes],
    )


def spans(step: Step, durations: list[float]) -> list[tuple[float, float]]:
    """Return begin and duration of each all-reduce."""
    result, now = [], 0.0
    for start, duration in zip(step.start, durations, strict=True):
        begin = max(now, start)
        result.append((begin, duration))
        now = begin + duration
    return result


def timeline() -> Figure:
    """Return figure 3: a training step with INA and without."""
    step = step_of("OPT-350M", SLOW)
    without, with_ina = spans(step, list(step.plain)), spans(step, list(step.ina))

    def length(each: list[tuple[float, float]]) -> float:
        return each[-1][0] + each[-1][1] - each[0][0]

    def gaps(each: list[tuple[float, float]]) -> float:
        return length(each) - sum(duration for _, duration in each)

    def draw(axes: Axes) -> None:
        for height, label, each in ((1, "without INA", without), (0, "with INA", with_ina)):
            axes.broken_barh([(1e3 * a, 1e3 * b) for a, b in each], (height, 0.6), label=label)
        axes.axvline(1e3 * step.period, color="black", linestyle=":", label="computing ends")
        axes.set_xlabel("ms")
        axes.set_yticks([0.3, 1.3], ["with INA", "without"])

    quicker = length(without) / length(with_ina)
    return Figure(
        name="timeline",
        title="A step with and without INA",
        source="section II-C, figure 3",
        quote="However, when applying INA acceleration, the duration of the communication stage did"
        " not reduce in proportion to the INA acceleration ratio. On the contrary, gaps appeared"
        " within the communication phase.",
        setting="OPT-350M, GPU speed 1.5, ratio 1.5, 12.5e9 bytes/s.",
        rows=[
            {"op": k, "begin": a, "end": a + b, "begin, INA": c, "end, INA": c + d}
            for k, ((a, b), (c, d)) in enumerate(zip(without, with_ina, strict=True))
        ],
        panels=[Panel("Figure 3", draw)],
        claims=[
            by_paper(
                f"communication is less than {SLOW.ratio} times as quick",
                1 < quicker < SLOW.ratio,
                f"{quicker:.2f} times",
            ),
            by_paper(
                "gaps appear",
                gaps(with_ina) > gaps(without),
                f"{1e3 * gaps(without):.1f} ms without, {1e3 * gaps(with_ina):.1f} ms with INA",
            ),
        ],
    )


def bandwidth() -> Figure:
    """Return figure 5: turning points, where the network is no longer the limit."""
    curves, points = {}, {}
    for name in known_models():
        steps = [step_of(name, replace(SLOW, gpu_speed=1.0, bandwidth=b), 0.0) for b in BANDWIDTHS]
        curves[name] = np.array([step.without_ina for step in steps])
        points[name] = float(BANDWIDTHS[curves[name] <= steps[0].period + 1e-12][0]) / 1e9

    def draw(axes: Axes) -> None:
        for name, curve in curves.items():
            axes.plot(BANDWIDTHS / 1e9, 1e3 * curve, label=name)
        axes.set_yscale("log")
        axes.set(xlabel="GB/s of an all-reduce", ylabel="ms of a step")

    return Figure(
        name="bandwidth",
        title="Where the network is no longer the limit",
        source="section II-C, figure 5",
        quote="There is a clear turning point. Below the turning point, network is the bottleneck,"
        " increasing bandwidth can effectively reduce the duration of training steps.",
        setting="All models, batches of 4, no latency, steps of 0.1 GB/s.",
        rows=[
            {"GB/s": b / 1e9, **{name: float(curve[i]) for name, curve in curves.items()}}
            for i, b in enumerate(BANDWIDTHS)
        ],
        shown=[{"model": name, "turning point, GB/s": f"{p:.1f}"} for name, p in points.items()],
        panels=[Panel("Figure 5", draw)],
        claims=[
            by_paper(
                "there is a turning point: beyond it a step takes as long as computing",
                all(curve[-1] < curve[0] for curve in curves.values()),
                ", ".join(f"{name} {point:.1f}" for name, point in points.items()),
            ),
            by_paper(
                "INA of ratio 2 at 12.5 GB/s is beyond all of them",
                max(points.values()) <= 25,
                f"at most {max(points.values()):.1f} GB/s",
            ),
        ],
    )


def sharing(most: int) -> Figure:
    """Return figure 12: jobs that share one switch, in groups of 2 to ``most``."""
    names = list(known_models())

    def scores_of(requested: ScheduleWorkload, count: int) -> NDArray[np.float64]:
        groups = product(names, repeat=count)
        result = [group_score(requested, [(m, 2) for m in each], STEPS) for each in groups]
        return np.array(result, float)

    scores = {count: scores_of(SLOW, count) for count in range(2, most + 1)}
    means = {count: float(each.mean()) for count, each in scores.items()}
    by_words = scores_of(replace(SLOW, sharing=Sharing.RATE), 2)
    good, good_by_words = (int((each >= paper.GOOD).sum()) for each in (scores[2], by_words))
    pairs = scores[2].reshape(len(names), -1)

    def draw(axes: Axes) -> None:
        for row, values in enumerate(pairs):
            axes.plot(range(len(names)), values, "o", label=names[row], color=f"C{row}")
        axes.axhline(paper.GOOD, color="black", linestyle=":")
        axes.set_xticks(range(len(names)), names, rotation=40, fontsize=7)
        axes.set_ylabel("score of the pair")

    return Figure(
        name="sharing",
        title="Jobs that share one switch",
        source="section V-C, figure 12",
        quote="The average score reaches 0.939, with 33 of the 49 combinations surpassing 0.95.",
        setting=f"Jobs of 2 hosts, GPU speed 1.5, ratio 1.5, {STEPS} of the longest steps; R by"
        " program, and of pairs by words as well.",
        rows=[
            {
                "model": name,
                **{other: round(float(v), 4) for other, v in zip(names, row, strict=True)},
            }
            for name, row in zip(names, pairs, strict=True)
        ],
        shown=[
            {"jobs": count, "binary": paper.BINARY_SHARING[count], "ours": f"{mean:.4f}"}
            for count, mean in means.items()
        ],
        panels=[Panel("Figure 12: pairs", draw)],
        claims=[
            by_program(
                "means are the binary's, to four digits",
                all(abs(mean - paper.BINARY_SHARING[n]) <= 6e-5 for n, mean in means.items()),
                ", ".join(f"{n} jobs {mean:.4f}" for n, mean in means.items()),
            ),
            printed("mean of pairs, R by words", paper.PAIRS, by_words.mean()),
            printed(
                f"pairs of 49 that reach {paper.GOOD}, R by words", paper.GOOD_PAIRS, good_by_words
            ),
            by_program(
                f"{paper.BINARY_GOOD_PAIRS} of 49 pairs reach {paper.GOOD}, as in the binary",
                good == paper.BINARY_GOOD_PAIRS,
                str(good),
            ),
        ],
        note="The paper runs each pair for 1,000 seconds, the binary for 100 of the longer steps.",
    )
