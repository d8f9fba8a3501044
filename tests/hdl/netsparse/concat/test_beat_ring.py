import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

from hdl.netsparse.concat.beat_ring import BeatRing
from hdl.netsparse.concat.deconcatenator_params import DeconcatenatorParams
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.long import short_and_long


@pytest.mark.parametrize(
    ("payload", "most"),
    short_and_long(
        [(False, 512), (True, 512), (True, 4), (True, 36)], [(False, 512), (True, 4), (True, 36)]
    ),
    ids=str,
)
def test_beat_ring(payload, most):
    params = DeconcatenatorParams(payload=payload, nodes=8, mtu=900, most_property_bytes=most)
    simulate(BeatRing(params), __name__)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def any_window(dut):
    """A window shows what lies there, as far as its beats have come."""
    params = params_in_simulator(DeconcatenatorParams)
    beats, lane, with_header = [], None, False
    full, windows = 0, 0
    dut.push.value = dut.drops.value = dut.turns.value = 0
    await start(dut)
    await FallingEdge(dut.clk)
    for _ in range(3000):
        if lane is not None:
            lying = b"".join(beats)[2 * lane :]
            header = int(dut.header.value).to_bytes(18, "little")
            assert header[: len(lying)] == lying[:18]
            if params.payload:
                lying = lying[18 * with_header :][: min(64, params.most_property_bytes)]
                data = int(dut.data.value).to_bytes(64, "little")
                assert data[: len(lying)] == lying
                windows += len(lying) == min(64, params.most_property_bytes)
            else:
                windows += len(lying) >= 18
        drops = random.choice([0, 0, 1, params.span])
        drops = min(drops, len(beats))
        push = random.random() < 0.7 and len(beats) < params.places
        turns = random.random() < 0.8
        beat = random.randbytes(64)
        begin, begins = random.randrange(32), bool(random.getrandbits(1))
        dut.push.value, dut.drops.value, dut.turns.value = push, drops, turns
        dut.beat.value = int.from_bytes(beat, "little")
        restarts = random.random() < 0.2
        dut.lane.value, dut.with_header.value = begin, begins
        dut.restarts.value = restarts
        await FallingEdge(dut.clk)
        beats = beats[drops:] + [beat] * push
        full += len(beats) == params.places
        if turns:
            lane, with_header = (0, True) if restarts else (begin, begins)
    assert windows > 300
    assert full > 100
