"""Reproduces figure 8: how long an AllReduce takes, by P4SGD's rule of slots and by SwitchML's."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, pstdev

from matplotlib.axes import Axes

from hdl.common.core_clock import CORE_MHZ
from hdl.p4sgd.transport.params import TransportParams
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
SUMS = 64  #: sums of the switch's memory that AllReduces share which are under way side by side
RULES = {
    False: "P4SGD",
    True: "SwitchML",
}  #: names of the rules, by whether sums have shadow copies


@dataclass(frozen=True)
class Order:
    """Orders AllReduces that are measured one after the other."""

    link_latency: int  #: cycles of a link, one way
    spread: int  #: cycles within which workers send at random; 0: all in the same cycle
    count: int
    sums: int = 0  #: sums of the switch's memory, if AllReduces are under way side by side


@dataclass(frozen=True)
class Latencies:
    """Holds, by worker and AllReduce, the cycles from the last partial activation to the sum.

    If they are under way side by side, it holds the cycles from each sum to the next.
    """

    order: Order
    cycles: Sequence[int]
    shadow: bool = False  #: whether sums have shadow copies
    free: float = (
        0  #: mean cycles from the last partial activation until all may use the slot again
    )
    packets: float = 0  #: packets that a worker sends for an AllReduce

    @property
    def mean(self) -> float:
        """Return the mean in cycles."""
        return mean(self.cycles)

    @property
    def send_times(self) -> str:
        """Return when workers send, in words."""
        if self.order.sums:
            return f"when a slot is free, {self.order.sums} sums in the switch"
        return f"random in {SPREAD} cycles" if self.order.spread else "same cycle"

    @property
    def microseconds(self) -> float:
        """Return the mean in microseconds."""
        return self.mean / CORE_MHZ


def build_allreduce(workers: int = WORKERS, shadow: bool = False) -> tuple[AllReduceParams, Build]:
    """Build the simulator of transports, links and switch."""
    params = AllReduceParams(
        transport=TransportParams(shadow=shadow),
        network=NetworkParams(workers=workers, shadow=shadow),
    )
    blocks = [Link(params.network.link), Transport(params.transport)]
    return params, build_system(AllReduceSystem(params), blocks)


def latencies(
    orders: Sequence[Order], workers: int = WORKERS, shadow: bool = False
) -> list[Latencies]:
    """Measure each order; return the latencies."""
    params, simulator = build_allreduce(workers, shadow)
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
        Latencies(order, **measured, shadow=shadow)
        for order, measured in zip(orders, result, strict=True)
    ]


def figure(link_latency: int, quick: bool, progress: Callable[[str], None]) -> Figure:
    """Measure both rules on links without delay and with it; return the figure.

    Workers send in step and at random, and many AllReduces are under way side by side.
    """
    count = 20 if quick else 200
    delays = sorted({0, link_latency})
    orders = [Order(delay, spread, count) for delay in delays for spread in (0, SPREAD)]
    orders += [Order(delay, 0, 10 * count, SUMS) for delay in delays]
    result = []
    for shadow, rule in RULES.items():
        progress(f"building and measuring AllReduce of {WORKERS} workers by {rule}'s rule")
        result += latencies(orders, shadow=shadow)
    rows = [
        {
            "rule": RULES[each.shadow],
            "link_latency_cycles": each.order.link_latency,
            "measured": "from each sum to the next" if each.order.sums else "latency",
            "send_times": each.send_times,
            "allreduces": each.order.count,
            "mean_cycles": round(each.mean, 2),
            "least_cycles": min(each.cycles),
            "max_cycles": max(each.cycles),
            "standard_deviation": round(pstdev(each.cycles), 2),
            "mean_us": round(each.microseconds, 4),
            "cycles_until_slots_are_free": round(each.free, 2) or None,
            "packets_of_a_worker": round(each.packets, 2),
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
        " full one out of it, of every worker. SwitchML's rule has a shadow copy of each sum in"
        f" place of acknowledgements. Side by side, AllReduces share a memory of {SUMS} sums.",
        rows=rows,
        panels=[
            Panel("AllReduce of 8 x 32 bits, 8 workers", lambda axes: draw(axes, alone(result))),
            Panel(
                f"Cycles from sum to sum, {SUMS} sums kept", lambda axes: side_by_side(axes, result)
            ),
        ],
        claims=claims(result),
        note="MACs, cables and the P4 switch's own pipeline are not in our RTL; the links' delay"
        " stands for them; its default is chosen to come near the paper's average.",
    )


def alone(result: Sequence[Latencies]) -> list[Latencies]:
    """Return what was measured one AllReduce at a time."""
    return [each for each in result if not each.order.sums]


def claims(all_results: Sequence[Latencies]) -> list[Claim]:
    """Return what the paper says of the latency, judged."""
    result = [each for each in alone(all_results) if not each.shadow]
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
        *(shadow_claims(all_results) if any(each.shadow for each in all_results) else ()),
    ]


def shadow_claims(result: Sequence[Latencies]) -> list[Claim]:
    """Return what the paper says of shadow copies, judged on the same switch."""
    own_rule, shadow = ([each for each in result if each.shadow == s] for s in (False, True))
    packets = own_rule[-1].packets, shadow[-1].packets
    slower, text, most = [], [], []
    for own, other in zip(own_rule, shadow, strict=True):
        if own.order.sums:
            most.append(f"{own.mean:.1f} and {other.mean:.1f} at {own.order.link_latency} cycles")
        elif not own.order.spread:
            slower.append(other.mean > own.mean)
            text.append(f"{own.mean:.1f} and {other.mean:.1f} cycles")
    return [
        by_paper(
            "shadow copies take longer, because they delay the acknowledgement",
            all(slower),
            f"P4SGD and SwitchML, links without delay and with it: {'; '.join(text)}; both in"
            " hardware, with frames of 64 bytes, where the paper's SwitchML has host software and"
            " 256 bytes",
        ),
        by_paper(
            "shadow copies are for throughput: fewer packets for each sum",
            packets[1] < packets[0],
            f"a worker sends {packets[0]:.1f} and {packets[1]:.1f} packets; cycles from sum to sum"
            f" with {SUMS} sums in the switch: {', '.join(most)}",
        ),
    ]


def side_by_side(axes: Axes, result: Sequence[Latencies]) -> None:
    """Draw the cycles from each sum to the next, by rule and delay of the links."""
    shown = [each for each in result if each.order.sums]
    means, colors = [each.mean for each in shown], [color_of(each) for each in shown]
    axes.bar(range(len(shown)), means, color=colors, label="mean")
    axes.set_xticks(range(len(shown)), [label(each) for each in shown])
    axes.set_ylabel("cycles")


def color_of(each: Latencies) -> str:
    """Return the colour of a rule."""
    return "tab:green" if each.shadow else "tab:blue"


def label(each: Latencies) -> str:
    """Return the label of a bar."""
    times = "" if each.order.sums else f"\n{'random' if each.order.spread else 'in step'}"
    return f"{RULES[each.shadow]}\nlinks {each.order.link_latency}{times}"


def draw(axes: Axes, result: Sequence[Latencies]) -> None:
    """Draw bars of the mean, from least to most."""
    for index, each in enumerate(result):
        micro = [cycles / CORE_MHZ for cycles in each.cycles]
        spread = [[mean(micro) - min(micro)], [max(micro) - mean(micro)]]
        axes.bar([index], [mean(micro)], yerr=spread, capsize=6, color=color_of(each))
    axes.axhline(PAPER_MICROSECONDS, color="0.4", linestyle="--", label="paper's average")
    axes.set_xticks(range(len(result)), [label(each) for each in result], fontsize=7)
    axes.set_ylabel(f"us at {CORE_MHZ} MHz")
