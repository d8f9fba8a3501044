import random

import cocotb
import pytest

from hdl.common.gearbox import Deserializer, GearboxParams, Serializer
from sim.harness.streams import STALLS, receive, send
from sim.harness.verilator import component_in_simulator, params_in_simulator, simulate
from tests.hdl.common.upset import start_upset
from tests.rejects import rejects

SIZES = [(1, 2), (40, 4), (11, 3)]


@pytest.mark.parametrize(("width", "parts"), SIZES)
@pytest.mark.parametrize("way", [Serializer, Deserializer])
def test_gearbox(way, width, parts):
    simulate(way(GearboxParams(width=width, parts=parts)), __name__)


test_rejects = rejects(
    GearboxParams,
    ({"width": 0, "parts": 2}, "width must be at least 1: 0"),
    ({"width": 8, "parts": 1}, "parts must be from 2 to 16: 1"),
    ({"width": 8, "parts": 17}, "parts must be from 2 to 16: 17"),
)


def cut(params, beat):
    mask = (1 << params.part_bits) - 1
    return [beat >> k * params.part_bits & mask for k in range(params.parts)]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def parts_are_of_one_beat(dut, stalls):
    params = params_in_simulator(GearboxParams)
    beats = [random.getrandbits(params.width) for _ in range(200)]
    beats[:2] = 0, (1 << params.width) - 1
    cuts = isinstance(component_in_simulator(), Serializer)
    # The last part may have more bits than are left of the beat.
    above = 0 if cuts else -1 << params.width
    parts = [part for beat in beats for part in cut(params, beat | above)]
    given, expected = (beats, parts) if cuts else (parts, beats)
    await start_upset(dut)
    sending = cocotb.start_soon(send(dut, "i", given, stalls.value[0]))
    received, cycles = await receive(dut, "o", len(expected), stalls.value[1])
    sent = await sending
    assert received == expected
    if stalls.none:
        pace = params.parts + 1
        # The first part follows its beat by a cycle, a beat its last part.
        first_out = cycles[:: params.parts] if cuts else cycles
        last_in = sent if cuts else sent[params.parts - 1 :: params.parts]
        assert first_out == [when + component_in_simulator().latency for when in last_in]
        assert first_out == list(range(first_out[0], first_out[0] + pace * len(beats), pace))
