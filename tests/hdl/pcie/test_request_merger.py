"""Merges reads and writes into one stream: whole, in turn, and no read that the host has no room
for.
"""

import random
from itertools import pairwise

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.pcie.axis import rq_user
from hdl.pcie.descriptors import REQUEST, RequestType
from hdl.pcie.request_merger import CREDITS_LATE, RequestMerger, RequestMergerParams
from sim.harness.axi_streams import AxiSource
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, crossed, never, start, started
from sim.harness.verilator import simulate
from tests.hdl.pcie.rq_monitor import RqMonitor

WIDTH = 256


def test_request_merger():
    simulate(RequestMerger(RequestMergerParams(data_bits=WIDTH)), __name__)


DISCONTINUE = pack(rq_user(WIDTH), {"discontinue": 1})


class Packets:
    """Drives packets of RQ into an input, each without a gap; their tags number them."""

    def __init__(self, dut, name, stall=never):
        self.stall, self.beats, self.count = stall, [], 0
        self.source = AxiSource(dut, name, stall=self.pauses if stall is not never else never)

    def pauses(self):
        """Pause ahead of a packet, but in none."""
        moved = len(self.beats) - self.source.missing
        return (not moved or self.beats[moved - 1]["tlast"]) and self.stall()

    def add(self, dwords=0):
        """Add a read, or a write of this many dwords."""
        kind = RequestType.MEMORY_WRITE if dwords else RequestType.MEMORY_READ
        head = {
            "kind": kind,
            "dwords": dwords or 1,
            "tag": self.count % 256,
            "address": random.getrandbits(62),
            "requester": random.getrandbits(16),
            "completer": random.getrandbits(16),
        }
        self.count += 1
        bits = pack(REQUEST, head) | random.getrandbits(2 * WIDTH + 32 * dwords) << 128
        rest, lanes = 4 + dwords, WIDTH // 32
        while rest > 0:
            beat = {
                "tdata": bits & (1 << WIDTH) - 1,
                "tkeep": (1 << min(rest, lanes)) - 1,
                "tlast": rest <= lanes,
                "tuser": random.getrandbits(rq_user(WIDTH).size) & ~DISCONTINUE,
            }
            rest, bits = rest - lanes, bits >> WIDTH
            self.beats.append(beat)
            self.source.append(beat)


@crossed(stalls=STALLS)
async def each_whole_and_in_turn(dut, stalls):
    source, sink = stalls
    dut.credits.value = 15
    reads, writes = Packets(dut, "reads", source), Packets(dut, "writes", source)
    rq = await started(RqMonitor(dut, stall=sink))
    for k in range(60):
        reads.add()
        writes.add(random.choice([1, 4, 5, 30]) if k % 2 else 1)
    await rq.wait_for(120)
    for provided in (reads, writes):  # all wires of each beat, in their order
        assert [beat for beat in rq.stream.beats if beat in provided.beats] == provided.beats
    assert len(rq.stream.beats) == len(reads.beats) + len(writes.beats)
    for expected, result in ((False, reads), (True, writes)):
        tags = [item.result["tag"] for item in rq.packets if item.writes == expected]
        assert tags == list(range(result.count))
    if stalls.absent:
        assert all(a.writes != b.writes for a, b in pairwise(rq.packets[5:100]))


@crossed(most=[1, 2, 6, 40], stalls=STALLS)
async def no_read_that_the_host_has_no_room_for(dut, most, stalls):
    """The host takes ``most`` reads, and one more from time to time; the block tells that late."""
    reads, rq = Packets(dut, "reads"), RqMonitor(dut, stall=stalls.value[1])
    reported = [min(15, most)] * (CREDITS_LATE - 1)  # and the cycle in which it is seen
    dut.credits.value = reported[0]

    async def host():
        room = most
        while True:
            await RisingEdge(dut.clk)
            left = room - len(rq.packets)
            assert left >= 0, "a read was sent that the host has no room for"
            room += left < most and random.random() < 0.2
            reported.append(min(15, left))
            dut.credits.value = reported.pop(0)

    await start(dut)
    cocotb.start_soon(host())
    for _ in range(80):
        reads.add()
    await rq.wait_for(80)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def writes_go_on_while_reads_wait(dut):
    """Writes pass while there is no room for a read; when there is some, the reads follow."""
    reads, writes, rq = Packets(dut, "reads"), Packets(dut, "writes"), RqMonitor(dut)
    dut.credits.value = 0
    await start(dut)
    reads.add()
    for _ in range(20):
        writes.add(random.choice([1, 12]))
    await rq.wait_for(20)
    assert all(packet.writes for packet in rq.packets)
    dut.credits.value = 1
    await rq.wait_for(21)
    assert not rq.packets[-1].writes
    await ClockCycles(dut.clk, 6)
    reads.add()
    await rq.wait_for(22)
    assert not rq.packets[-1].writes


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_read_a_cycle(dut):
    """A read leaves per cycle where the host takes many."""
    reads, rq = Packets(dut, "reads"), RqMonitor(dut)
    dut.credits.value = 15
    await start(dut)
    for _ in range(50):
        reads.add()
    await rq.wait_for(50)
    assert rq.packets[-1].begun - rq.packets[0].begun == 49
    assert rq.packets[0].begun - reads.source.cycles[0] == RequestMerger.latency
