import random
from functools import partial

from hdl.netsparse.host.params import HostParams
from hdl.netsparse.host.request_splitter import RequestSplitter
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, benched, crossed, never
from tests.hdl.netsparse.host.places import expected_bursts, expected_spans, spread
from tests.simulated import simulated

test_request_splitter = simulated(
    RequestSplitter,
    [HostParams(units=32), HostParams(units=2, address_bits=13, max_bytes=256)],
    __name__,
)


def random_places(params, count):
    """Draw any size and start, the ends of the address space among them."""
    top, places = 1 << params.address_bits, []
    for _ in range(count):
        size = 4 * random.randint(1, params.max_bytes // 4)
        size = random.choice([size, min(size, 4 * random.randint(1, 40)), params.max_bytes])
        at = random.choice([4 * random.randrange((top - size) // 4 + 1), top - size, 0])
        places.append((at, size))
    return places


def expected(places, aligned, units):
    requests = []
    for number, place in enumerate(places):
        spans = expected_spans(place, aligned, number % units)
        bursts = expected_bursts([place], aligned)
        for span, (address, length) in zip(spans, bursts, strict=True):
            assert (span["last"] >= 16) - (span["first"] >= 16) == length
            requests.append({"line": address // 128, "span": span})
    return requests


@crossed(aligned=[True, False], stalls=STALLS)
async def requests_what_the_golden_model_says(dut, aligned, stalls):
    bench = await Bench(dut, stalls, aligned=aligned).begin()
    params, driver, out = bench.params, bench.properties, bench.requests
    places = random_places(params, 400)
    requests = expected(places, aligned, params.units)
    for number, (address, size) in enumerate(places):
        driver.append({"address": address, "bytes": size, "unit": number % params.units})
    await bench.finish(requests=requests)
    if stalls.absent:
        assert out.cycles[0] - driver.cycles[0] == RequestSplitter.latency
        assert spread(out.cycles) == len(requests)  # a request every cycle


@benched(partial(Bench, stalls=(never, always)), us=10)
async def requests_without_waiting_to_be_heard(bench):
    bench.properties.append({"address": 4, "bytes": 8, "unit": 0})
    await bench.wait(10)
    assert bench.dut.requests_valid.value
