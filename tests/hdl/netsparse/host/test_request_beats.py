import random

from hdl.netsparse.host.params import HostParams
from hdl.netsparse.host.request_beats import RequestBeats
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed
from tests.hdl.netsparse.host.places import expected_lanes, expected_spans, random_size, spread
from tests.simulated import simulated

test_request_beats = simulated(RequestBeats, [HostParams(units=3)], __name__)


@crossed(stalls=STALLS)
async def one_or_two_beats_for_each_request(dut, stalls):
    bench = await Bench(dut, stalls).begin()
    driver, out = bench.requests, bench.beats
    beats = []
    for number in range(300):
        place, aligned = (4 * random.randrange(1000), random_size()), random.random() < 0.5
        for span in expected_spans(place, aligned, number % 3):
            driver.append(span)
        beats += expected_lanes(place, aligned, number % 3)
    await bench.finish(beats=beats)
    if stalls.absent:
        # A request moves with the last of its beats.
        last = next(index for index, beat in enumerate(out.beats) if beat["end"])
        assert out.cycles[last] - driver.cycles[0] == RequestBeats.latency
        assert spread(out.cycles) == len(beats)
