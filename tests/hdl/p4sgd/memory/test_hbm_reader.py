import random

import cocotb
import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.memory.hbm_reader import HbmReader
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.payloads import unpack
from sim.harness.streams import crossed, never, often
from sim.surroundings.axi_ram import Fault
from tests.hdl.common.read_bench import beats_of, make_plan
from tests.hdl.p4sgd.memory.reader_bench import BEAT_BYTES, ReaderBench, run_on_memories

BEATS = 2048


@pytest.mark.parametrize(
    "worker",
    [
        WorkerParams(),
        WorkerParams(engine=EngineParams(banks=8, lanes=32)),
        WorkerParams(engine=EngineParams(banks=16, lanes=37)),
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


class WordBench(ReaderBench):
    output = "words"

    def words_of(self, *plans):
        """Return words with port p's beat at bits [256 p, 256 p + 256), cut to their width."""
        words = []
        for plan in plans:
            for index in beats_of(plan, BEAT_BYTES):
                whole = b"".join(memory[index].tobytes() for memory in self.memories)
                word = self.params.worker.engine.word
                bits = int.from_bytes(whole, "little") % (1 << word.size)
                words.append(unpack(word, bits))
        return words

    async def read_plans(self, *plans):
        await self.read(self.words_of(*plans), *plans)


@crossed(sink_stall=[never, often], stall=[0, 100], latency=[0, 40])
async def puts_ports_side_by_side(dut, sink_stall, stall, latency):
    bench = WordBench(dut, sink_stall, r_stall=stall, ar_stall=stall, read_latency=latency)
    await (await bench.begin()).read_plans(*(random_plan() for _ in range(5)))
    assert not bench.failed.beats


@crossed(shape=[(2000, 0, 1), (4, 8, 250), (16, 16, 100)])
async def reads_a_word_every_cycle(dut, shape):
    beats, stride, runs = shape
    bench = await WordBench(dut, read_latency=128).begin()
    await bench.read_plans(make_plan(BEAT_BYTES, 0, beats, stride, runs))
    cycles = bench.words.cycles
    if bench.params.worker.prefetch_beats >= 256:
        assert cycles == list(range(cycles[0], cycles[0] + beats * runs))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def ports_that_stall_apart_do_not_add_up(dut):
    """Each port alone gives 3 words in 4 cycles; both together nearly as many."""
    bench = await WordBench(dut, r_stall=64).begin()
    await bench.read_plans(make_plan(BEAT_BYTES, 0, BEATS))
    rate = BEATS / (bench.words.cycles[-1] - bench.words.cycles[0])
    if bench.params.worker.prefetch_beats >= 256:
        assert rate > 0.7


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def any_port_s_failure_is_one(dut):
    bench = WordBench(dut)
    for port, beat in zip(range(len(bench.memories)), (5, 50, 80), strict=False):
        bench.set_memory(port, fail_read=1, fail_read_beat=beat)
    await (await bench.begin()).read_plans(make_plan(BEAT_BYTES, 0, 100))
    assert len(bench.failed.beats) == len(bench.memories)


@crossed(fault=[Fault.LAST, Fault.MUTE])
async def each_port_has_its_own_bus(dut, fault):
    """One that breaks is told apart, and revived; the others have ended with it."""
    bench = await WordBench(dut).begin()
    ports, mute = range(len(bench.memories)), fault is Fault.MUTE

    def ports_that_say(name):
        return {k for k in ports if bench.value(f"bus_{k}")[name]}

    async def report(**said):
        await bench.strobe(watch=said)
        await bench.wait(40)

    for port in ports:
        said = [bench.tally(f"bus_{k}") for k in ports]
        bench.set_memory(port, fail_read=1, fail_read_beat=50, fault=fault.value)
        await bench.plan.send_all([make_plan(BEAT_BYTES, 0, BEATS)])
        await bench.wait(bench.params.worker.prefetch_beats)  # the others fill their buffers
        for _ in range(4):
            await report(tick=1)
        assert ports_that_say("broken") == {port}
        assert ports_that_say("silent") == ports_that_say("owes") == ({port} if mute else set())
        assert {k for k in ports if said[k]["dropped"]} == (set() if mute else {port})
        bench.set_memory(port)
        await bench.halt()
        while dut.busy.value or ports_that_say("owes"):
            await bench.wait()
        await report()
        await report(revive=1)
        assert not ports_that_say("broken")
        bench.state.take()  # no plan is taken while a port is broken
        await bench.read_plans(random_plan())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def halt_leaves_no_port_behind(dut):
    """However far each port has come, the next plan's words are whole."""
    bench = await WordBench(dut, r_stall=100, ar_stall=100, read_latency=20).begin()
    for attempt in range(20):
        for port in range(len(bench.memories)):
            behind = port == attempt % len(bench.memories)  # far behind the others
            slow = (
                {"r_stall": 200, "read_latency": 100}
                if behind
                else {"r_stall": 100, "read_latency": 20}
            )
            bench.set_memory(port, ar_stall=100, **slow)
        await bench.plan.send_all([make_plan(BEAT_BYTES, 0, BEATS)])
        await bench.wait(attempt * 4)
        await bench.halt()
        await bench.read_plans(random_plan())
