"""Compares a tree's switch with its golden model, for frames of children, parents or nobody."""

import random

import cocotb

from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.switch.tenant_params import TenantVerdict
from hdl.p4sgd.switch.tree_params import TreeSwitchParams
from sim.golden.reduction.frames import WireFrame
from sim.golden.reduction.tree_frames import LENGTHS
from sim.golden.reduction.tree_switch import TreeSwitchModel
from sim.golden.tenancy import EPOCHS, State, Verb
from sim.harness.verilator import params_in_simulator, simulate
from sim.host.switch.tenant_workers import of_child, of_parent
from tests.hdl.p4sgd.switch.bench import Arrival, TenantBench
from tests.hdl.p4sgd.switch.deep_slots import DeepTreeSwitchParams

PARAMS = DeepTreeSwitchParams(ports=4, slots=16, jobs=4, ingress_depth=32, egress_depth=16)
#: jobs share ports; the switch is the root of job 2's tree
REGISTERED = {
    0: {"ports": 0b0011, "parent": 2, "base": 0, "count": 4},
    1: {"ports": 0b0110, "parent": 3, "base": 4, "count": 3},
    2: {"ports": 0b1101, "parent": None, "base": 7, "count": 5},
    3: {"ports": 0b0001, "parent": 1, "base": 12, "count": 4},
}


def test_tree_switch():
    simulate(Switch(PARAMS), __name__)


def test_latency_of_a_hop():
    """It is that of a switch without a parent: three levels are five hops."""
    assert 5 * Switch(TreeSwitchParams(slots=1 << 15)).latency == 40
    assert 5 * Switch(TreeSwitchParams()).latency == 50


class TreeBench(TenantBench):
    """A switch with all jobs registered, in hardware and in the model."""

    model_type = TreeSwitchModel
    lengths = LENGTHS

    async def register(self):
        await self.change_parents()
        self.model.open_ports = 0b1111
        await self.host.open_ports([0, 1, 2, 3])
        await self.share(len(REGISTERED), apart=False)
        return await self.register_all(REGISTERED)

    async def change_parents(self):
        """Move parents anywhere else, in the switch and in the model."""
        self.model.above, self.model.place = random.randbytes(6), random.randrange(32)
        await self.host.set_parents(self.model.above, self.model.place)

    def some_frame(self):
        """Draw one that mostly carries on what a job has begun, in both directions."""
        number = random.choice(sorted(set(REGISTERED) - self.model.ending))
        fields = REGISTERED[number]
        seq = fields["base"] + random.choice((0, random.randrange(fields["count"])))
        own = self.model.own_part(number, seq)
        if random.random() < 0.04:
            seq = random.randrange(PARAMS.slots)
        epoch = self.last[number] % EPOCHS
        frame = WireFrame(destination=self.model.address, job=number, epoch=epoch, seq=seq)
        if fields["parent"] is not None and random.random() < 0.4:
            data = of_parent(random, frame, own, fields["ports"], self.model.place)
            return self.spoilt(fields["parent"], data)
        child = of_child(random, frame, own, fields["ports"])
        return self.spoilt(int(child.name), child.data)

    def spoilt(self, port, data):
        """Return the frame, now and then spoilt."""
        drains = any(item.state is State.DRAINING for item in self.model.holders.values())
        kind = random.random()
        if kind < 0.04:
            port = random.randrange(PARAMS.ports)
        elif kind < 0.12:  # fields, flags and what is saturated
            at = random.choice((0, 12, 14, 15, 15, 15, 16, 18, 20, 22, 24, 27, 27))
            if at == 20 and drains:  # of a job that drains to its end; in which cycle is open
                at = 22
            data = data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
        elif kind < 0.15:
            length = random.choice((59, 60, 61, 63, 64, 65, 100))
            data = (data + random.randbytes(64))[:length]
        return Arrival(port, data, corrupt=random.random() < 0.02)

    async def counters_agree(self):
        """Check that what counts by port counts by job, of those that name one."""
        await self.jobs_agree(self.model.octets)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def equals_the_golden_model(dut):
    """Answers come in their cycles, while jobs come and go and parents move."""
    bench = await TreeBench(dut, params_in_simulator(TreeSwitchParams)).begin()
    await bench.register()
    for k in range(60):
        number = random.randrange(bench.params.jobs)
        if number not in bench.model.holders:
            assert (await bench.acquire(number)).verb is Verb.GRANTED
        elif random.random() < 0.3:
            await bench.release(number, force=random.random() < 0.2)
        if k % 20 == 0:
            await bench.change_addresses()
            await bench.change_parents()
        await bench.exchange(bench.some_frame() for _ in range(200))
        await bench.settle()
    await bench.counters_agree()
    met = {verdict.name for _, verdict in bench.model.counters}
    assert met == {verdict.name for verdict in TenantVerdict} - {"NONE"}
    assert bench.model.saturations > 50
