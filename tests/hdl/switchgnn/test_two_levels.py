"""Runs spines and two leaves in RTL with golden workers, on links that lose, double or delay."""

import random
from contextlib import ExitStack
from dataclasses import dataclass, replace

import cocotb
import numpy as np
import pytest
from amaranth.lib.wiring import connect, flipped
from scipy.sparse import csr_array

from hdl.common.component import Component
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.streams import crossed, edges, often, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.switchgnn.golden.aggregation import aggregate, edges_between
from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.planning.levels import levels
from sim.switchgnn.planning.preparation import prepare
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.racked_job import RackedJob
from sim.switchgnn.switch_bench import Links, SwitchBench
from sim.switchgnn.wire import judge
from tests.long import short_products
from tests.sim.switchgnn.cases import directed

CHANCE = 0.2  #: of a frame's being lost, of its being doubled, of its coming late
TIMEOUT = 500  #: of workers, and of PARTIALs
WIDTHS = [3, 2]  #: of two aggregations, in slices of 2
RACKS = {"two and two": (0, 1, 0, 1), "one and two": (0, 1, 1)}
JOB, EPOCH = 1, 21


@dataclass(frozen=True, kw_only=True)
class NetworkParams:
    """Says what a leaf and a spine are; a spine has a port for each leaf, a leaf a link to each."""

    leaf: GnnSwitchParams
    spine: GnnSwitchParams

    @property
    def switches(self):
        """All switches by their names; leaf k comes k-th."""
        leaves = {f"leaf_{k}": self.leaf for k in range(self.spine.ports)}
        return leaves | {f"spine_{k}": self.spine for k in range(self.leaf.links)}


class TwoLevels(Component):
    """Switches side by side; what connects them is outside."""

    def __init__(self, params):
        members = {}
        for name, switch in params.switches.items():
            inner = GnnSwitch(switch).signature.members
            members |= {f"{name}_{port}": inner[port] for port in inner}
        super().__init__(params, members)

    def build(self, m):
        for name, params in self.params.switches.items():
            m.submodules[name] = switch = GnnSwitch(params)
            connect(m, flipped(getattr(self, f"{name}_s_axil")), switch.s_axil)
            for k in range(params.ports):
                connect(m, flipped(getattr(self, f"{name}_s_axis")[k]), switch.s_axis[k])
                connect(m, switch.m_axis[k], flipped(getattr(self, f"{name}_m_axis")[k]))


def network(spines):
    leaf = GnnSwitchParams(**{**PRESETS["tiny"], "ports": 2 + spines, "links": spines})
    return NetworkParams(leaf=leaf, spine=replace(leaf, ports=2, links=2))


@pytest.mark.parametrize(
    ("racks", "spines"), short_products(RACKS, [1, 2], short=[(racks, 1) for racks in RACKS])
)
def test_two_levels(racks, spines):
    simulate(TwoLevels(network(spines)), __name__, plusargs=[f"+racks={racks.replace(' ', '_')}"])


