"""Makes figure 19: rate control on and off, while others use the same links."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from sim.reproduce.figure import Claim, Figure, Panel, by_paper, by_us
from sim.switchgnn.evaluation.background import Background
from sim.switchgnn.evaluation.congestion import Aggregation, Network, Rules
from sim.switchgnn.evaluation.frames import FrameSizes
from sim.switchgnn.golden.congestion import RateSettings, least_rates, step_of
from sim.switchgnn.planning.banks import rows_of
from sim.switchgnn.planning.orders import ordered
from sim.switchgnn.planning.senders import Senders
from sim.switchgnn.reproduce import paper
from sim.switchgnn.reproduce.subjects import CLOCK, FULL, SEED, Cut, Subject

LANES = 128  #: features of a packet, as in the full preset
TURNS = 2  #: slices that are simulated; a whole aggregation of 602 features has 5
ROOM = 1e6  #: bytes of a port's queue
#: Bytes in it above which ACKs are marked: where DCQCN begins to mark at 100 Gb/s in the settings
#: that were published with HPCC's simulator (Li et al., SIGCOMM 2019: KMIN_MAP of mix/config.txt).
MARK = 4e5
TIMEOUT = 200e-6  #: seconds, the endpoint's fetch_timeout of 50,000 cycles at 250 MHz
WINDOW = 128  #: packets, as in the full preset
AHEAD = 200e-6  #: seconds of background alone at the beginning
UNTIL = 0.015  #: seconds in which flows begin
DRAWS = 12  #: of the background, which decides how much is lost
OWN_DRAWS = 1  #: of the background of the own switch, which loses nothing
LOADS = (0.0, 0.2, 0.4, 0.6)
QUICK_LOADS = (0.0, 0.4)
BUSY = 0.4  #: the load at which times with and without rate control are compared
PAPER, OWN = "paper's switch", "ours"
SWITCHES = (PAPER, OWN)


class Scale:
    """Converts times and bytes of the paper's graph to packets each of which stands for several."""

    def __init__(self, cut: Cut) -> None:
        ratio = cut.subject.paper.vertices / cut.subject.vertices
        self.packet = FrameSizes.of(LANES).sums * ratio  #: bytes
        self.slot = 8 * self.packet / paper.LINK  #: seconds
        delay = max(1, round(paper.DELAY / self.slot))
        self.network = Network(
            delay=delay,
            room=max(2, round(ROOM / self.packet)),
            mark=max(1, round(MARK / self.packet)),
            window=max(2 * delay + 2, round(WINDOW / ratio)),
            timeout=round(TIMEOUT / self.slot) + 2 * delay,
            rows=CLOCK * self.slot / ratio,
        )

    def rules(self, switch: str, control: bool, senders: Senders) -> Rules:
        """Return how a switch and its workers treat congestion."""
        return Rules(keeps_sums=switch == OWN, rate=self.rate(senders) if control else None)

    def rate(self, senders: Senders) -> RateSettings:
        """Return the workers' rate control for a plan of one block."""
        round_trip, workers = 2 * self.network.delay + 1, int(senders.worker.max()) + 1
        sent, received = (
            np.bincount(of, minlength=workers) for of in (senders.worker, senders.aggregator_worker)
        )
        return RateSettings(
            burst=1,
            least=least_rates(sent[None], received[None]),
            step=step_of(round_trip, self.network.mark),
            round_trip=round_trip,
        )


def outcome(cut: Cut, load: float, switch: str, control: bool, draws: int) -> Mapping[str, Any]:
    """Return a row: the time in ms, and what became of packets.

    Figures are means over draws of the background.
    """
    count = min(draws, OWN_DRAWS) if switch == OWN else draws
    seeds = range(SEED, SEED + (count if load else 1))
    built = [_drawn(cut, load, switch, control, seed) for seed in seeds]
    means = {name: float(np.mean([each[name] for each in built])) for name in built[0]}
    return {"workers": cut.workers, "load": load, "switch": switch, "control": control, **means}


