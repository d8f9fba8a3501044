"""Compares a tree's switch with its golden model, for frames of children, parents or nobody."""

import random
from dataclasses import replace

import cocotb

from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.switch.tenant_params import TenantVerdict
from hdl.p4sgd.switch.tree_params import TreeSwitchParams
from sim.golden.reduction.allreduce import SwitchSlot
from sim.golden.reduction.frames import LANES, WireFrame
from sim.golden.reduction.tree_frames import LENGTHS, long_frame
from sim.golden.reduction.tree_switch import TreeSwitchModel, own_part
from sim.golden.tenancy import EPOCHS, State, Verb
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.switch.bench import Arrival, TenantBench
from tests.hdl.p4sgd.switch.deep_slots import DeepTreeSwitchParams
from tests.hdl.p4sgd.switch.traffic import choose_packet, choose_payload

PARAMS = DeepTreeSwitchParams(ports=4, slots=16, jobs=4, ingress_depth=32, egress_depth=16)
#: jobs share ports; the switch is the root of job 2's tree
REGISTERED = {
    0: {"ports": 0b0011, "parent": 2, "base": 0, "count": 4},
    1: {"ports": 0b0110, "parent": 3, "base": 4, "count": 3},
    2: {"ports": 0b1101, "parent": None, "base": 7, "count": 5},
    3: {"ports": 0b0001, "parent": 1, "base": 12, "count": 4},
}
#: what a parent says: is_agg, acked
FULL, ACKED, PENDING = (True, False), (False, True), (True, True)


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
        holders = self.model.holders.items()
        drain = {k for k, item in holders if item.state is State.DRAINING}
        ended = {k for k in drain if not self.model.unfinished(k)}
        number = random.choice(sorted(set(REGISTERED) - ended))
        fields, held = REGISTERED[number], number in self.model.active
        seq = fields["base"] + random.choice((0, random.randrange(fields["count"])))
        slot = SwitchSlot.at_start(fields["ports"], LANES)
        if held:
            slot = self.model.tree_job(number).tree_slot(seq)
        if random.random() < 0.04:
            seq = random.randrange(PARAMS.slots)
        epoch = self.last[number] % EPOCHS
        frame = WireFrame(destination=self.model.address, job=number, epoch=epoch, seq=seq)
        if fields["parent"] is not None and random.random() < 0.4:
            port, data = fields["parent"], self.of_parent(frame, slot, fields["ports"])
        else:
            port, data = self.of_child(frame, slot, fields["ports"])
        return self.spoilt(port, data)

    def of_parent(self, frame, slot, everyone):
        """Return what the slot waits for, or anything that a parent may say."""
        own = own_part(slot)
        is_agg, acked = ACKED if own.ack_bm == everyone else FULL
        use = own.use
        if random.random() < 0.2:
            is_agg, acked = random.choice((FULL, ACKED, PENDING))
            use = (use + random.choice((-1, 0, 0, 1))) % 256
        full = is_agg and not acked
        bm = 1 << self.model.place
        return replace(
            frame,
            is_agg=is_agg,
            acked=acked,
            use=use,
            bm=random.choice((bm, 0xFFFFFFFF, random.getrandbits(32) | bm)),
            saturated=random.choice((0, random.getrandbits(LANES))) if full else 0,
            payload=choose_payload(LANES) if random.random() < 0.9 else (0,) * LANES,
        ).to_bytes()

    def of_child(self, frame, slot, everyone):
        """Return a frame of a worker, or of a switch, whose sums have more bits."""
        is_agg, port, use = choose_packet(own_part(slot), everyone)
        frame = replace(frame, bm=1 << port, is_agg=is_agg, use=use)
        if is_agg and random.random() < 0.5:
            sums = choose_payload(LANES, random.choice((33, 34, 37)))
            return port, long_frame(frame, sums)
        return port, replace(frame, payload=choose_payload(LANES)).to_bytes()

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
