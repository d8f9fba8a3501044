"""Compares packets of writes of every alignment with the golden model's, taken apart as by the
block.
"""

import random

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.pcie.write_fence import LAST, MOST
from hdl.pcie.write_params import WriteRequesterParams
from hdl.pcie.write_requester import WriteRequester
from sim.golden.pcie_link import LINK_BYTES, write_bytes
from sim.golden.pcie_writes import writes
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed, cycle, never, until
from tests.hdl.pcie.number_reporter import NumberReporter
from tests.hdl.pcie.rq_monitor import RqMonitor, beats_of
from tests.simulated import simulated

SIZES = [
    WriteRequesterParams(max_payload=256),
    WriteRequesterParams(data_bits=256, max_payload=128),
]

test_write_requester = simulated(WriteRequester, SIZES, __name__, each=True)


class WriteBench(Bench):
    """Keeps what the user asks for, and what comes of it on RQ."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls, limit=3)
        self.rq = RqMonitor(dut, stall=self.sink_stall, callback=self.report)
        self.most = self.params.max_payload
        self.required, self.requested = [], []
        self.sent, self.visible = self.reports("sent"), self.reports("visible")
        self.idle, self.begun = self.record("idle"), self.record("begun")
        self.lost = self.record("lost")  # packets
        self.block = NumberReporter(dut)
        self.silent = False  # the block tells none that it is given now

    def issue(self, address, size):
        """Let random bytes be written."""
        user, payload = random.getrandbits(self.params.user_bits), random.randbytes(size)
        self.requests.append({"address": address, "bytes": size, "user": user})
        self.data.extend(beats_of(payload, self.params.beat_bytes))
        self.required += writes(address, payload, self.most)
        self.requested.append((user, len(self.required) - 1))

    def report(self, packet):
        """Let the block report a packet that it has taken."""
        if not self.silent:
            self.block.put(packet.number)

    async def finish(self):
        """Wait until everything has come, packet by packet, as it should; nothing else does."""
        await self.rq.wait_for(len(self.required))
        reported = len(self.rq.packets)
        while len(self.block.reported) < reported:
            await self.wait()
        await self.wait(80)
        for k, (packet, expected) in enumerate(zip(self.rq.packets, self.required, strict=True)):
            assert 4 * packet.result["address"] == expected.address, f"packet {k}"
            assert packet.result["dwords"] == len(expected.dwords)
            assert packet.enables == expected.byte_enables, f"packet {k}"
            for dword, places in zip(packet.dwords, expected.dwords, strict=True):
                assert {place: dword >> 8 * place & 0xFF for place in places} == places
            rest = {"address", "dwords", "kind"}
            assert packet.writes
            assert not any(value for name, value in packet.result.items() if name not in rest)
        ends = [(user, self.rq.packets[last].ended + 1) for user, last in self.requested]
        assert [(item["user"], at) for item, at in self.sent.result] == ends
        visible = self.visible.result
        assert [item["user"] for item, _ in visible] == [user for user, _ in self.requested]
        for (_, last), (_, seen) in zip(self.requested, visible, strict=True):
            assert self.block.reported[last][1] < seen
        assert not self.dut.owes.value

    def check_pulses(self):
        """Compare ``begun`` and ``idle`` in each cycle with the requests taken and sent in all."""
        assert self.begun.cycles == [packet.begun + 1 for packet in self.rq.packets]
        cycles = np.arange(self.requests.cycles[0] + 1, cycle() + 1)
        taken = np.searchsorted(self.requests.cycles, cycles - 2, "right")
        sent = np.searchsorted([at for _, at in self.sent.result], cycles - 1, "right")
        idle = [at for at in self.idle.cycles if at >= cycles[0]]
        assert idle == cycles[taken == sent].tolist()


def some_place(most):
    """Draw an address and a size near those of dwords, beats, payloads and pages."""
    size = random.choice(
        [random.randrange(1, 12), random.randrange(1, 3 * most), 48, 64, most, most + 1, 4096]
    )
    near = random.choice([4096, most, 64, 4])
    address = near * random.randrange(1, 1 << 20) + random.randrange(-70, 70)
    return address + (random.getrandbits(32) << 32), size


@crossed(stalls=STALLS)
async def every_byte_and_no_other(dut, stalls):
    """Writes have all places and sizes; ``sent`` comes in the cycle after a request's last beat."""
    bench = await WriteBench(dut, stalls.value).begin()
    for _ in range(60):
        bench.issue(*some_place(bench.most))
    await bench.finish()
    bench.check_pulses()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_alignment_of_begin_and_end(dut):
    """First bytes lie at every place in a beat, with ends at every place of one."""
    bench = await WriteBench(dut).begin()
    size = bench.params.beat_bytes
    for first in range(size):
        for count in {1, 2, size - first, random.randrange(1, 3 * size), bench.most + first}:
            bench.issue(bench.most - size + first, count)
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_host_may_allow_smaller_payloads(dut):
    bench = await WriteBench(dut).begin()
    for code in (0, 1, 3):
        dut.limit.value, bench.most = code, min(128 << code, bench.params.max_payload)
        await ClockCycles(dut.clk, 2)
        for _ in range(8):
            bench.issue(*some_place(bench.most))
        await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_beat_a_cycle_and_no_longer_than_stated(dut):
    """One packet of one beat is as late as stated; large and small ones follow without a gap."""
    bench = await WriteBench(dut).begin()
    bench.issue(0x1001, 9)
    await bench.finish()
    (packet,) = bench.rq.packets
    assert packet.begun - bench.requests.cycles[-1] == bench.component.latency
    # Each begins where a payload does and ends with one, or is of one beat.
    for size in (bench.most, bench.params.beat_bytes - 16):
        before = len(bench.rq.packets)
        for k in range(40):
            bench.issue(bench.most * k, size)
        await bench.finish()
        packets = bench.rq.packets[before:]
        beats = -(-(size + 16) // bench.params.beat_bytes)
        assert packets[-1].ended - packets[0].begun == beats * len(packets) - 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def rq_keeps_up_with_the_link(dut):
    """Payloads of the largest size take no longer on RQ than on Gen3 x16, of 256 bits x8."""
    bench = await WriteBench(dut).begin()
    count = 60
    for k in range(count):
        bench.issue(bench.most * k, bench.most)
    await bench.finish()
    cycles = bench.rq.packets[-1].ended - bench.rq.packets[0].begun
    link = count * write_bytes(bench.most) / (LINK_BYTES * bench.params.data_bits / 512 / 250e6)
    dut._log.info("RQ: %d cycles, link: %.0f", cycles, link)
    assert cycles <= link * 1.2


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def data_that_comes_late_leaves_no_gap(dut):
    """A packet waits for all of its data, however slowly it comes: the monitor sees to it."""
    bench = await WriteBench(dut).begin()
    bench.data.stall = lambda: random.random() < 0.9
    for k in range(6):
        bench.issue(k * 4096 + 3, 3 * bench.params.beat_bytes)
    await bench.finish()


@crossed(stalls=STALLS)
async def stopped_between_packets(dut, stalls):
    """What is under way is lost, what was sent is whole, and requests wait until it is over."""
    bench = await WriteBench(dut, stalls.value).begin()
    for _ in range(8):
        for _ in range(8):
            bench.issue(*some_place(bench.most))
        await ClockCycles(dut.clk, random.randrange(30, 100))
        dut.stop.value = 1
        await ClockCycles(dut.clk, 3)
        await until(dut.clk, dut.idle, 1)
        before = len(bench.rq.packets)
        await ClockCycles(dut.clk, 50)
        assert len(bench.rq.packets) == before
        dut.stop.value = 0
    await bench.rq.wait_for(len(bench.required) - len(bench.lost.beats))
    await ClockCycles(dut.clk, 3)
    assert len(bench.rq.packets) + len(bench.lost.beats) == len(bench.required)
    assert 0 < len(bench.lost.beats) < len(bench.required)
    came, at = set(), 0
    for packet in bench.rq.packets:
        while packet_of(bench.required[at]) != packet_of(packet):  # which is lost
            at += 1
        came.add(at)
        at += 1
    assert [item["user"] for item, _ in bench.sent.result] == [
        user for user, k in bench.requested if k in came
    ]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_rq_was_not_offered_is_dropped_without_it(dut):
    """No number is free, and RQ is not ready from then on: a stop still ends all writes."""
    waits = [False]
    bench = await WriteBench(dut, (never, lambda: waits[0])).begin()
    bench.silent = True
    for k in range(LAST + 5):
        bench.issue(4096 * k, bench.most)
    await ClockCycles(dut.clk, 8 * LAST)
    waits[0] = True
    await ClockCycles(dut.clk, 2)
    dut.stop.value = 1
    await ClockCycles(dut.clk, 100)
    assert dut.idle.value
    assert MOST <= len(bench.rq.packets) < LAST
    assert len(bench.rq.packets) + len(bench.lost.beats) == len(bench.required)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_is_cleared_is_never_visible(dut):
    """As after a reset of the function: the block forgets its packets, and tells of later ones."""
    bench = await WriteBench(dut).begin()
    bench.silent = True
    for k in range(6):
        bench.issue(4096 * k + 3, bench.most)
    await bench.rq.wait_for(len(bench.required))
    await ClockCycles(dut.clk, 4)
    assert dut.owes.value
    dut.stop.value = dut.clear.value = 1
    while dut.owes.value or not dut.idle.value:
        await RisingEdge(dut.clk)
    dut.stop.value = dut.clear.value = 0
    assert not bench.visible.result
    bench.sent.take()
    for before in (bench.required, bench.requested, bench.rq.packets):
        before.clear()
    bench.silent = False
    for _ in range(8):
        bench.issue(*some_place(bench.most))
    await bench.finish()


def packet_of(item):
    """Return where a packet goes and what it brings, from RQ or as it should be."""
    if hasattr(item, "result"):
        return 4 * item.result["address"], item.enables, len(item.dwords)
    return item.address, item.byte_enables, len(item.dwords)
