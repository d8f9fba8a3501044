import random

import cocotb
import pytest

from hdl.common.gearbox import Deserializer, GearboxParams, Serializer
from sim.harness.bench import Bench
from sim.harness.streams import Stalls
from sim.harness.verilator import component_in_simulator, params_in_simulator, simulate
from tests.hdl.contracts import contracts

SIZES = [(1, 2), (40, 4), (11, 3)]


@pytest.mark.parametrize(("width", "parts"), SIZES)
@pytest.mark.parametrize("path", [Serializer, Deserializer])
def test_gearbox(path, width, parts):
    own = None if path is Serializer else "keeps|takes|reset"  # all but what serializers mark
    simulate(path(GearboxParams(shape=width, parts=parts)), __name__, test_filter=own)


def cut(params, beat):
    mask = (1 << params.part_bits) - 1
    return [beat >> k * params.part_bits & mask for k in range(params.parts)]


def cuts():
    return isinstance(component_in_simulator(), Serializer)


def draw(count):
    params = params_in_simulator(GearboxParams)
    beats = [random.getrandbits(params.width) for _ in range(count)]
    beats[:2] = (0, (1 << params.width) - 1)[:count]
    # The last part may have more bits than are left of the beat.
    above = 0 if cuts() else -1 << params.width
    parts = [part for beat in beats for part in cut(params, beat | above)]
    return (beats, parts) if cuts() else (parts, beats)


def pace(sent, left, latency):
    """The first part follows its beat by a cycle, a beat its last part; each takes a cycle more."""
    parts = params_in_simulator(GearboxParams).parts
    first_out = left[::parts] if cuts() else left
    last_in = sent if cuts() else sent[parts - 1 :: parts]
    assert first_out == [when + latency for when in last_in]
    assert first_out == list(range(first_out[0], first_out[-1] + 1, parts + 1))


keeps_order, takes_its_latency, a_reset_empties_it = contracts(__name__, draw, pace=pace)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def marks_the_last_part(dut):
    bench = await Bench(dut).begin()
    shown, (beats, parts) = bench.record("o_valid", "last"), draw(20)
    await bench.exchange(beats, parts, Stalls.NONE)
    count = bench.params.parts
    assert [item["last"] for item in shown.beats] == ([0] * (count - 1) + [1]) * len(beats)