def _drawn(cut: Cut, load: float, switch: str, control: bool, seed: int) -> Mapping[str, Any]:
    scale = Scale(cut)
    senders, rows = cut.unlimited().senders, None
    if switch == OWN:
        senders, banks = cut.quick(-(-2 * cut.n // FULL.banks))
        rows = rows_of(senders, banks)
    slots = round(UNTIL / scale.slot)
    rng = np.random.default_rng(seed)
    job = Aggregation(
        senders,
        ordered(senders, "priority-bfs", SEED).sequence,
        cut.workers,
        scale.network,
        scale.rules(switch, control, senders),
        Background(cut.workers, load, slots, scale.packet, rng),
        rows,
    )
    built = asdict(job.run(TURNS, round(AHEAD / scale.slot)))
    return {"ms": 1e3 * built.pop("slots") * scale.slot, **built}


def congestion(
    subject: Subject,
    workers: Sequence[int],
    loads: Sequence[float],
    draws: int = 1,
    report: Callable[[str], None] = lambda text: None,
) -> Figure:
    """Make figure 19: the time of communication by the load of the background."""
    rows = []
    for count in workers:
        for load in loads:
            report(f"congestion: {count} workers, background of {load:.0%}")
            rows += [
                outcome(subject.cut(count), load, switch, control, draws)
                for switch in SWITCHES
                for control in (False, True)
            ]
    result = MappingProxyType(
        {(row["workers"], row["load"], row["switch"], row["control"]): row for row in rows}
    )

    def draw(count: int, axes: Axes) -> None:
        for switch in SWITCHES:
            for control, style in ((False, "o--"), (True, "o-")):
                times = [result[count, load, switch, control]["ms"] for load in loads]
                label = f"{switch}, rate control {'on' if control else 'off'}"
                axes.plot([100 * load for load in loads], times, style, label=label)
        axes.set_xlabel("background, % of every link")
        axes.set_ylabel("ms")
        axes.set_yscale("log")

    scale = Scale(subject.cut(workers[-1]))
    return Figure(
        name="congestion",
        title="Rate control",
        source="section 6.5, figure 19",
        quote="as the background traffic load increases, the SwitchGNN without CC suffers from"
        " significant performance degradation, whereas the SwitchGNN with CC can maintain a short"
        " epoch time.",
        setting=f"{subject.name}, one block that holds every boundary vertex, {TURNS} slices of"
        f" {LANES} features, links of 100 Gb/s and {1e6 * paper.DELAY:.0f} us, in a model of ports,"
        " queues and endpoints. Background as in the paper: flows of a Hadoop cluster's sizes from"
        f" every worker to any other, at Poisson times, drawn {draws} times; means are shown."
        " What the paper does not say is assumed:"
        f" {ROOM / 1e6:.0f} MB of queue a port, marks above {MARK / 1e3:.0f} kB, where DCQCN"
        " begins to mark at 100 Gb/s in HPCC's published simulations, a timeout of"
        f" {1e6 * TIMEOUT:.0f} us, a flow at a quarter of a link, no rate"
        " control of the background. Bytes and times are those of the paper's graph: a packet here"
        f" stands for {scale.packet / FrameSizes.of(LANES).sums:.1f} of {FrameSizes.of(LANES).sums}"
        " bytes. Marks and rates are those of the hardware (sim/switchgnn/golden/congestion.py).",
        rows=rows,
        shown=[
            {
                "workers": row["workers"],
                "load": f"{row['load']:.0%}",
                "switch": row["switch"],
                "rate control": "on" if row["control"] else "off",
                "ms": f"{row['ms']:.2f}",
                "lost": round(row["lost"]),
                "sent for lost sums": round(row["repeated"]),
                "rates halved": round(row["halvings"]),
                "background lost": f"{row['background_lost'] / max(row['background'], 1):.1%}",
            }
            for row in rows
        ],
        panels=[Panel(f"{count} workers", partial(draw, count)) for count in workers],
        claims=[claim for count in workers for claim in claims(result, count, loads)],
        note=f"In the *{PAPER}* sums that find no room in a queue are lost, and their worker"
        f" fetches all features that they are made of (section 3.4); in *{OWN}* they wait in their"
        " aggregators, and have a queue of their own, which shares its port with the background"
        " evenly. All workers hear of a long queue, by their ACKs. Others carry their load whatever"
        f" the rates are, so once their flows have built up, at {loads[-1]:.0%} a job that links"
        f" bound takes at least {1 / (1 - loads[-1]):.2g} times as long as without them. A sum is"
        " lost where flows meet at a port: rate control keeps its queue short before, and saves"
        " losses at low loads; at high loads they fill a port alone. How the paper's background was"
        f" controlled it does not say. *{OWN}* adds a row of lists a cycle, by a plan of few rows;"
        f" the *{PAPER}* adds at any rate. The model of queues, marks and rates is held to the RTL"
        " at a small size (tests/hdl/switchgnn/test_congestion.py).",
    )


def claims(result: Mapping[Any, Any], workers: int, loads: Sequence[float]) -> list[Claim]:
    """Return the paper's statements, and whether each holds."""
    first, last, busy = loads[0], loads[-1], BUSY

    def time(load: float, control: bool, switch: str = PAPER) -> float:
        return result[workers, load, switch, control]["ms"]

    def text(control: bool, switch: str = PAPER) -> str:
        return ", ".join(f"{load:.0%}: {time(load, control, switch):.2f} ms" for load in loads)

    return [
        by_paper(
            f"{workers} workers: without rate control the time grows with the background, at"
            f" {last:.0%} to more than twice",
            time(last, False) > 2 * time(first, False),
            text(False),
        ),
        by_paper(
            f"{workers} workers: at {busy:.0%} rate control takes no more time than none",
            time(busy, True) <= time(busy, False),
            f"on {time(busy, True):.2f} ms, off {time(busy, False):.2f} ms",
        ),
        by_paper(
            f"{workers} workers: at {last:.0%} rate control takes less time than none, by a tenth"
            " or more",
            time(last, True) < 0.9 * time(last, False),
            f"on {time(last, True):.2f} ms, off {time(last, False):.2f} ms",
        ),
        by_paper(
            f"{workers} workers: with rate control the time stays short, below 1.5 times that"
            " without background",
            max(time(load, True) for load in loads) < 1.5 * time(first, True),
            f"on {text(True)}",
        ),
        by_us(
            f"{workers} workers: sums that wait in aggregators are never lost, and rate control"
            " costs them less than a fiftieth",
            all(
                result[workers, load, OWN, True]["lost"] == 0
                and time(load, True, OWN) <= 1.02 * time(load, False, OWN)
                for load in loads
            ),
            f"ours, on {text(True, OWN)}; off {text(False, OWN)}",
        ),
    ]
