import random

from hdl.netsparse.property_cache.params import PRESETS
from hdl.netsparse.property_cache.properties import PropertySegments
from sim.harness.bench import Bench
from sim.harness.streams import benched
from tests.simulated import simulated

test_properties = simulated(PropertySegments, [PRESETS["tiny"]], __name__)


@benched(Bench, us=100)
async def a_group_of_segments_is_written_or_read(bench):
    """In any mode and cycle, a segment's entry is what was last written there; no other is."""
    params = bench.params
    stored = {}  # by segment, set and way
    cycles, due = [], [[]] * PropertySegments.latency
    for _ in range(4000):
        mode = random.randrange(params.segment_bits + 1)
        first = random.randrange(params.segments >> mode) << mode
        at, way = random.randrange(params.sets), random.randrange(params.ways)
        parts = [random.getrandbits(128) for _ in range(params.segments)]
        installed = random.random() < 0.4
        verdict = {
            "result": not installed,
            "installed": installed,
            "replaced": installed and random.getrandbits(1),
            "row": first * params.sets + at,
            "way": 1 << way,
        }
        cycles.append({"verdict": verdict, "mode": (1 << mode) - 1, "property": parts})
        places = [(first + k, at, way) for k in range(1 << mode)]
        due.append([] if installed else [stored.get(place) for place in places])
        if installed:
            stored |= dict(zip(places, parts, strict=False))
    shown = await bench.played(cycles, "result")
    for item, expected in zip(shown, due, strict=False):
        assert all(part in (None, got) for part, got in zip(expected, item["result"], strict=False))
    assert len(stored) == params.cache_bytes // 16
