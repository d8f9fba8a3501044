"""Reproduces figure 10's testbed on switches in RTL: jobs that share it, and migrations on it."""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from sim.harness.clock import PERIOD_NS
from sim.mina.cluster import TESTBED
from sim.mina.jobs import read_jobs
from sim.mina.reproduce import paper
from sim.mina.rtl import comparison
from sim.mina.rtl.comparison import STEPS_WITHIN, compare, scaled
from sim.mina.rtl.migration import migrate
from sim.mina.workload import Placement, ScheduleWorkload
from sim.reproduce.figure import Figure, Panel, by_paper, by_us, printed
from sim.reproduce.report import Progress

REQUESTED = ScheduleWorkload(topology="testbed", placement=Placement.FIRST, ratio=1.5)
JOBS = Path(comparison.__file__).with_name("testbed.json")
PARTS = ("release", "reallocation")


def testbed(migrations: int, progress: Progress) -> Figure:
    """Return figure 10: what the paper says of its testbed, on switches in RTL."""
    run = scaled(REQUESTED, read_jobs(JOBS))
    with tempfile.TemporaryDirectory() as folder:
        progress("running jobs on switches in hardware", 0, 2)
        agreement = compare(run, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        progress("migrating on switches in hardware", 1, 2)
        cycles = np.array(migrate(run, migrations, Path(folder)))
    release, reallocation = cycles.mean(axis=0) * PERIOD_NS / 1e3

    def draw(axes: Axes) -> None:
        for name, each in zip(PARTS, cycles.T, strict=True):
            axes.plot(np.sort(each), np.linspace(0, 1, len(each)), label=name)
        axes.set_xlabel("cycles")
        axes.set_ylabel("share of migrations")

    return Figure(
        name="testbed",
        title="The testbed",
        source="sections V-A and V-D, figure 10",
        quote="In the job placement and tree building steps, our simulator faithfully follows"
        " SHARP's implementation, which is proven on our small-scale testbed.",
        setting=f"{TESTBED.hosts} hosts and {TESTBED.switches} switches in RTL ({TESTBED}): jobs of"
        f" 1, 2 and 4 hosts, 12.5e9 bytes/s, ratio 1.5; then {migrations} migrations of a job of"
        " all hosts to another root, after each of which it adds up.",
        rows=[
            {"migration": k, **dict(zip(PARTS, map(int, each), strict=True))}
            for k, each in enumerate(cycles, 1)
        ],
        shown=[
            {"part": name, "paper, ms": milliseconds, "ours, us": f"{our_us:.2f}"}
            for name, milliseconds, our_us in (
                ("release", paper.RELEASE, release),
                ("reallocation", paper.REALLOCATION, reallocation),
                ("migration", paper.MIGRATION, release + reallocation),
            )
        ],
        panels=[Panel("Migrations", draw)],
        claims=[
            by_paper(
                "the simulator does as the testbed: the same all-reduces use INA, in one order",
                agreement.differs_at is None,
                f"{agreement.grants} grants",
            ),
            by_us(
                f"steps take as long as in the simulator, to {STEPS_WITHIN:.0%}",
                agreement.worst_step <= STEPS_WITHIN,
                f"{agreement.steps} steps differ by at most {agreement.worst_step:.2%}",
            ),
            by_paper(
                "reallocation is the greater part of a migration",
                bool(reallocation > release),
                f"{reallocation:.2f} us of {release + reallocation:.2f}",
            ),
            printed(
                "reallocation, times release",
                paper.REALLOCATION / paper.RELEASE,
                reallocation / release,
            ),
        ],
        note="The text tells the numbers of hosts and switches, and their picture is not printed"
        " in it: two ToRs of two hosts below three roots is the fat tree of that size in which a"
        " tree of all hosts can move. The paper's milliseconds are of the manager's software, ours"
        " of frames to the switches, and of the slots that these clear;"
        f" the paper's parts leave {paper.MIGRATION - paper.RELEASE - paper.REALLOCATION} ms open.",
    )
