import random

from hdl.netsparse.host.params import HostParams
from hdl.netsparse.host.spreader import Spreader
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed
from tests.hdl.netsparse.host.places import (
    BEAT,
    expected_lanes,
    expected_strobes,
    random_size,
    spread,
    words_of,
)
from tests.simulated import simulated

test_spreader = simulated(Spreader, [HostParams(units=3)], __name__)


def turned(content, rotation):
    """Return a property's beats, each with its first word in lane ``rotation``."""
    for at in range(0, len(content), BEAT):
        piece = content[at : at + BEAT]
        piece += random.randbytes(BEAT - len(piece))
        split = BEAT - 4 * rotation
        yield int.from_bytes(piece[split:] + piece[:split], "little")


@crossed(aligned=[True, False], stalls=STALLS)
async def puts_words_where_they_belong(dut, aligned, stalls):
    bench = await Bench(dut, stalls).begin()
    properties, lanes_source, out = bench.properties, bench.lanes, bench.beats
    golden = []
    for number in range(300):
        place = address, size = 4 * random.randrange(1000), random_size()
        content = random.randbytes(size)
        lanes = expected_lanes(place, aligned, number % 3)
        for beat in turned(content, lanes[0]["rotation"]):
            properties.append(beat)
        strobes = expected_strobes([place], aligned)
        for beat, words, strobe in zip(lanes, words_of(place, lanes), strobes, strict=True):
            lanes_source.append(beat)
            first = words[0] - address
            golden.append((strobe, 4 * beat["first"], content[first : first + 4 * len(words)]))
    await bench.settle()
    for beat, ((strobes, last), at, content) in zip(out.beats, golden, strict=True):
        assert (beat["strobes"], beat["last"]) == (strobes, last)
        data = beat["data"].to_bytes(BEAT, "little")
        assert data[at : at + len(content)] == content
    if stalls.absent:
        assert out.cycles[0] - lanes_source.cycles[0] == Spreader.latency
        assert spread(out.cycles) == len(golden)
