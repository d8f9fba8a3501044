"""MINA's switch as a plugin in the box, frame by frame beside its golden model."""

import random
from functools import partial
from types import SimpleNamespace

import cocotb

from hdl.opennic.box import PORTS
from hdl.opennic.registers import plugin_registers
from sim.golden.reduction.tree_switch import TreeSwitchModel
from sim.golden.tenancy import Command, Verb
from sim.harness.host_program import HostProgram
from sim.harness.streams import STALLS, crossed, mostly, never, rarely
from sim.harness.verilator import params_in_simulator, simulate
from sim.mina.switch_in_simulator import ADDRESS, GROUP, TenantBench
from sim.mina.switch_session import TenantSwitchWorkload
from sim.p4sgd.switch_side import switch_side
from tests.hdl.opennic.box import BoxBench, tiny
from tests.hdl.opennic.others import Others
from tests.hdl.opennic.packets import is_own
from tests.hdl.p4sgd.switch import bench as commanded


def test_mina_plugin():
    simulate(tiny("mina-switch"), __name__)


class Bench(TenantBench):
    """Drives the switch's ports by the MACs of the box, and its registers by the box's window."""

    late = 1500  # packets of others, and stalls, are in the way
    order_by_registers = commanded.TenantBench.order_by_registers

    def __init__(self, dut, stalls=(never, never), **requested):
        self.box = BoxBench(dut, plugin_registers(), *stalls)
        super().__init__(dut, params_in_simulator().params, TenantSwitchWorkload(**requested))

    def open(self):
        self.host = HostProgram(self.box.side, self.box.master, switch_side(self.params))
        self.sinks = [SimpleNamespace(beats=[]) for _ in range(PORTS)]
        for k, sink in enumerate(self.sinks):
            self.box.watch(k, partial(self.leaves, sink.beats))

    def leaves(self, beats, octets):
        if is_own(octets):
            beats.append({"tdata": int.from_bytes(octets, "little")})

    async def begin(self):
        await self.box.begin()
        await self.set_up()
        return self

    async def deliver(self, port, data):
        """Let a frame arrive, before any other may at either port."""
        self.box.from_mac(port, data)
        while self.box.rx[port].missing:
            await self.box.wait(1)

    async def order(self, verb, job, epoch, **fields):
        """Give a command by a frame, or by the host's registers; the answer is the model's."""
        if self.random.random() < 0.5:
            return await super().order(verb, job, epoch, **fields)
        await self.quiet()
        command = Command(verb=verb, switch=0, job=job, epoch=epoch, **fields)
        return await self.order_by_registers(command)

    async def take_turns(self, count):
        for _ in range(count):
            for job in range(self.params.jobs):
                await self.turn(job)


@crossed(stalls=STALLS, ms=2)
async def equals_the_golden_switch_beside_other_packets(dut, stalls):
    bench = await Bench(dut, stalls, strays=0.3).begin()
    others = Others(bench.box, is_own)
    sending = others.begin()
    await bench.take_turns(8)
    sending.cancel()
    await bench.quiet()
    bench.compare()
    verdicts = (await bench.counters())["verdicts"]
    assert verdicts["ADDED"] * verdicts["NOT_GRANTED"]
    await others.check()
    for k in range(PORTS):
        left = await bench.box.plugin.read(f"port_{k}_from_switch")
        assert left == len(bench.sinks[k].beats)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_reset_takes_all_grants(dut):
    """No packet is cut; jobs that are registered anew get the switch by any grant's number."""
    bench = await Bench(dut, (rarely, mostly)).begin()
    for _ in range(3):
        await bench.take_turns(3)
        if not bench.model.holders:
            bench.last[0] += 1
            await bench.order(Verb.ACQUIRE, 0, bench.last[0])
        assert bench.model.holders
        for _ in range(random.randrange(8)):
            await bench.send(*bench.frame(*bench.model.holders))
        await bench.box.reset()
        await bench.box.wait(600)
        assert not await bench.host.read("registered_jobs")
        bench.model = TreeSwitchModel(PORTS, bench.params.slots, bench.params.jobs, ADDRESS, GROUP)
        bench.last = [0] * bench.params.jobs
        for sink, frames in zip(bench.sinks, bench.expected, strict=True):
            assert 0 < len(sink.beats) <= len(frames)
            sink.beats.clear()
            frames.clear()
        await bench.set_up()
    await bench.take_turns(3)
    bench.compare()
    await bench.counters()
