import random
from collections import Counter
from functools import partial

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.crossbar import Crossbar, CrossbarParams
from sim.harness.records import Recorder, Reports
from sim.harness.streams import STALLS, Sink, Source, crossed, cycle, never, often, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.rejects import rejects

SIZES = [
    CrossbarParams(inputs=1, outputs=1, shape=20),
    CrossbarParams(inputs=3, outputs=4, shape=20),
    CrossbarParams(inputs=4, outputs=3, shape=20, last_bit=19, reported_bits=18),
]


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_crossbar(params):
    tests = None if params.last_bit is not None else r"test_crossbar[.](?!packets_)"
    simulate(Crossbar(params), __name__, test_filter=tests)


test_rejects = rejects(
    partial(CrossbarParams, inputs=2, outputs=2, shape=8),
    ({"last_bit": 8}, "last_bit must be a whole number from 0 to 7: 8"),
    ({"last_bit": 7, "reported_bits": 9}, "reported_bits must be a whole number from 0 to 8: 9"),
    ({"reported_bits": 1}, "reported_bits needs a last_bit"),
    ({"announces": True}, "announces needs a last_bit"),
)


def packet_of(k, length=None):
    """Return beats of any content that say where they come from, and whether they are last.

    Without a last bit a packet has one beat, of which this bit may be anything.
    """
    bits, keeps_packets = random.getrandbits, params_in_simulator(CrossbarParams).last_bit
    length = length or (random.choice([1, 1, 2, 3, 6]) if keeps_packets else 1)
    ends = [n == length - 1 if keeps_packets else bits(1) for n in range(length)]
    return [end << 19 | bits(1) << 18 | k << 16 | bits(16) for end in ends]


def packets_in(beats):
    """Return packets again, each with where it comes from; none is mixed with another."""
    result, packet = [], []
    keeps_packets = params_in_simulator(CrossbarParams).last_bit
    for beat in beats:
        packet.append(beat)
        if beat >> 19 or not keeps_packets:
            (origin,) = {item >> 16 & 3 for item in packet}
            result.append((origin, packet))
            packet = []
    assert not packet
    return result


class Bench:
    """Has sources and sinks all around; ``stopped`` outputs take nothing."""

    def __init__(self, dut, stalls, stopped=()):
        self.dut, self.params = dut, params_in_simulator(CrossbarParams)
        source_stall, sink_stall = stalls
        counts = range(self.params.outputs), range(self.params.inputs)
        self.sinks = [
            Sink(dut, f"o_{k}", stall=(lambda: True) if k in stopped else sink_stall)
            for k in counts[0]
        ]
        self.sources = [Source(dut, f"i_{k}", stall=source_stall) for k in counts[1]]
        self.stopped = stopped
        ports = ("empty", *(f"o_{k}_valid" for k in counts[0]))
        self.shown = Recorder(dut, "", dict.fromkeys(ports))
        begins = counts[0] if self.params.reported_bits else ()
        self.reported = [Reports(dut, f"begins_{k}", self.params.begins) for k in begins]

    def check_begins(self, sent):
        """Check that the first beats that are told are those that are taken, each in its cycle."""
        taken = [[] for _ in self.reported]  # first beats, by output
        for source, beats in zip(self.sources, sent, strict=True):
            begins = True
            for (to, beat), at in zip(beats, source.cycles, strict=False):
                if begins:
                    taken[to].append((at, beat % (1 << self.params.reported_bits)))
                begins = beat >> self.params.last_bit
        for firsts, reported in zip(taken, self.reported, strict=True):
            assert [(at, item["reported"]) for item, at in reported.result] == sorted(firsts)

    async def run(self, sent, waits=0):
        """Let every input send its beats; all arrive, except for those that ``waits``."""
        dut = self.dut
        await start(dut)
        for source, beats in zip(self.sources, sent, strict=True):
            for to, beat in beats:
                # With one output nobody looks at ``to``.
                shown = to if self.params.outputs > 1 else random.getrandbits(1)
                source.append({"to": shown, "beat": beat})
        arrive = Counter(to for beats in sent for to, _ in beats if to not in self.stopped)
        for to, sink in enumerate(self.sinks):
            await sink.wait_for(arrive[to])
        await ClockCycles(dut.clk, 3)
        assert bool(dut.empty.value) == (not waits)
        assert sum(len(sink.beats) for sink in self.sinks) == sum(map(len, sent)) - waits
        for item in self.shown.beats:
            assert item["empty"] != any(item[name] for name in item if name != "empty")
        if self.reported:
            self.check_begins(sent)


