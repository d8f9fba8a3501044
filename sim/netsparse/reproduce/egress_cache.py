"""Measures what the paper rejects in section 6.2.1: Property Caches in egress pipes."""

from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes

from sim.netsparse.reproduce import balance
from sim.netsparse.reproduce.egress_load import EgressLoad
from sim.netsparse.reproduce.points import PAPER
from sim.netsparse.reproduce.runs import Outcomes
from sim.netsparse.reproduce.subjects import Subject, sizes
from sim.reproduce.figure import Figure, Panel

points = partial(balance.points, entries=(None,))


def figure(subjects: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
    """Return the figure: what each matrix would add to the crossbar, and to the busiest pipe."""
    runs = {point.subject.family: point for point in points(subjects, quick)}
    own = {family: result[point].egress for family, point in runs.items()}
    return Figure(
        name="egress-cache",
        title="What caches in egress pipes would add, by the counters of runs with middle pipes",
        source="section 6.2.1",
        quote="An alternative design that we considered was to place the Property Cache in the"
        " Egress Pipes. [...] if a read PR finds its property in the Property Cache [...] it must"
        " be recirculated to an input port of the switch. [...] a response PR must be mirrored",
        setting=f"K = 16, scaled; {PAPER.what}. {sizes(subjects)}",
        rows=[{"matrix": family, **vars(load)} for family, load in own.items()],
        shown=[
            {
                "matrix": family,
                "mirrored, of what enters": f"{load.mirrored / load.entered:.0%}",
                "recirculated": f"{load.recirculated / load.entered:.1%}",
                "crossbar": f"x {load.crossbar:.2f}",
                "busiest egress pipe": f"x {load.pipe:.2f}",
            }
            for family, load in own.items()
        ],
        panels=[Panel("bytes for each with middle pipes", partial(draw, own))],
        claims=(),  # the paper gives no figures, and what is added here is never negative
        note="No such switch was run: packets are mirrored whole, and recirculated ones have no"
        " headers here, so this is the least. The busiest egress pipe is that of a node where nodes"
        " receive more than uplinks; mirrored packets go to those of uplinks. Middle pipes have a"
        " second crossbar instead.",
    )


def draw(own: Mapping[str, EgressLoad], axes: Axes) -> None:
    """Draw a bar for the crossbar, and one for the busiest pipe, of each matrix."""
    bars = ((-0.2, "crossbar", "crossbar"), (0.2, "pipe", "busiest egress pipe"))
    for at, name, label in bars:
        heights = [getattr(load, name) for load in own.values()]
        axes.bar([place + at for place in range(len(own))], heights, 0.4, label=label)
    axes.set_xticks(range(len(own)), list(own))
