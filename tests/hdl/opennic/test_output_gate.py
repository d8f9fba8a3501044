import random

import cocotb

from hdl.opennic.output_gate import OutputGate, OutputGateParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, crossed, edges, never
from sim.harness.verilator import simulate
from tests.hdl.opennic.packets import reset_at_once

BITS = 9  #: the highest is that of the last beat


def test_output_gate():
    simulate(OutputGate(OutputGateParams(shape=BITS, last_bit=BITS - 1)), __name__)


def beats(count):
    """Return the beats of packets of one to five beats."""
    for _ in range(count):
        length = random.randint(1, 5)
        for k in range(length):
            yield random.getrandbits(BITS - 1) | (k == length - 1) << BITS - 1


@crossed(stalls=STALLS, us=200)
async def no_packet_begins_while_it_holds(dut, stalls):
    bench = await Bench(dut, stalls).begin()
    sent = list(beats(200))
    ports = ("hold", "idle", "o_valid", "o_ready", "o_payload")
    seen = bench.record("", *ports)
    bench.i.extend(sent)
    while len(bench.o.beats) < len(sent):
        dut.hold.value = 1
        await edges(dut.clk, random.randrange(1, 40))
        dut.hold.value = 0
        await edges(dut.clk, random.randrange(1, 20))
    assert bench.o.beats == sent
    inside = before = ended = False  # of a packet that was offered; what held a cycle ago
    held = 0
    for cycle in seen.beats:
        assert inside or not (cycle["hold"] and cycle["o_valid"]), "a packet begins"
        assert cycle["idle"] == (before and ended)
        held += cycle["idle"]
        before, ended = cycle["hold"], not inside
        if cycle["o_valid"]:
            inside = not (cycle["o_ready"] and cycle["o_payload"] >> BITS - 1)
    assert held


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_reset_forgets_the_packet(dut):
    bench = await Bench(dut, (never, always)).begin()
    bench.i.extend([1, 1 << BITS - 1])
    await bench.wait(3)
    dut.hold.value = 1
    await reset_at_once(dut)
    assert not dut.o_valid.value
    bench.i.abandon()


@cocotb.test(timeout_time=10, timeout_unit="us")
async def passes_a_beat_a_cycle_at_once(dut):
    bench = await Bench(dut).begin()
    sent = list(beats(40))
    await bench.exchange(sent, sent)
    assert bench.i.cycles == bench.o.cycles