class Switch(SwitchBench):
    """A switch whose ports in ``beyond`` lead to a port of another one."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.beyond = {}
        self.loses = lambda port, frame: False

    def left(self, port, octets):
        """Pass on a frame that has left: to a worker, or to another switch."""
        if port not in self.beyond:
            super().left(port, octets)
            return
        frame = judge(octets, self.params.lanes, self.group)
        self.frames.append((self.now, port, frame))
        other, far = self.beyond[port]
        if self.loses(port, frame):
            return
        for delay in self.links.arrivals():
            cocotb.start_soon(other.enter(delay, far, octets))


class Bench:
    """Plays the network with a planned job; addresses are all the same, as links are direct."""

    def __init__(self, dut, *, chance=0.0, open_turns=1):
        self.dut, self.open_turns = dut, open_turns
        self.params = params_in_simulator(NetworkParams)
        links, own = Links(chance), random.randbytes(6)
        self.links = links
        self.switches = {}
        for name, params in self.params.switches.items():
            item = Switch(dut, links, params=params, prefix=f"{name}_")
            item.own = item.group = own
            self.switches[name] = item
        self.spines = [item for name, item in self.switches.items() if "spine" in name]
        self.leaves = [item for name, item in self.switches.items() if "leaf" in name]
        for k, leaf in enumerate(self.leaves):
            for up, spine in enumerate(self.spines, self.params.leaf.first_link):
                leaf.beyond[up] = spine, k
                spine.beyond[k] = leaf, up

    async def begin(self, racks, crossing=None):
        """Plan a job of a random graph for this many workers, and start it, but at the last spine.

        No more than ``crossing`` edges are between racks, if it is said.
        """
        rng = np.random.default_rng(cocotb.RANDOM_SEED)
        leaf = self.params.leaf
        adjacency, partition = directed(vertices=30, edges=90, workers=len(racks))
        if crossing is not None:
            adjacency = self.thinned(adjacency, np.array(racks)[partition.owner], crossing)
        depth = leaf.slots // 2
        shape = SwitchShape(ports=len(racks), banks=leaf.banks, depth=depth, lanes=leaf.lanes)
        built = prepare(adjacency, partition, shape, WIDTHS, theta=2)
        planned = levels(built, racks, leaf.ports, len(self.spines))
        self.cut = edges_between(adjacency, partition.owner)
        self.features = [
            rng.integers(-(1 << 15), 1 << 15, (30, width)).astype(np.int16) for width in WIDTHS
        ]
        job = RackedJob(planned, self.features, depth=depth, window=leaf.window)
        self.jobs, setups = job.leaves, job.setups(self.open_turns, ack_every=2)
        await start(self.dut)
        for item in self.switches.values():
            item.attach()
            await item.set_up()
        for name, setup in setups.items():
            host, (far,) = self.switches[name].host, set(setup.links.values())
            above = setup.above.bit_count()
            await host.set_links(above=above, far_port=far, timeout=TIMEOUT)
            if host is not self.spines[-1].host:
                await host.start_job(JOB, setup=setup, epoch=EPOCH, base=0)
        self.last = setup
        for leaf, job, workers in zip(self.leaves, self.jobs, planned.workers, strict=True):
            leaf.workers = {
                port: job.worker(port, JOB, EPOCH, self.open_turns) for port in range(workers.size)
            }
        self.expected = [self.partials(setups[name]) for name in setups if "leaf" in name]
        return self

    async def start_last(self):
        """Start the job at the last spine."""
        await self.spines[-1].host.start_job(JOB, setup=self.last, epoch=EPOCH, base=0)
        return self

    def thinned(self, adjacency, rack, crossing):
        """Return the graph with its first edges between racks alone, and all edges within racks."""
        edges = adjacency.tocoo()
        between = rack[edges.row] != rack[edges.col]
        kept = ~between | (np.cumsum(between) <= crossing)
        return csr_array((edges.data[kept], (edges.row[kept], edges.col[kept])), adjacency.shape)

    async def turns(self, switch):
        """Return how many turns of a switch have ended."""
        return (await switch.host.counters())["turns"]

    def partials(self, setup):
        """Return the number of sums that a leaf sends to spines in the whole job."""
        upwards = [
            sum(item.port in setup.links for item in block.values()) for block in setup.blocks
        ]
        return sum(upwards[step.block] * step.turns for step in setup.program)

    async def run(self, most=80_000):
        """Run until the turns of all workers are over."""
        workers = [worker for leaf in self.leaves for worker in leaf.workers.values()]
        with ExitStack() as stack:
            for leaf in self.leaves:
                stack.enter_context(leaf.running(timeout=TIMEOUT, apart=7))
            for _ in range(0, most, 20):
                if all(worker.ended for worker in workers):
                    return
                await edges(self.dut.clk, 20)
        raise AssertionError([worker.state.lo for worker in workers])

    async def check(self):
        """Check that all sums are A X, to the last bit, and no switch has found a wrong table."""
        sums = [
            job.sums(list(leaf.workers.values()))
            for leaf, job in zip(self.leaves, self.jobs, strict=True)
        ]
        for number, values in enumerate(self.features):
            together = sum(each[number] for each in sums)
            assert np.array_equal(together, aggregate(self.cut, values))
        for item in self.switches.values():
            errors = await item.host.table_errors(JOB)
            assert (sum(errors.counts.values()), errors.cause) == (0, "NONE")

    async def counts(self, name):
        """Return a counter of links: of each leaf's, and of all of the spines'."""
        ports = [await item.host.port_counters() for item in (*self.leaves, *self.spines)]
        each = [sum(port[name] for port in of.values()) for of in ports]
        return each[: len(self.leaves)], sum(each[len(self.leaves) :])


async def begin(dut, **options):
    racks = RACKS[cocotb.plusargs["racks"].replace("_", " ")]
    return await (await Bench(dut, **options).begin(racks)).start_last()


@crossed(open_turns=[1, 2])
async def sums_are_exact(dut, open_turns):
    """Each sum is sent up once, and nothing is repeated."""
    bench = await begin(dut, open_turns=open_turns)
    await bench.run()
    await bench.check()
    up, down = await bench.counts("partials")
    assert up == bench.expected
    assert down > 0
    assert await bench.counts("partials_again") == ([0] * len(up), 0)
    assert await bench.counts("acks_unknown") == ([0] * len(up), 0)


@crossed(open_turns=[1, 2])
async def sums_are_exact_on_bad_links(dut, open_turns):
    """All is repeated until it has arrived; what is doubled is added once."""
    bench = await begin(dut, chance=CHANCE, open_turns=open_turns)
    await bench.run()
    await bench.check()
    again, down = await bench.counts("partials_again")
    assert min(again) > 0
    assert down > 0
    verdicts = [await spine.host.verdicts() for spine in bench.spines]
    for leaf in range(len(bench.leaves)):
        assert sum(of[leaf]["REPEATED"] for of in verdicts) > 0
        assert sum(of[leaf]["ACKNOWLEDGED"] for of in verdicts) > 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def links_with_back_pressure(dut):
    bench = await begin(dut, open_turns=2)
    for item in bench.switches.values():
        item.stall = lambda port: often()
    await bench.run()
    await bench.check()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_spine_that_is_away_comes_back(dut):
    """In the middle of the job, the links of a leaf take nothing for a while."""
    bench = await begin(dut, open_turns=2)
    leaf, up = bench.leaves[0], bench.params.leaf.ports - 1
    for _ in range(4):
        with bench.leaves[0].running(), bench.leaves[1].running():
            await edges(dut.clk, 300)
        leaf.takes[up] = bench.spines[-1].takes[0] = not leaf.takes[up]
    leaf.takes[up] = bench.spines[-1].takes[0] = True
    await bench.run()
    await bench.check()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_turn_ends_when_all_racks_have_it(dut):
    """No worker is told that a turn is over before every worker of the other leaf is DONE."""
    bench = await begin(dut, open_turns=1)
    slow = bench.leaves[1].workers
    bench.leaves[1].workers = {}  # what is sent to them is lost
    with bench.leaves[0].running(timeout=TIMEOUT):
        await edges(dut.clk, 3000)
    assert all(worker.state.lo == 0 for worker in bench.leaves[0].workers.values())
    kinds = [frame.kind for _, _, frame in bench.leaves[0].frames]
    assert Kind.ADVANCE not in kinds
    bench.leaves[1].workers = slow
    await bench.run()
    await bench.check()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_turn_ends_when_all_spines_have_ended_it(dut):
    """For a while all DONEs of a leaf to the last spine are lost; others have ended the turn."""
    bench = await begin(dut)
    leaf, up = bench.leaves[0], bench.params.leaf.ports - 1
    leaf.loses = lambda port, frame: port == up and frame.kind is Kind.DONE
    with bench.leaves[0].running(timeout=TIMEOUT), bench.leaves[1].running(timeout=TIMEOUT):
        await edges(dut.clk, 8000)
    assert [await bench.turns(item) for item in bench.leaves] == [0, 0]
    others = len(bench.spines) - 1
    assert [await bench.turns(item) for item in bench.spines] == [1] * others + [0]
    assert all(frame.kind is not Kind.ADVANCE for _, _, frame in leaf.frames)
    leaf.loses = lambda port, frame: False
    await bench.run()
    await bench.check()


@crossed(open_turns=[1, 2])
async def a_spine_without_sums_ends_turns_too(dut, open_turns):
    """Of two spines one has no sum of any turn, and gets its job when the other has ended one."""
    racks = RACKS[cocotb.plusargs["racks"].replace("_", " ")]
    bench = await Bench(dut, chance=CHANCE, open_turns=open_turns).begin(racks, crossing=1)
    if len(bench.spines) > 1:
        assert not any(bench.last.blocks)
        with bench.leaves[0].running(timeout=TIMEOUT), bench.leaves[1].running(timeout=TIMEOUT):
            while not await bench.turns(bench.spines[0]):
                await edges(dut.clk, 500)
            await edges(dut.clk, 3000)
        assert [await bench.turns(item) for item in (bench.spines[0], *bench.leaves)] == [1, 0, 0]
    await bench.start_last()
    await bench.run()
    await bench.check()
