import random
from dataclasses import replace

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.params import Cause
from hdl.netsparse.work_queue import COMPLETIONS, WorkQueue
from sim.payloads import pack, unpack
from sim.streams import Sink, Source, often, start
from sim.verilator import params_in_simulator, simulate
from tests.hdl.netsparse.rig.bench import TINY

CLIENTS = 0b101  # unit 1 is a server


def test_work_queue():
    rig = replace(TINY, idx_bits=20)
    params = SnicParams(units=3, rig=rig, filter_banks=1, filter_cache_bytes=256)
    simulate(WorkQueue(params), __name__)


class Host:
    def __init__(self, dut):
        self.dut, self.params = dut, params_in_simulator(SnicParams)
        dut.submit.value = dut.next.value = 0
        dut.clients.value = CLIENTS

    def request(self):
        return {
            "tag": random.getrandbits(16),
            "idx_address": random.getrandbits(32),
            "count": random.getrandbits(32),
            "wide": random.getrandbits(1),
            "property_address": random.getrandbits(32),
            "property_bytes": random.getrandbits(13),
            "watchdog": random.getrandbits(32),
        }

    async def submit(self, unit, request):
        """Whether it was taken."""
        dut = self.dut
        dut.unit.value, dut.submit.value = unit, 1
        dut.request.value = pack(self.params.rig.command, request)
        await RisingEdge(dut.clk)
        dut.submit.value = 0
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        return not dut.refused.value

    async def read_completion(self):
        dut = self.dut
        while not dut.completion_valid.value:
            await RisingEdge(dut.clk)
        completion = unpack(self.params.completed, int(dut.completion.value))
        dut.next.value = 1
        await RisingEdge(dut.clk)
        dut.next.value = 0
        await RisingEdge(dut.clk)
        return completion


@cocotb.test(timeout_time=100, timeout_unit="us")
async def gives_requests_to_clients(dut):
    host = Host(dut)
    sinks = {k: Sink(dut, f"commands_{k}") for k in range(3)}
    await start(dut)
    expected = {0: [], 1: [], 2: []}
    for _ in range(150):
        unit = random.choice((0, 0, 1, 2, 2, 3, 31))
        request = host.request()
        taken = await host.submit(unit, request)
        assert taken == (unit in (0, 2))
        if taken:
            expected[unit].append(request)
    dut.submit.value = 1
    for _ in range(20):  # one after another
        unit, request = random.choice((0, 2)), host.request()
        dut.unit.value, dut.request.value = unit, pack(host.params.rig.command, request)
        expected[unit].append(request)
        await RisingEdge(dut.clk)
    dut.submit.value = 0
    await RisingEdge(dut.clk)
    assert {k: sink.beats for k, sink in sinks.items()} == expected


@cocotb.test(timeout_time=100, timeout_unit="us")
async def refuses_what_a_unit_has_no_room_for(dut):
    host = Host(dut)
    for k in range(3):
        getattr(dut, f"commands_{k}_ready").value = 0
    await start(dut)
    assert not dut.refused.value
    for _ in range(5):
        assert not await host.submit(0, host.request())
    await ClockCycles(dut.clk, 10)
    assert dut.refused.value, "it stays until the next"
    assert not dut.commands_0_valid.value
    dut.commands_0_ready.value = 1
    assert await host.submit(0, host.request())
    assert not await host.submit(2, host.request())
    dut.commands_2_ready.value = 1
    assert await host.submit(2, host.request())


@cocotb.test(timeout_time=100, timeout_unit="us")
async def keeps_completions_in_order(dut):
    host = Host(dut)
    await start(dut)
    sources = [Source(dut, f"completions_{k}", stall=often) for k in range(3)]
    given = [[], [], []]
    count = COMPLETIONS + 20
    for _ in range(count):
        unit = random.randrange(3)
        completion = {"tag": random.getrandbits(16), "cause": random.choice(list(Cause))}
        given[unit].append(completion)
        sources[unit].append(completion)
    await ClockCycles(dut.clk, 400)
    assert COMPLETIONS <= sum(len(source.cycles) for source in sources) < count, "has no end"
    found = [[], [], []]
    for _ in range(count):
        completion = await host.read_completion()
        found[completion["unit"]].append(completion["completion"])
    assert found == given
    await ClockCycles(dut.clk, 10)
    assert not dut.completion_valid.value
    dut.next.value = 1  # of nothing: no harm
    await ClockCycles(dut.clk, 10)
    dut.next.value = 0
    sources[1].append({"tag": 5, "cause": Cause.DONE})
    expected = {"unit": 1, "completion": {"tag": 5, "cause": Cause.DONE}}
    assert await host.read_completion() == expected
