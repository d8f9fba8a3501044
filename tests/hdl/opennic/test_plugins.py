"""P4SGD's switch as a plugin in the box, between workers, MACs and a host."""

import random
from dataclasses import replace
from functools import partial

import cocotb
import pytest

from hdl.opennic.box import mac_bit
from hdl.opennic.registers import IDENTITY, plugin_registers
from hdl.p4sgd.switch.params import SwitchParams
from sim.golden.reduction.allreduce import saturated
from sim.harness.host_program import HostProgram
from sim.harness.streams import STALLS, crossed, edges, often, rarely
from sim.harness.verilator import params_in_simulator, simulate
from sim.p4sgd.golden.frame_worker import FrameWorker
from sim.p4sgd.switch_side import switch_side
from tests.hdl.opennic.box import CHECKOUT, Box, BoxBench, BoxParams
from tests.hdl.opennic.others import Others
from tests.hdl.opennic.packets import box_beats, frame, is_own, packets_of

SWITCH = SwitchParams(ports=2, slots=16, jobs=2, ingress_depth=16, egress_depth=16)
PARAMS = BoxParams(design="p4sgd-switch", params=SWITCH)
ADDRESS, GROUP = bytes.fromhex("020000000010"), bytes.fromhex("030000000001")
PATIENCE = 300  #: cycles until workers send again what they wait for


def test_plugins():
    simulate(Box(PARAMS), __name__)


@pytest.mark.long
@pytest.mark.skipif(not CHECKOUT, reason="OPENNIC=PATH names no checkout of open-nic-shell")
def test_plugins_in_the_box_of_the_shell():
    """It is the shell's own box and reset; what is around both holds IP of AMD's: see README."""
    simulate(Box(replace(PARAMS, shell=CHECKOUT)), __name__)


async def begin(dut, stalls=(rarely, rarely)):
    bench = await BoxBench(dut, plugin_registers(), *stalls).begin()
    bench.host = HostProgram(bench.side, bench.master, switch_side(params_in_simulator().params))
    await bench.host.set_addresses(ADDRESS, GROUP)
    await bench.host.start_job(1, ports=[0, 1], epoch=9, base=4, slots=4)
    return bench


class Network:
    """Carries frames between workers and MACs, and loses and repeats some of them."""

    def __init__(self, bench, workers, chance):
        self.bench, self.workers, self.chance = bench, workers, chance
        for k in range(len(workers)):
            bench.watch(k, partial(self.arrive, k))

    def fates(self, frames):
        """Yield the frames that arrive, which may be none, or one twice."""
        for octets in frames:
            yield from [octets] * random.choices((0, 1, 2), (self.chance, 1, self.chance))[0]

    def send(self, k, frames):
        for octets in self.fates(frames):
            self.bench.from_mac(k, octets)

    def arrive(self, k, packet):
        for octets in self.fates([packet] if is_own(packet) else []):
            self.send(k, self.workers[k].take(octets))

    async def run(self):
        """Let workers exchange frames until they have all sums."""
        for k, worker in enumerate(self.workers):
            self.send(k, worker.begin())
        while not all(worker.done for worker in self.workers):
            await self.bench.wait(PATIENCE)
            for k, worker in enumerate(self.workers):
                self.send(k, worker.repeat())


def workers(count):
    """Return two workers with so many partials, of which some sums are clamped, and their sums."""
    numbers = [
        [
            tuple(random.choice([random.randint(-9, 9), random.getrandbits(31)]) for _ in range(8))
            for _ in range(count)
        ]
        for _ in range(2)
    ]
    both = [
        FrameWorker(
            address=GROUP,
            switch=ADDRESS,
            port=k,
            job=1,
            epoch=9,
            base=4,
            slots=4,
            partials=partials,
        )
        for k, partials in enumerate(numbers)
    ]
    sums = [
        saturated([a + b for a, b in zip(*pair, strict=True)])
        for pair in zip(*numbers, strict=True)
    ]
    return both, dict(enumerate(sums))


