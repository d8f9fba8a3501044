"""Packets of engines pass beside those that are forwarded, and share the ports with them."""

import random

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


@crossed(stalls=STALLS, ms=4)
async def engines_and_forwarding_share_the_ports(dut, stalls):
    bench = SwitchBench(dut, stalls.value)
    engines = range(len(RECOGNISERS))
    taken = [[AxiMonitor(dut, f"to_engine_{e}_{k}") for k in bench.ports] for e in engines]
    answers = [[AxiSource(dut, f"from_engine_{e}_{k}") for k in bench.ports] for e in engines]
    for e in engines:
        for k in bench.ports:
            getattr(dut, f"to_engine_{e}_{k}_tready").value = 1
    await bench.begin()
    await bench.registers.write_wide(switch_address=int.from_bytes(OWN, "big"))
    for k in bench.ports:
        bench.send(k, frame(b"\xff" * 6, host(k)))
        await bench.drain()
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
    dut.hold_0.value = (1 << len(engines)) - 1
    await bench.down(0)
    for source in (answers[e][0] for e in engines):
        source.extend([beat for _ in range(5) for beat in beats_of(frame(host(0), OWN, 300))])
    await edges(dut.clk, 150)
    dut.hold_0.value = 0
    assert not any(answers[e][0].missing for e in engines)
    assert (await bench.counters(0))["out_discards"] == 5 * len(engines)
