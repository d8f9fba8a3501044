"""Checks that each client of the tables' port gets what it asked for, and nothing else."""

import random
from collections import deque

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.switchgnn.endpoint.bundles import TABLE_BEAT, TABLE_CLIENTS
from hdl.switchgnn.endpoint.params import PRESETS, EndpointParams
from hdl.switchgnn.endpoint.table_reader import TableReader
from sim.harness.payloads import pack, unpack
from sim.harness.streams import STALLS, Sink, Source, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.switchgnn.extremes import some_number

REQUESTS = 100  #: of each client


def test_table_reader():
    simulate(TableReader(PRESETS["tiny"]), __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def every_client_gets_its_own(dut, stalls):
    """It comes in the order of the requests, however late; a client may ask for nothing."""
    source, sink = stalls
    params, edge = params_in_simulator(EndpointParams), RisingEdge(dut.clk)
    shape = params.table_port_beat
    sources = [Source(dut, f"requests_{k}", stall=source) for k in range(TABLE_CLIENTS)]
    bursts = Sink(dut, "bursts", stall=sink)
    dut.given.value = 0
    await start(dut)
    asked = [
        [some_number(params.beat_address_bits) for _ in range(REQUESTS)]
        for _ in range(TABLE_CLIENTS)
    ]
    for source, numbers in zip(sources, asked, strict=True):
        for number in numbers:
            source.append(number)
    expected, found = [[] for _ in asked], [[] for _ in asked]
    seen, due = 0, deque()
    while sum(map(len, found)) < TABLE_CLIENTS * REQUESTS:
        given = {name: random.getrandbits(field.width) for name, field in shape} | {"valid": 0}
        if due and random.random() < 0.7:
            client = due.popleft()
            given |= {"valid": 1, "tag": client}
            expected[client].append((given["failed"], given["data"]))
        dut.given.value = pack(shape, given)
        await edge
        due.extend(burst["tag"] for burst in bursts.beats[seen:])
        seen = len(bursts.beats)
        for k, beats in enumerate(found):
            beat = unpack(TABLE_BEAT, int(getattr(dut, f"beats_{k}").value))
            if beat["valid"]:
                beats.append((beat["failed"], beat["data"]))
    assert found == expected
    for k, numbers in enumerate(asked):
        ours = [burst["address"] for burst in bursts.beats if burst["tag"] == k]
        assert ours == [64 * number for number in numbers]
    if stalls.none:
        assert bursts.cycles[-1] - bursts.cycles[0] == TABLE_CLIENTS * REQUESTS - 1
        for k in range(TABLE_CLIENTS):  # they take turns
            assert {b["tag"] for b in bursts.beats[3 * k : 3 * k + 3]} == {0, 1, 2}


@cocotb.test(timeout_time=10, timeout_unit="us")
@cocotb.parametrize(client=range(TABLE_CLIENTS))
async def one_client_alone(dut, client):
    """It waits for nobody, and nobody else is answered."""
    RisingEdge(dut.clk)
    bursts = Sink(dut, "bursts")
    sources = [Source(dut, f"requests_{k}") for k in range(TABLE_CLIENTS)]
    dut.given.value = 0
    await start(dut)
    for rounds in range(2):
        await sources[client].send_all(range(20))
        await ClockCycles(dut.clk, 5)
        assert [burst["tag"] for burst in bursts.beats[20 * rounds :]] == [client] * 20
        first = sources[client].cycles[20 * rounds] + TableReader.latency
        assert bursts.cycles[20 * rounds :] == list(range(first, first + 20))