@crossed(stalls=STALLS, ms=2)
async def workers_add_up_on_bad_links_beside_other_packets(dut, stalls):
    bench = await begin(dut, stalls)
    both, sums = workers(20)
    others = Others(bench, is_own)
    sending = others.begin()
    await Network(bench, both, 0.3).run()
    sending.cancel()
    assert all(worker.sums == sums for worker in both)
    await others.check()
    verdicts = await bench.host.verdicts()
    for k in range(2):
        assert verdicts[k]["ADDED"] == 20
        assert await bench.plugin.read(f"port_{k}_to_switch") == sum(verdicts[k].values())
        answers = [p for p in packets_of(bench.tx[k].beats) if is_own(p)]
        assert await bench.plugin.read(f"port_{k}_from_switch") == len(answers)
    await bench.plugin.write(clear_packets=1)
    assert await bench.plugin.read("port_0_to_switch") == 0


@cocotb.test(timeout_time=500, timeout_unit="us")
async def a_malformed_frame_changes_no_sum(dut):
    bench = await begin(dut)
    both, sums = workers(4)
    for k, worker in enumerate(both):
        for octets in worker.begin():
            bench.rx[k].extend(box_beats(octets, fault="stated", src=mac_bit(k)))
    await bench.wait(200)
    assert not bench.tx[0].beats + bench.tx[1].beats
    verdicts = await bench.host.verdicts()
    for k in range(2):
        assert verdicts[k]["CORRUPT"] == 4
        assert await bench.plugin.read(f"port_{k}_to_switch_malformed") == 4
    await Network(bench, both, 0).run()
    assert all(worker.sums == sums for worker in both)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_cuts_no_packet_to_the_shell(dut):
    """What had begun ends; of what was inside nothing is left; whole packets pass afterwards."""
    bench = await begin(dut, (rarely, often))
    for at in (30, 100, 137):
        for k in range(2):
            for _ in range(12):
                bench.from_mac(k, frame(random.choice([200, 1514])))
                bench.from_host(k, frame(random.choice([200, 1514])))
        await bench.wait(at)
        await bench.reset()
        while any(source.missing for source in (*bench.rx, *bench.h2c)):
            await bench.wait(10)
        await bench.wait(600)
        for k in range(2):
            for path in ("to_host", "from_host"):
                spoilt = await bench.plugin.read(f"port_{k}_{path}_malformed")
                assert spoilt <= 1  # the rest of the packet that the reset has cut
                assert await bench.plugin.read(f"port_{k}_{path}") + spoilt <= 12
        last = [frame(333), frame(444)]
        for k, octets in enumerate(last):
            bench.from_host(k, octets)
            bench.from_mac(k, octets)
        await bench.wait(300)
        for k, octets in enumerate(last):
            assert packets_of(bench.c2h[k].beats)[-1] == octets
            assert packets_of(bench.tx[k].beats)[-1] == octets
    await bench.host.set_addresses(ADDRESS, GROUP)
    await bench.host.start_job(1, ports=[0, 1], epoch=9, base=4, slots=4)
    both, sums = workers(4)
    await Network(bench, both, 0).run()
    assert all(worker.sums == sums for worker in both)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def every_access_of_the_host_is_answered(dut):
    bench = await begin(dut)
    assert await bench.plugin.read("plugin") == IDENTITY
    accesses = [bench.master.read(0x10000 + 4 * k, 4) for k in range(40)]
    waiting = [cocotb.start_soon(access) for access in accesses]
    await edges(dut.axil_clk, 60)
    await bench.reset()
    assert {str((await each).resp.name) for each in waiting} == {"OKAY", "SLVERR"}
    for address in (0x2000, 0x11000, 0xFFFFC):
        assert (await bench.master.read(address, 4)).resp.name == "SLVERR"
        assert (await bench.master.write(address, bytes(4))).resp.name == "SLVERR"
    assert await bench.plugin.read("plugin") == IDENTITY
