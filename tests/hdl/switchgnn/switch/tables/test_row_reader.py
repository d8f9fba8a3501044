"""Reads rows of a table as requests ask for them, at any pace."""

import random
from itertools import islice

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switchgnn.switch.tables.row_reader import COUNT_BITS, RowReader, RowReaderParams
from sim.harness.streams import STALLS, Sink, Source, start
from sim.harness.verilator import params_in_simulator
from tests.hdl.switchgnn.extremes import some_number
from tests.simulated import simulated

SIZES = [RowReaderParams(bits=12, rows=16), RowReaderParams(bits=70, rows=512, style="block")]

test_row_reader = simulated(
    RowReader, SIZES, __name__, ids=lambda params: f"{params.rows}", registers=["done"]
)


async def fill(dut, params):
    """Start, and write all of the table; return what it holds."""
    for name in ("write", "address", "row"):
        getattr(dut, name).value = 0
    await start(dut)
    table = [some_number(params.bits) for _ in range(params.rows)]
    dut.write.value = 1
    for at, row in enumerate(table):
        dut.address.value, dut.row.value = at, row
        await RisingEdge(dut.clk)
    dut.write.value = 0
    return table


def some_request(params, most):
    count = random.randint(1, most)
    there = random.choice((count, count, random.randrange(count + 1), 0xFFFF))
    return {"first": random.randrange(params.rows), "count": count, "there": there}


def rows_of(table, request):
    """Return what leaves for a request; None stands for a row that does not exist."""
    for k in range(request["count"]):
        there = k < request["there"]
        row = table[(request["first"] + k) % len(table)] if there else None
        yield row, int(k == request["count"] - 1)


def found(beats):
    return [(None if beat["missing"] else beat["row"], beat["last"]) for beat in beats]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def gives_what_is_asked_for(dut, stalls):
    """If nobody pauses, a row leaves per cycle, over all requests."""
    params = params_in_simulator(RowReaderParams)
    source_stall, sink_stall = stalls
    source, sink = Source(dut, "requests", stall=source_stall), Sink(dut, "rows", stall=sink_stall)
    table = await fill(dut, params)
    requests = [some_request(params, random.choice((1, 1, 4, 20))) for _ in range(150)]
    golden = [row for request in requests for row in rows_of(table, request)]
    for request in requests:
        source.append(request)
    await sink.wait_for(len(golden))
    assert found(sink.beats) == golden
    if stalls.none:
        first = sink.cycles[0]
        assert [*sink.cycles] == [first + k for k in range(len(golden))]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_its_latency(dut):
    params = params_in_simulator(RowReaderParams)
    source, sink = Source(dut, "requests"), Sink(dut, "rows")
    table = await fill(dut, params)
    for k in range(1, 10):
        request = some_request(params, 1)
        await source.send_all([request])
        await sink.wait_for(k)
        assert sink.cycles[-1] - source.cycles[-1] == RowReader.latency
        assert found(sink.beats[-1:]) == [*rows_of(table, request)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def ends_lists_of_any_length(dut):
    """The test sees only the end of each list, as it sets how many rows are done."""
    params = params_in_simulator(RowReaderParams)
    source, sink = Source(dut, "requests"), Sink(dut, "rows")
    table = await fill(dut, params)
    last = [random.randrange(1 << bit, 2 << bit) for bit in range(4, COUNT_BITS) for _ in range(4)]
    for done in (*last, *((1 << bit) - 5 for bit in range(4, COUNT_BITS + 1))):
        count = min(done + 10, (1 << COUNT_BITS) - 1)
        there = random.randrange(done, count + 1)
        request = {"first": random.randrange(params.rows), "count": count, "there": there}
        sink.beats.clear()
        dut.done.value = done
        await source.send_all([request])
        await sink.wait_for(count - done)
        assert found(sink.beats) == [*islice(rows_of(table, request), done, None)]
