"""Packets of engines pass beside those that are forwarded, and share the ports with them."""

import random
from collections import Counter
from itertools import chain

import pytest

from hdl.p4sgd.network.frame import FRAMES
from hdl.switch.forwarding.params import ForwardingParams
from hdl.switch.forwarding.presets import PRESETS
from hdl.switch.forwarding.switch import ForwardingSwitch
from hdl.switchgnn.protocol import frame_format
from sim.harness.axi_streams import AxiMonitor, AxiSource, beats_of
from sim.harness.streams import STALLS, crossed, edges
from sim.harness.verilator import simulate
from tests.hdl.switch.forwarding.bench import SwitchBench, frame, host

OUTLIVES_RESET = "the rest of a packet that a reset cuts is no packet"
RECOGNISERS = ((FRAMES,), (frame_format(128),))
OWN = bytes.fromhex("02a0b0c0d000")
KINDS = (0, 5)  #: byte after the version of frames of each engine


def test_engines():
    simulate(
        ForwardingSwitch(ForwardingParams(**PRESETS["tiny"], recognisers=RECOGNISERS)), __name__
    )


def test_there_are_at_most_as_many_engines_as_sources():
    with pytest.raises(ValueError, match="recognisers must be of at most 14 engines: 15"):
        ForwardingParams(**PRESETS["tiny"], recognisers=(FRAMES,) * 15)


def engine_frame(kind, length):
    """Return a frame for the engine of ``kind``, or with another kind one of none."""
    return (OWN + host(7) + bytes((0x88, 0xB5, 2, kind)) + random.randbytes(length))[:length]


class EngineBench(SwitchBench):
    """Has monitors and sources in the engines' place, and hosts whose addresses are known."""

    async def begin(self, **settings):
        engines = range(len(RECOGNISERS))
        names = [[f"engine_{e}_{k}" for k in self.ports] for e in engines]
        self.taken = [[AxiMonitor(self.dut, f"to_{name}") for name in row] for row in names]
        self.answers = [[AxiSource(self.dut, f"from_{name}") for name in row] for row in names]
        for name in chain(*names):
            getattr(self.dut, f"to_{name}_tready").value = 1
        await super().begin(**settings)
        await self.registers.write_wide(switch_address=int.from_bytes(OWN, "big"))
        for k in self.ports:
            self.send(k, frame(b"\xff" * 6, host(k)))
            await self.drain()
        return self


@crossed(stalls=STALLS, ms=4)
async def engines_and_forwarding_share_the_ports(dut, stalls):
    bench = await EngineBench(dut, stalls.value).begin()
    engines, taken, answers = range(len(RECOGNISERS)), bench.taken, bench.answers
    counts, sent = [bench.params.ports * [0] for _ in engines], 0
    for _ in range(60):
        for k in bench.ports:
            bench.send(
                k, frame(host(random.choice(bench.ports)), host(k), random.choice((60, 200)))
            )
            e = random.choice((*engines, None))
            octets = engine_frame(99 if e is None else KINDS[e], 60 + 68 * bool(e))
            octets += bytes(1) if e is None else b""
            bench.sources[k].extend(list(beats_of(octets)))
            if e is None:
                continue
            counts[e][k] += 1
            answer = frame(host(k), OWN, random.choice((60, 300)))
            answers[e][k].extend(list(beats_of(answer)))
            bench.origin[answer] = "engine", e
            bench.expected[k]["engine", e].append(answer)
            sent += 1
        await edges(dut.clk, 20)
    await bench.drain()
    for e in engines:
        for k in bench.ports:
            left = [beat for beat in taken[e][k].beats if beat["tlast"]]
            assert len(left) == counts[e][k]
    assert sent == sum(len(bench.expected[k]["engine", e]) for k in bench.ports for e in engines)
    foreign = [(await bench.counters(k))["in_foreign"] for k in bench.ports]
    assert sum(foreign) == 60 * bench.params.ports - sent


@crossed(shut=[False, True])
async def nothing_passes_a_port_that_is_down(dut, shut):
    """Nothing enters or leaves there, of engines neither; the neighbour's pause does not count."""
    bench = await EngineBench(dut).begin()
    await bench.registers.write(clear_counters=1, shut_ports=int(shut))
    bench.golden.counts = [Counter() for _ in bench.ports]
    await bench.down(0)
    dut.down.value, dut.hold_0.value = int(not shut), 3
    before = [len(end.beats) for end in chain(*bench.taken, bench.sinks)]
    for n in range(40):
        kind, length = random.choice((*KINDS, 99, None)), random.choice((128, 200))
        ordinary = frame(host(1), host(0), length)
        bench.send(0, ordinary if kind is None else engine_frame(kind, length))
        answers = bench.answers[n % len(RECOGNISERS)][0]
        answers.extend(list(beats_of(frame(host(0), OWN, random.choice((60, 300))))))
        bench.golden.counts[0]["out_discards"] += 1
    await bench.drain(quiet=300)
    dut.hold_0.value = 0
    assert [len(end.beats) for end in chain(*bench.taken, bench.sinks)] == before
    await bench.check_counters()


@crossed()
async def a_port_goes_down_and_up_under_frames_of_engines(dut):
    """Each frame reaches its engine whole, or is in no group; none is forwarded to others."""
    bench = await EngineBench(dut).begin()
    sent = [engine_frame(random.choice(KINDS), random.choice((60, 128, 300))) for _ in range(400)]
    before = [len(sink.beats) for sink in bench.sinks]
    bench.sources[0].extend([beat for octets in sent for beat in beats_of(octets)])
    while bench.sources[0].missing:
        dut.down.value = random.getrandbits(1)
        await edges(dut.clk, random.choice((1, 2, 3, 5)))
    await edges(dut.clk, 60)
    assert [len(sink.beats) for sink in bench.sinks] == before
    taken = [beat["tlast"] for engine in bench.taken for beat in engine[0].beats]
    counts = await bench.counters(0)
    assert counts["in_no_group"] + counts["in_undersize"] + sum(taken) == len(sent)
    assert 0 < sum(taken) < len(sent)
