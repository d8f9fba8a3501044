"""Runs switches of three levels in one simulation, with P4SGD's workers, on bad links.

Two jobs share the switches: one has all of them, and of the other one's tree the middle one is the
root, which has two leaves of two workers.
"""

import random
from collections import Counter

import cocotb

from hdl.p4sgd.switch.switch import Switch
from sim.golden.tree_plan import TreePlan
from sim.harness.axi_streams import AxiSink, AxiSource, beats_of
from sim.harness.host_program import HostProgram
from sim.harness.payloads import pack
from sim.harness.streams import crossed, edges, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.host.switch.traffic import bits_of
from sim.p4sgd.surroundings.tree_system import TreeSystem, TreeSystemParams
from sim.p4sgd.switch_side import switch_side
from sim.surroundings.link import LinkParams
from tests.sim.golden.reduction.tree_network import (
    above,
    group,
    make_workers,
    own,
    right_sums,
    some_partials,
)

PLAN = TreePlan(((2, 2), None))
MIDDLE = 1  #: the switch below the root
PARAMS = TreeSystemParams(plan=PLAN, slots=16, link=LinkParams(depth=64, holds=8, beats=2))
SLOTS = 4  #: of each job
COUNT = 40  #: sums of each job
BAD = dict.fromkeys(("drop", "duplicate", "reorder"), int(0.3 * (1 << 16)))
LATENCY = 3  #: of a link
PATIENCE = 250  #: cycles until a worker asks again
#: number and epoch of each job; the second one's tree begins at MIDDLE
ALL, PART = {"job": 0, "epoch": 7, "base": 2}, {"job": 1, "epoch": 9, "base": 8}


def test_tree_network():
    simulate(TreeSystem(PARAMS), __name__)


class Bench:
    """Has the tree, its hosts' drivers, and golden workers of both jobs at the same ports."""

    def __init__(self, dut):
        self.dut, self.params = dut, params_in_simulator(TreeSystemParams)
        self.sources, self.sinks = {}, {}
        for k, number in enumerate(PLAN.workers):
            self.sources[number] = AxiSource(dut, f"from_workers_{k}")
            take = lambda beat, number=number: self.take(number, beat)  # noqa: E731
            self.sinks[number] = AxiSink(dut, f"to_workers_{k}", callback=take)
        self.hosts = [
            HostProgram(dut, f"s_axil_{number}", switch_side(self.params.switch))
            for number in PLAN.switches
        ]
        self.workers = {ALL["job"]: {}, PART["job"]: {}}

    async def begin(self, **faults):
        settings = {"latency": LATENCY, "displacement": 60, "seed": random.getrandbits(32)}
        nothing = dict.fromkeys(self.params.link.settings.members, 0)
        self.dut.link.value = pack(self.params.link.settings, nothing | settings | faults)
        await start(self.dut)
        for number, host in enumerate(self.hosts):
            await host.set_addresses(own(PLAN, number), group(number))
            await host.share(most=2, ports_apart=False)
            member = PLAN.members[number]
            if member.parent is not None:
                await host.set_parents(above(PLAN, number), member.place)
            await self.enter(host, ALL, member.everyone, member.parent_port)
            if number == MIDDLE or member.parent == MIDDLE:
                parent = None if number == MIDDLE else member.parent_port
                await self.enter(host, PART, member.everyone, parent)
        return self

    async def enter(self, host, job, ports, parent):
        """Give a switch to a job."""
        fields = {"ports": bits_of(ports), "parent": parent, "base": job["base"], "slots": SLOTS}
        await host.register(job["job"], epoch=job["epoch"] - 1, **fields)
        await host.acquire(job["job"], job["epoch"])

    def employ(self, job, partials):
        """Give a job workers, which sum up this many partials."""
        below = [number for number in PLAN.workers if PLAN.members[number].parent != 0]
        numbers = below if job is PART else list(PLAN.workers)
        self.workers[job["job"]] = make_workers(PLAN, partials, SLOTS, numbers=numbers, **job)

    def send(self, number, frames):
        for frame in frames:
            for beat in beats_of(frame):
                self.sources[number].append(beat)

    def take(self, number, beat):
        """Let a worker see what has come."""
        data = beat["tdata"].to_bytes(64, "little")[: beat["tkeep"].bit_length()]
        for workers in self.workers.values():
            if number in workers:
                self.send(number, workers[number].take(data, corrupt=bool(beat["tuser"])))

    async def run(self, most=60_000):
        """Run until all workers are done; what is missing is asked for again."""
        everyone = [pair for workers in self.workers.values() for pair in workers.items()]
        for number, worker in everyone:
            self.send(number, worker.begin())
        for cycles in range(PATIENCE, most, PATIENCE):
            await edges(self.dut.clk, PATIENCE)
            if all(worker.done for _, worker in everyone):
                return cycles
            for number, worker in everyone:
                if self.sources[number].missing < 2 * SLOTS:
                    self.send(number, worker.repeat())
        raise AssertionError(f"not over after {most} cycles")


@crossed(faults=[{}, BAD | {"corrupt": 3000}], ms=5)
async def sums_are_exact(dut, faults):
    """Each worker has each sum once, clamped once; also those beyond 32 bits on their way."""
    bench = await Bench(dut).begin(**faults)
    expected = {}
    for job in (ALL, PART):
        plan = PLAN if job is ALL else TreePlan((2, 2))
        partials = some_partials(plan, COUNT)
        bench.employ(job, partials)
        expected[job["job"]] = right_sums(partials)
    cycles = await bench.run()
    print(f"{2 * COUNT} sums in {cycles} cycles")
    for job, workers in bench.workers.items():
        sums, clamped = expected[job]
        for worker in workers.values():
            assert [worker.sums[j] for j in range(COUNT)] == sums
            assert [worker.clamped[j] for j in range(COUNT)] == clamped
    clamped_at = [sum(bits.bit_count() for bits in expected[job["job"]][1]) for job in (ALL, PART)]
    assert all(clamped_at)
    met = Counter()  # verdicts on what parents send
    for number, host in enumerate(bench.hosts):
        # Nobody clamps but the roots, and no parent answers what it was not asked.
        saturations = {0: clamped_at[0], MIDDLE: clamped_at[1]}.get(number, 0)
        assert await host.read("saturations") == saturations
        rows = (await host.verdicts()).values()
        assert not sum(row["UNASKED"] + row["WRONG_WAY"] + row["WRONG_WORKER"] for row in rows)
        assert await host.read("unfinished_jobs") == 0
        if PLAN.members[number].parent is not None:
            row = (await host.verdicts())[PLAN.members[number].parent_port]
            uses = COUNT * (1 if number == MIDDLE else 2)
            assert (row["FULL"], row["FREED"]) == (uses, uses)
            met.update(row)
    assert not faults or (met["REPEATED"] and met["PENDING"])  # at one of the switches, or more


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def three_levels_take_five_hops(dut):
    """A sum follows the last partial activation within 40 cycles, and those of links."""
    bench = await Bench(dut).begin()
    partials = some_partials(PLAN, 1)
    bench.employ(ALL, partials)
    workers = bench.workers[ALL["job"]]
    last, *others = workers
    for number in others:
        bench.send(number, workers[number].begin())
    await edges(dut.clk, 200)
    assert not any(worker.sums for worker in workers.values())
    bench.send(last, workers[last].begin())
    await bench.sinks[last].wait_for(1)
    assert workers[last].sums
    hop = Switch(bench.params.switch).latency
    assert 5 * hop <= 40
    assert bench.sinks[last].cycles[0] - bench.sources[last].cycles[0] == 5 * hop + 6 * LATENCY
