"""Checks that each client of the tables' port gets what it asked for, and nothing else."""

import random

from hdl.switchgnn.endpoint.bundles import TABLE_CLIENTS
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.table_reader import TableReader
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed, rarely
from sim.harness.verilator import simulate
from tests.hdl.switchgnn.endpoint.answers import answer
from tests.hdl.switchgnn.extremes import some_number

REQUESTS = 100  #: of each client


def test_table_reader():
    simulate(TableReader(PRESETS["tiny"]), __name__)


@crossed(stalls=STALLS, us=100)
async def every_client_gets_its_own(dut, stalls):
    """It comes in the order of the requests, however late; a client may ask for nothing."""
    bench = await Bench(dut, stalls).begin()
    params, sources, bursts = bench.params, bench.requests, bench.bursts
    requested = [
        [some_number(params.beat_address_bits) for _ in range(REQUESTS)]
        for _ in range(TABLE_CLIENTS)
    ]
    expected, result = (
        [[] for _ in requested],
        [bench.reports(f"beats_{k}") for k in range(len(requested))],
    )

    def read(burst):
        beat = {"failed": random.getrandbits(1), "data": random.getrandbits(512)}
        expected[burst["tag"]].append(beat)
        return [beat | {"tag": burst["tag"]}]

    answer(bench, bursts, "provided", read, latency=1, pause=rarely)
    for source, numbers in zip(sources, requested, strict=True):
        source.extend(numbers)
    await bursts.wait_for(TABLE_CLIENTS * REQUESTS)
    await bench.wait(TABLE_CLIENTS * REQUESTS)
    for k, numbers in enumerate(requested):
        beats = [beat for beat, _ in result[k].result]
        assert [{name: b[name] for name in ("failed", "data")} for b in beats] == expected[k]
        own = [burst["address"] for burst in bursts.beats if burst["tag"] == k]
        assert own == [64 * number for number in numbers]
    if stalls.absent:
        assert bursts.cycles[-1] - bursts.cycles[0] == TABLE_CLIENTS * REQUESTS - 1
        for k in range(TABLE_CLIENTS):  # they take turns
            assert {b["tag"] for b in bursts.beats[3 * k : 3 * k + 3]} == {0, 1, 2}


@crossed(client=range(TABLE_CLIENTS), us=10)
async def one_client_alone(dut, client):
    """It waits for nobody, and nobody else is answered."""
    bench = await Bench(dut).begin()
    bursts, sources = bench.bursts, bench.requests
    for rounds in range(2):
        await sources[client].send_all(range(20))
        await bench.wait(5)
        assert [burst["tag"] for burst in bursts.beats[20 * rounds :]] == [client] * 20
        first = sources[client].cycles[20 * rounds] + TableReader.latency
        assert bursts.cycles[20 * rounds :] == list(range(first, first + 20))
