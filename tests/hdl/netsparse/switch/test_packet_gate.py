"""Tests the gate of packets: each waits for room at its first beat, and none is held up inside."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.switch.packet_gate import PacketGate
from hdl.netsparse.switch.params import NetSparseSwitchParams
from sim.harness.payloads import unpack
from sim.harness.streams import STALLS, Source, Stalls, crossed, cycle, never, start
from sim.harness.verilator import component_in_simulator, params_in_simulator
from tests.hdl.netsparse.switch.bench import SPINE
from tests.simulated import simulated

test_packet_gate = simulated(PacketGate, [SPINE], __name__)


class Bench:
    """A gate; looks at every cycle."""

    def __init__(self, dut, stalls=(never, never), opens=0.5):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(NetSparseSwitchParams)
        (self.stall, self.sink), self.opens = stalls, opens
        self.sent, self.left, self.cycles = [], [], []  # beats, and when they left
        self.waited = self.closed = 0

    async def start(self):
        self.dut.open.value = 0
        self.source = Source(self.dut, "i", stall=self.stall)
        cocotb.start_soon(self.watch())
        await start(self.dut)
        return self

    async def watch(self):
        dut, params, inside, offered, held = self.dut, self.params, False, False, 0
        is_open = 0  # in the cycle before
        while True:
            dut.o_ready.value = not self.sink()
            opens = sum((random.random() < self.opens) << k for k in range(params.ports))
            dut.open.value = opens
            await self.edge
            was_open, is_open = is_open, opens
            if dut.rst.value:
                continue
            valid, waits = bool(dut.o_valid.value), bool(dut.waits.value)
            beat = unpack(params.routed, int(dut.o_payload.value))
            moves = valid and bool(dut.o_ready.value)
            if valid and not inside:
                assert was_open >> beat["egress"] & 1
            assert held or not (valid or waits)
            if waits:  # outside of a packet and for room only
                assert not inside
                assert not valid
                assert not was_open >> beat["egress"] & 1
                self.closed += offered
            offered = valid and not moves and not inside
            self.waited += waits
            held += bool(dut.i_valid.value and dut.i_ready.value) - moves
            if moves:
                self.left.append(beat)
                self.cycles.append(cycle())
                inside = not beat["beat"]["tlast"]

    async def send(self, lengths):
        """Send packets of this many beats for any ports; wait until they have left."""
        layout = self.params.routed
        for length in lengths:
            port = random.randrange(self.params.ports)
            for k in range(length):
                fields = unpack(layout, random.getrandbits(layout.size)) | {"egress": port}
                fields["beat"]["tlast"] = int(k == length - 1)
                self.sent.append(fields)
                self.source.append(fields)
        while len(self.left) < len(self.sent):
            await self.edge
        assert self.left == self.sent


@crossed(stalls=STALLS)
async def lets_packets_in_once_there_is_room(dut, stalls):
    """Each enters once, in order; ports open and close at any time, even on one that is offered."""
    bench = await Bench(dut, stalls).start()
    await bench.send(random.choice((1, 1, 2, 5)) for _ in range(400))
    assert bench.waited > 50
    assert (bench.closed > 80) == (stalls is Stalls.BUSY_SINK)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def holds_none_up_inside(dut):
    """Without room for others, a packet moves a beat per cycle from its first on."""
    bench = await Bench(dut, opens=0.1).start()
    await bench.send([5] * 40)
    firsts = [k for k in range(0, 200, 5)]
    assert all(bench.cycles[k + 4] == bench.cycles[k] + 4 for k in firsts)
    bench.opens = 1
    await bench.edge
    await bench.send(range(1, 20))
    moved = [*bench.source.cycles][200:]
    assert moved == [*range(moved[0], moved[0] + len(moved))]
    late = component_in_simulator().latency
    assert bench.cycles[200:] == [at + late for at in moved]