def beats_of(packets):
    """Return where each beat goes, of packets with where they go."""
    return [(to, beat) for to, packet in packets for beat in packet]


@crossed(stalls=STALLS, us=100)
async def all_arrive_whole_and_in_order(dut, stalls):
    bench = Bench(dut, stalls)
    inputs, outputs = range(bench.params.inputs), range(bench.params.outputs)
    sent = [[(random.choice(outputs), packet_of(k)) for _ in range(150)] for k in inputs]
    await bench.run([beats_of(packets) for packets in sent])
    for output, sink in enumerate(bench.sinks):
        arrived = packets_in(sink.beats)
        for k in inputs:
            expected = [packet for to, packet in sent[k] if to == output]
            assert [packet for origin, packet in arrived if origin == k] == expected


@cocotb.test(timeout_time=100, timeout_unit="us")
async def nobody_is_in_another_s_path(dut):
    """Each input has an output of its own: a beat moves in every cycle."""
    bench = Bench(dut, (never, never))
    pairs = range(min(bench.params.inputs, bench.params.outputs))
    sent = [beats_of([(k, packet_of(k)) for _ in range(100)]) for k in pairs]
    await bench.run(sent + [[]] * (bench.params.inputs - len(sent)))
    for k, beats in enumerate(sent):
        taken = bench.sources[k].cycles
        assert taken == list(range(taken[0], taken[0] + len(beats)))
        assert bench.sinks[k].cycles == [at + Crossbar.latency for at in taken]


@crossed(sink_stall=[never, often], us=100)
async def inputs_take_turns(dut, sink_stall):
    """An output that packets wait for gives a beat in every cycle, whatever their lengths."""
    bench = Bench(dut, (never, sink_stall))
    inputs, to = range(bench.params.inputs), bench.params.outputs - 1
    sent = [[(to, packet_of(k)) for _ in range(60)] for k in inputs]
    await bench.run([beats_of(packets) for packets in sent])
    origins = [origin for origin, _ in packets_in(bench.sinks[to].beats)]
    assert origins == list(inputs) * 60
    cycles = bench.sinks[to].cycles
    if sink_stall is never:
        assert cycles == list(range(cycles[0], cycles[0] + len(cycles)))
        taken = sorted(at for source in bench.sources for at in source.cycles)
        assert cycles == [at + Crossbar.latency for at in taken]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def packets_pass_who_waits_for_another_output(dut):
    """Output 0 stands: no other has a gap, and each takes a first packet a cycle after it comes."""
    bench = Bench(dut, (never, never), stopped=[0])
    sent = [beats_of([(to, packet_of(k)) for _ in range(60)]) for k, to in enumerate((0, 1, 0, 2))]
    waits = len(sent[0]) + len(sent[2])
    await bench.run(sent, waits=waits)
    began = 1 + bench.sources[0].cycles[0]  # its turn it is already
    for k, to in ((1, 1), (3, 2)):
        assert bench.sinks[to].beats == [beat for _, beat in sent[k]]
        assert bench.sources[k].cycles == list(range(began, began + len(sent[k])))
    # Two beats have room in the output's register.
    assert sum(len(bench.sources[k].cycles) for k in (0, 2)) == 2
    bench.sinks[0].stop()
    later = Sink(dut, "o_0")
    await later.wait_for(waits)
    arrived = packets_in(later.beats)
    for k in (0, 2):
        beats = [beat for origin, packet in arrived if origin == k for beat in packet]
        assert beats == [beat for _, beat in sent[k]]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def packets_may_be_withdrawn(dut):
    """Input 1 asks for a cycle, gets the turn, and is gone: input 2 has it two cycles later."""
    sink, edge = Sink(dut, "o_0"), RisingEdge(dut.clk)
    for k in range(params_in_simulator(CrossbarParams).inputs):
        getattr(dut, f"i_{k}_valid").value = 0
    await start(dut)
    dut.i_1_valid.value, dut.i_1_payload.value = 1, 0
    await edge
    assert not dut.i_1_ready.value
    dut.i_1_valid.value = 0
    source = Source(dut, "i_2")
    packet = packet_of(2, length=3)
    began = cycle() + 1
    await source.send_all({"to": 0, "beat": beat} for beat in packet)
    assert source.cycles == [began + 1, began + 2, began + 3]
    await sink.wait_for(3)
    assert sink.beats == packet
