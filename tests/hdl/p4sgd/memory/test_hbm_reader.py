import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.bus_watch import BUS, WATCH
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.memory.hbm_reader import HbmReader
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.payloads import pack, unpack
from sim.harness.streams import Sink, Source, never, often, start, strobe
from sim.surroundings.axi_ram import Fault
from tests.hdl.common.read_bench import beats_of, make_plan
from tests.hdl.p4sgd.bench import Trace, clock
from tests.hdl.p4sgd.memory.reader_bench import BEAT_BYTES, Bench, run_on_memories

BEATS = 2048


@pytest.mark.parametrize(
    "worker",
    [
        WorkerParams(),
        WorkerParams(engine=EngineParams(banks=8, lanes=32)),
        WorkerParams(engine=EngineParams(banks=2, lanes=256), prefetch_beats=32, address_bits=20),
    ],
    ids=lambda worker: worker.suffix,
)
def test_hbm_reader(worker, tmp_path, rng):
    run_on_memories(HbmReader, worker, __name__, tmp_path, rng, BEATS)


def random_plan():
    beats, runs = random.randint(1, 60), random.randint(1, 5)
    stride = random.randint(0, 100)
    first = random.randrange(BEATS - beats - runs * stride)
    return make_plan(BEAT_BYTES, first, beats, stride, runs, random.randint(1, 2))


def words_of(bench, *plans):
    """Return words with port p's beat at bits [256 p, 256 p + 256)."""
    words = []
    for plan in plans:
        for index in beats_of(plan, BEAT_BYTES):
            whole = b"".join(memory[index].tobytes() for memory in bench.memories)
            bits = int.from_bytes(whole, "little")
            words.append(unpack(bench.params.worker.engine.word, bits))
    return words


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(sink_stall=[never, often], stall=[0, 100], latency=[0, 40])
async def puts_ports_side_by_side(dut, sink_stall, stall, latency):
    bench = Bench(
        dut, "words", sink_stall=sink_stall, r_stall=stall, ar_stall=stall, read_latency=latency
    )
    await bench.begin()
    plans = [random_plan() for _ in range(5)]
    await bench.source.send_all(plans)
    await bench.finish(words_of(bench, *plans))
    assert bench.failed == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(shape=[(2000, 0, 1), (4, 8, 250), (16, 16, 100)])
async def reads_a_word_every_cycle(dut, shape):
    beats, stride, runs = shape
    bench = await Bench(dut, "words", read_latency=128).begin()
    await bench.source.send_all([make_plan(BEAT_BYTES, 0, beats, stride, runs)])
    await bench.sink.wait_for(beats * runs)
    cycles = bench.sink.cycles
    if bench.params.worker.prefetch_beats >= 256:
        assert cycles == list(range(cycles[0], cycles[0] + beats * runs))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def ports_that_stall_apart_do_not_add_up(dut):
    """Each port alone gives 3 words in 4 cycles; both together nearly as many."""
    bench = await Bench(dut, "words", r_stall=64).begin()
    await bench.source.send_all([make_plan(BEAT_BYTES, 0, BEATS)])
    await bench.sink.wait_for(BEATS)
    rate = BEATS / (bench.sink.cycles[-1] - bench.sink.cycles[0])
    if bench.params.worker.prefetch_beats >= 256:
        assert rate > 0.7


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def any_port_s_failure_is_one(dut):
    bench = Bench(dut, "words")
    bench.set(0, fail_read=1, fail_read_beat=5)
    if len(bench.memories) > 1:
        bench.set(1, fail_read=1, fail_read_beat=50)
    await bench.begin()
    plan = make_plan(BEAT_BYTES, 0, 100)
    await bench.source.send_all([plan])
    await bench.finish(words_of(bench, plan))
    assert bench.failed == len(bench.memories)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(fault=[Fault.LAST, Fault.MUTE])
async def each_port_has_its_own_bus(dut, fault):
    """One that breaks is told apart, and revived; the others have ended with it."""
    bench = Bench(dut, "words")
    ports = range(len(bench.memories))
    dut.halt.value = dut.watch.value = 0
    await start(dut)
    source, sink = Source(dut, "plan"), Sink(dut, "words")
    mute = fault is Fault.MUTE

    def ports_that_say(name):
        return {k for k in ports if unpack(BUS, int(getattr(dut, f"bus_{k}").value))[name]}

    async def tell(**said):
        dut.watch.value = pack(WATCH, said)
        await RisingEdge(dut.clk)
        dut.watch.value = 0
        await ClockCycles(dut.clk, 40)

    for port in ports:
        trace = Trace(dut, *(f"bus_{k}" for k in ports))
        bench.set(port, fail_read=1, fail_read_beat=50, fault=fault.value)
        await source.send_all([make_plan(BEAT_BYTES, 0, BEATS)])
        await clock(dut, bench.params.worker.prefetch_beats)  # the others fill their buffers
        for _ in range(4):
            await tell(tick=1)
        assert ports_that_say("broken") == {port}
        assert ports_that_say("silent") == ports_that_say("owes") == ({port} if mute else set())
        dropping = {k for k in ports if any(bus["dropped"] for bus in trace[f"bus_{k}"])}
        assert dropping == (set() if mute else {port})
        sink.stop()
        bench.set(port)
        await strobe(dut.halt, dut.clk)
        while dut.busy.value or ports_that_say("owes"):
            await RisingEdge(dut.clk)
        await tell()
        await tell(revive=1)
        assert not ports_that_say("broken")
        sink = Sink(dut, "words")
        plan = random_plan()
        await source.send_all([plan])
        words = words_of(bench, plan)
        await sink.wait_for(len(words))
        assert sink.beats == words


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def halt_leaves_no_port_behind(dut):
    """However far each port has come, the next plan's words are whole."""
    bench = await Bench(dut, "words", r_stall=100, ar_stall=100, read_latency=20).begin()
    for attempt in range(20):
        for port in range(len(bench.memories)):
            behind = port == attempt % len(bench.memories)  # far behind the others
            stall, latency = (200, 100) if behind else (100, 20)
            bench.set(port, ar_stall=100, r_stall=stall, read_latency=latency)
        await bench.source.send_all([make_plan(BEAT_BYTES, 0, BEATS)])
        await ClockCycles(dut.clk, attempt * 4)
        await bench.halt()
        plan = random_plan()
        await bench.source.send_all([plan])
        await bench.finish(words_of(bench, plan))
        bench.sink.stop()
        bench.open_sink()
