import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.idx_filter.bank import FilterBank
from hdl.netsparse.idx_filter.params import FilterCacheParams
from sim.golden.idx_filter import IdxFilter, line_address
from sim.streams import STALLS, Sink, Source, cycle, never, often, start
from sim.verilator import params_in_simulator, simulate

PARAMS = FilterCacheParams(
    units=4, banks=1, cache_bytes=512, ways=2, idx_bits=14, address_bits=16, slots=64
)


def test_bank():
    simulate(FilterBank(PARAMS), __name__)


class Memory:
    """Answers fills and write-backs a few cycles later."""

    def __init__(self, dut, stall):
        self.dut, self.lines, self.tasks = dut, {}, []
        self.fills = Sink(dut, "fills", stall=stall, callback=self.fill)
        self.write_backs = Sink(dut, "write_backs", stall=stall, callback=self.write_back)
        for name in ("filled", "fill_error", "written"):
            getattr(dut, name).value = 0

    def fill(self, address):
        cocotb.start_soon(self.pulse("filled", self.lines.get(address, 0)))

    def write_back(self, line):
        self.lines[line["address"]] = line["data"]
        cocotb.start_soon(self.pulse("written"))

    async def pulse(self, name, line=None):
        for _ in range(random.randrange(5)):
            await RisingEdge(self.dut.clk)
        getattr(self.dut, name).value = 1
        if line is not None:
            self.dut.fill_data.value = line
        await RisingEdge(self.dut.clk)
        getattr(self.dut, name).value = 0


async def begin(dut, stalls):
    params = params_in_simulator(FilterCacheParams)
    dut.clear.value, dut.base.value = 1, 0
    source_stall, sink_stall = stalls
    memory = Memory(dut, sink_stall)
    await start(dut)
    for place in range(params.sets):
        dut.clear_at.value = place
        await RisingEdge(dut.clk)
    dut.clear.value = 0
    source = Source(dut, "requests", stall=source_stall)
    return memory, source, Sink(dut, "answers", stall=sink_stall)


def beats(requests):
    return [
        {"unit": k % 4, "request": {"set": is_set, "idx": idx, "slot": k % 61}}
        for k, (is_set, idx) in enumerate(requests)
    ]


def expected(requests, model):
    bits = [int(model.access(idx, set_bit=is_set).bit) for is_set, idx in requests]
    return [
        {"unit": k % 4, "answer": {"slot": k % 61, "bit": bit, "failed": 0}}
        for k, bit in enumerate(bits)
    ]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def answers_may_be_held_up(dut, stalls):
    params = params_in_simulator(FilterCacheParams)
    memory, source, sink = await begin(dut, stalls)
    model = IdxFilter(1 << 14, 1, params.sets, params.ways)
    requests = [
        (random.random() < 0.4, random.randrange(11) * 512 * (k % 50 == 0) + random.randrange(40))
        for k in range(800)
    ]
    await source.send_all(beats(requests))
    await sink.wait_for(len(requests))
    assert sink.beats == expected(requests, model)
    for _ in range(60):
        await RisingEdge(dut.clk)
    assert dut.idle.value
    for line in range(32):
        bits = model.memory[line * 512 : (line + 1) * 512]
        number = sum(1 << int(k) for k in bits.nonzero()[0])
        assert memory.lines.get(line_address(line * 512), 0) == number


@cocotb.test(timeout_time=100, timeout_unit="us")
async def it_stops_when_nobody_takes_answers(dut):
    _, source, sink = await begin(dut, (never, never))
    requests = [(True, random.randrange(512)) for _ in range(200)]
    for beat in beats(requests):
        source.append(beat)
    sink.stop()
    for _ in range(100):
        await RisingEdge(dut.clk)
    taken = len(source.cycles)
    assert 0 < taken < 40
    assert not dut.idle.value
    sink = Sink(dut, "answers", stall=often)
    await sink.wait_for(len(requests))
    params = params_in_simulator(FilterCacheParams)
    assert sink.beats == expected(requests, IdxFilter(512, 1, params.sets, params.ways))


@cocotb.test(timeout_time=100, timeout_unit="us")
async def one_request_a_cycle(dut):
    _, source, sink = await begin(dut, (never, never))
    await source.send_all(beats([(False, 0)]))
    await sink.wait_for(1)
    begun = cycle()
    await source.send_all(beats([(k % 3 == 0, random.randrange(512)) for k in range(300)]))
    await sink.wait_for(301)
    sent = source.cycles[1:]
    assert sent[0] <= begun + 2
    assert sent == list(range(sent[0], sent[0] + 300))
    assert sink.cycles[1:] == [at + FilterBank.latency for at in sent]
