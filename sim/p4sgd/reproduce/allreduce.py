"""Reproduces figure 8: how long an AllReduce takes."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, pstdev

from matplotlib.axes import Axes

from hdl.common.core_clock import CORE_MHZ
from hdl.p4sgd.transport.transport import Transport
from sim.harness.verilator import Build, Simulation, run
from sim.p4sgd.surroundings.allreduce_system import AllReduceParams, AllReduceSystem
from sim.p4sgd.surroundings.network import NetworkParams
from sim.p4sgd.train import build_system
from sim.reproduce.figure import Claim, Figure, Panel, by_paper, by_us, printed
from sim.surroundings.link import Link

ORDERS, RESULTS = "INGATHER_ALLREDUCE_ORDERS", "INGATHER_ALLREDUCE_RESULTS"
WORKERS = 8
PAPER_MICROSECONDS = 1.2
SPREAD = 64  #: cycles within which workers send at random


@dataclass(frozen=True)
class Order:
    """Orders AllReduces that are measured one after the other."""

    link_latency: int  #: cycles of a link, one way
    spread: int  #: cycles within which workers send at random; 0: all in the same cycle
    count: int


@dataclass(frozen=True)
class Latencies:
    """Holds, by worker and AllReduce, the cycles from the last partial activation to the sum."""

    order: Order
    cycles: Sequence[int]

    @property
    def mean(self) -> float:
        """Return the mean in cycles."""
        return mean(self.cycles)

    @property
    def microseconds(self) -> float:
        """Return the mean in microseconds."""
        return self.mean / CORE_MHZ


def build_allreduce(workers: int = WORKERS) -> tuple[AllReduceParams, Build]:
    """Build the simulator of transports, links and switch."""
    params = AllReduceParams(network=NetworkParams(workers=workers))
    blocks = [Link(params.network.link), Transport(params.transport)]
    return params, build_system(AllReduceSystem(params), blocks)


def latencies(orders: Sequence[Order], workers: int = WORKERS) -> list[Latencies]:
    """Measure each order; return the latencies."""
    params, simulator = build_allreduce(workers)
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "latencies.json")
        run(
            simulator,
            Simulation(
                test_module="sim.p4sgd.reproduce.allreduce_in_simulator",
                params=params,
                component=AllReduceSystem,
                env={
                    ORDERS: json.dumps([asdict(order) for order in orders]),
                    RESULTS: str(results),
                },
            ),
            seed=1,
        )
        result = json.loads(results.read_text())
    return [
        Latencies(order, [cycles for each in all for cycles in each])
        for order, all in zip(orders, result, strict=True)
    ]


def figure(link_latency: int, quick: bool, progress: Callable[[str], None]) -> Figure:
    """Measure links without delay and with it, in step and at random; return the figure."""
    count = 20 if quick else 200
    delays = sorted({0, link_latency})
    progress(f"building and measuring AllReduce of {WORKERS} workers")
    result = latencies([Order(delay, spread, count) for delay in delays for spread in (0, SPREAD)])
    rows = [
        {
            "link_latency_cycles": each.order.link_latency,
            "send_times": f"random in {SPREAD} cycles" if each.order.spread else "same cycle",
            "allreduces": each.order.count,
            "mean_cycles": round(each.mean, 2),
            "least_cycles": min(each.cycles),
            "max_cycles": max(each.cycles),
            "standard_deviation": round(pstdev(each.cycles), 2),
            "mean_us": round(each.microseconds, 4),
        }
        for each in result
    ]
    return Figure(
        name="allreduce",
        title="Latency of an AllReduce",
        source="section 5.2, figure 8",
        quote="P4SGD is able to reach average latency of 1.2 us [...] the latency fluctuation of"
        " P4SGD is significantly smaller [...] offering deterministic latency.",
        setting=f"{WORKERS} workers with 8 activations of 32 bits each, {count} AllReduces a line;"
        f" our transports and switch in RTL at {CORE_MHZ} MHz, links that delay by 0 or"
        f" {link_latency} cycles each way. From the last partial activation into a transport to the"
        " full one out of it, of every worker.",
        rows=rows,
        panels=[Panel("AllReduce of 8 x 32 bits, 8 workers", lambda axes: draw(axes, result))],
        claims=claims(result),
        note="MACs, cables and the P4 switch's own pipeline are not in our RTL; the links' delay"
        " stands for them; its default is chosen to come near the paper's average.",
    )


def claims(result: Sequence[Latencies]) -> list[Claim]:
    """Return what the paper says of the latency, judged."""
    bare = next(each for each in result if not each.order.link_latency and not each.order.spread)
    most = max(each.microseconds for each in result)
    in_step = [each for each in result if not each.order.spread]
    ranges = [max(each.cycles) - min(each.cycles) for each in in_step]
    at_random = [each for each in result if each.order.spread]
    widths = [max(each.cycles) - min(each.cycles) for each in at_random]
    return [
        printed("us of an AllReduce on average, with the links' delay", PAPER_MICROSECONDS, most),
        by_us(
            f"our hardware alone takes less than {PAPER_MICROSECONDS} us",
            bare.microseconds < PAPER_MICROSECONDS,
            f"{bare.mean:.1f} cycles, {bare.microseconds:.3f} us, without the links' delay",
        ),
        by_paper(
            "deterministic latency: the same every time when all send in the same cycle",
            max(ranges) == 0,
            f"most - least = {max(ranges)} cycles",
        ),
        by_paper(
            "little fluctuation when workers send at random times (within 10 % of 1.2 us)",
            max(widths) <= 0.1 * PAPER_MICROSECONDS * CORE_MHZ,
            f"most - least = {max(widths)} cycles, {max(widths) / CORE_MHZ:.3f} us",
        ),
    ]


def draw(axes: Axes, result: Sequence[Latencies]) -> None:
    """Draw bars of the mean, from least to most."""
    for index, each in enumerate(result):
        micro = [cycles / CORE_MHZ for cycles in each.cycles]
        spread = [[mean(micro) - min(micro)], [max(micro) - mean(micro)]]
        color = "tab:orange" if each.order.spread else "tab:blue"
        axes.bar([index], [mean(micro)], yerr=spread, capsize=6, color=color)
    axes.axhline(PAPER_MICROSECONDS, color="0.4", linestyle="--", label="paper's average")
    axes.set_xticks(
        range(len(result)),
        [
            f"links {each.order.link_latency}\n{'random' if each.order.spread else 'in step'}"
            for each in result
        ],
    )
    axes.set_ylabel(f"us at {CORE_MHZ} MHz")
