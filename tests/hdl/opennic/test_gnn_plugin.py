"""SwitchGNN's switch as a plugin in the box, between golden workers, MACs and a host."""

import random

import cocotb
import numpy as np

from hdl.opennic.registers import plugin_registers
from sim.harness.streams import STALLS, crossed, mostly, never, rarely
from sim.harness.verilator import params_in_simulator, simulate
from sim.switchgnn.switch_bench import Links, SwitchBench
from sim.switchgnn.switch_program import GnnSwitchProgram
from tests.hdl.opennic.box import BoxBench, tiny
from tests.hdl.opennic.others import Others
from tests.hdl.opennic.packets import is_own
from tests.hdl.switchgnn.switch.ingress.drawn_frames import compare, counted, start_jobs
from tests.hdl.switchgnn.switch.switch_bench import check, workers_of

CHANCE = 0.3  #: of a frame's being lost, of its being doubled, of its coming late
BOX = 60  #: cycles that a frame takes longer than through the switch alone


def test_gnn_plugin():
    simulate(tiny("switchgnn-switch"), __name__)


class Bench(SwitchBench):
    """Drives the switch's ports by the MACs of the box, and its registers by the box's window."""

    def __init__(self, dut, chance=0.0, stalls=(never, never)):
        self.box = BoxBench(dut, plugin_registers(), *stalls)
        super().__init__(dut, Links(chance), params=params_in_simulator().params)

    def add_port(self, k):
        self.box.watch(k, lambda octets: is_own(octets) and self.left(k, octets))

    def attach(self):
        self.host = GnnSwitchProgram(self.box.side, self.params, self.box.master)

    async def begin(self):
        await self.box.begin()
        self.attach()
        return await self.set_up()

    async def enter(self, delay, port, octets, corrupt=False):
        await self.box.wait(delay)
        self.box.from_mac(port, octets, fault="stated" if corrupt else "")

    async def idle(self, cycles):
        await super().idle(cycles + BOX)


@crossed(stalls=STALLS, ms=2)
async def workers_add_up_on_bad_links_beside_other_packets(dut, stalls):
    bench = await Bench(dut, CHANCE, stalls).begin()
    cuts = await start_jobs(bench, np.random.default_rng(cocotb.RANDOM_SEED), 2, 3)
    bench.workers = workers_of(cuts)
    others = Others(bench.box, is_own)
    sending = others.begin()
    await bench.run()
    sending.cancel()
    check(cuts, bench.workers)
    await others.check()
    for k, verdicts in (await bench.host.verdicts()).items():
        assert await bench.box.plugin.read(f"port_{k}_to_switch") == sum(verdicts.values())
        left = await bench.box.plugin.read(f"port_{k}_from_switch")
        assert left == sum(port == k for _, port, _ in bench.frames)
    assert not any((await bench.host.table_errors(0)).counts.values())


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def equals_the_golden_switch(dut):
    """One frame at a time: all that leaves, and all verdicts, are equal."""
    bench = await Bench(dut, stalls=(rarely, rarely)).begin()
    await bench.host.write(ack_every=1)
    _, counts = await compare(bench, 2, 600)
    verdicts = counted(await bench.host.verdicts())
    for met in (counts, verdicts):  # frames of other EtherTypes pass the switch by
        met.pop((0, "FOREIGN"), 0)
        met.pop((1, "FOREIGN"), 0)
    assert verdicts == counts


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_reset_in_the_middle_is_survived(dut):
    """All jobs are gone, no packet is cut; the host starts them anew, with another epoch."""
    bench = await Bench(dut, CHANCE, (rarely, mostly)).begin()
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    for epoch in (7, 60, 1000):
        cuts = await start_jobs(bench, rng, 2, 2, epoch)
        bench.workers = workers_of(cuts, epoch)
        with bench.running(timeout=300):
            await bench.idle(random.randrange(300, 500))
            assert not all(worker.ended for worker in bench.workers.values())
            await bench.box.reset()
        assert await bench.host.read("active_jobs") == 0
        await bench.set_up()
    cuts = await start_jobs(bench, rng, 2, 2)
    bench.workers = workers_of(cuts)
    await bench.run()
    check(cuts, bench.workers)
