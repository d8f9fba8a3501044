import random

import pytest

from hdl.netsparse.concat.beat_ring import BeatRing
from hdl.netsparse.concat.deconcatenator_params import DeconcatenatorParams
from sim.harness.bench import Bench
from sim.harness.plays import played
from sim.harness.streams import benched
from sim.harness.verilator import simulate
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


@benched(Bench, us=50)
async def any_window(bench):
    """A window shows what lies there, as far as its beats have come."""
    params = bench.params
    beats, lane, with_header = [], None, False
    full, windows, cycles, expected = 0, 0, [], []
    for _ in range(3000):
        lying = b"" if lane is None else b"".join(beats)[2 * lane :]
        data = lying[18 * with_header :][: min(64, params.most_property_bytes)]
        expected.append({"header": lying[:18]} | ({"data": data} if params.payload else {}))
        if params.payload:
            windows += len(data) == min(64, params.most_property_bytes)
        else:
            windows += len(lying) >= 18
        drops = random.choice([0, 0, 1, params.span])
        drops = min(drops, len(beats))
        push = random.random() < 0.7 and len(beats) < params.places
        turns = random.random() < 0.8
        beat = random.randbytes(64)
        begin, begins = random.randrange(32), bool(random.getrandbits(1))
        restarts = random.random() < 0.2
        ports = {"push": push, "drops": drops, "turns": turns, "restarts": restarts}
        ports |= {"lane": begin, "with_header": begins, "beat": int.from_bytes(beat, "little")}
        cycles.append(ports)
        beats = beats[drops:] + [beat] * push
        full += len(beats) == params.places
        if turns:
            lane, with_header = (0, True) if restarts else (begin, begins)
    seen = await played(bench.dut, cycles, dict.fromkeys(expected[0]))
    for record, octets in zip(seen, expected, strict=True):
        for name, known in octets.items():
            assert record[name].to_bytes(64, "little")[: len(known)] == known
    assert windows > 300
    assert full > 100
