"""Runs endpoints through a congested port of the real switch: rates become alike, and recover."""

import cocotb
import numpy as np

from sim.harness.streams import crossed, cycle
from sim.harness.verilator import simulate
from sim.surroundings.axi_ram import RAM_ARRAY
from sim.switchgnn.evaluation.congestion import Aggregation, Rules
from sim.switchgnn.evaluation.congestion import Network as Slots
from sim.switchgnn.evaluation.hardware import Limits
from sim.switchgnn.golden.congestion import UNIT, RateSettings
from sim.switchgnn.network.background import begins
from sim.switchgnn.network.network import Network, empty_network
from tests.hdl.switchgnn.congestion_bench import RATES, RECEIVER, TRIP, Bench, jain
from tests.hdl.switchgnn.network_sizes import SIZES

WORKERS = 4
LEVEL, SLOT = 32, 3  #: beats that wait; cycles of a sum


def test_congestion(tmp_path):
    params = SIZES["small"]
    arguments = empty_network(params, tmp_path)
    simulate(Network(params), __name__, extra_sources=[RAM_ARRAY], plusargs=arguments)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def senders_share_a_congested_port(dut):
    """One begins at an eighth of the other's rate; both send as much in the last seven turns."""
    turns = 14
    bench = Bench(dut, second=RATES | {"most": UNIT // 8})
    await bench.begin()
    bench.share_links(0.4, 0.4)
    shares = await bench.shares(125, turns)
    assert jain(shares[0]) < 0.92
    assert jain(np.sum(shares[turns // 2 :], axis=0)) > 0.95
    assert min(await bench.halved()) > turns


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def rates_recover_when_others_have_gone(dut):
    """Sums take three quarters of a port, which others share at first."""
    fast = RATES | {"step": UNIT // 8, "least": UNIT // 16}
    bench = Bench(dut, first=fast, second=fast)
    await bench.begin()
    await bench.switch.run("set_marks", ingress=0, egress=12)
    bench.share_links(0, 0.9)
    await bench.start(125, 20, shared=True)
    rates = [await bench.each("rate") for _ in range(120)]
    assert np.min(rates, axis=0).max() <= UNIT // 2
    bench.share_links(0, 0)
    gone = cycle()
    while min(await bench.each("rate")) < UNIT:
        assert cycle() - gone < 3000
    await bench.finish()


class LinkFlows:
    """Repeats the flows of the simulated links in slots: those of the network's hardware."""

    def __init__(self, bench, load):
        self.fields = bench.params.background.fields(load, seed=bench.patience.links.seed)
        self.size = self.fields["frames"] * bench.params.background.frame_beats // SLOT
        self.cycle, self.up = bench.begun, np.zeros(WORKERS, int)

    def flows(self, path):
        """Return how many flows begin on the links of each worker, one way, in this slot."""
        cycles = range(self.cycle, self.cycle + SLOT)
        indices = range(path, 2 * WORKERS, 2)
        return np.array([sum(begins(self.fields, k, c) for c in cycles) for k in indices])

    def waits(self, now):
        self.up += self.size * self.flows(0)
        return self.up > 0

    def take(self, carries):
        self.up -= carries
        down = np.repeat(np.arange(WORKERS), self.size * self.flows(1))
        self.cycle += SLOT
        return down


def modelled(bench, load, control, turns):
    """Return the cycles, and halvings, of the job by the model of figure 19: a sum takes a slot."""
    limits, senders = (
        Limits.of(bench.params.switch, bench.patience.links.latency),
        bench.built.senders,
    )
    stays = limits.judge + limits.add + limits.lists + limits.ack + limits.resume
    network = Slots(
        delay=round((2 * limits.link + stays) / 2 / SLOT),
        room=10**9,
        mark=LEVEL // SLOT,
        window=limits.window,
        timeout=10**9,
        rows=SLOT,
        ack_every=limits.ack_every,
    )
    packets = SLOT / limits.feature  # that a sender's link carries in a slot
    own = {name: round(packets * RATES[name]) for name in ("least", "step")}
    rate = RateSettings(most=round(packets * UNIT), round_trip=TRIP // SLOT, burst=32, **own)
    job = Aggregation(
        senders,
        bench.built.order.sequence,
        WORKERS,
        network,
        Rules(keeps_sums=True, rate=rate if control else None),
        LinkFlows(bench, load),
        np.ones(senders.count, int),
    )
    result = job.run(turns)
    return SLOT * result.slots, result.halvings


@crossed(load=[0.4, 0.6], control=[False, True])
async def the_model_of_figure_19_takes_as_long(dut, load, control):
    """Cycles are within a tenth, with rate control within a quarter, and halvings within a third.

    Shorter jobs differ by more, as flows begin at random. The model takes less time without rate
    control, and more with it.
    """
    turns = 40
    bench = Bench(dut, control)
    await bench.begin()
    bench.share_links(load, load)
    await bench.start(80, turns)
    await bench.finish()
    cycles, halvings = modelled(bench, load, control, turns)
    took = await bench.workers[RECEIVER].run("counter", "cycles")
    assert abs(cycles / took - 1) < (0.25 if control else 0.1), (cycles, took)
    halved = sum(await bench.halved())
    assert abs(halvings - halved) <= halved / 3, (halvings, halved)
