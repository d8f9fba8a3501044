import random
from itertools import islice

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.axi import Response
from hdl.common.bus_watch import BUS, WATCH
from hdl.common.read_master import ReadMaster
from hdl.common.read_plan import COUNT_BITS, EPOCH_BITS, ReadMasterParams
from sim.harness.payloads import pack, unpack
from sim.harness.records import Recorder
from sim.harness.streams import (
    STALLS,
    Sink,
    Source,
    Stalls,
    cycle,
    never,
    often,
    rarely,
    send,
    start,
    started,
    until,
)
from sim.harness.verilator import params_in_simulator
from tests.hdl.common.read_bench import BurstJudge, Memory, beats_of, make_plan
from tests.simulated import simulated

MEMORY_BEATS = 4096

test_read_master = simulated(
    ReadMaster,
    [
        ReadMasterParams(address_bits=28),
        ReadMasterParams(address_bits=20, data_bits=512, prefetch_beats=32),
        ReadMasterParams(address_bits=31, data_bits=16, burst_beats=256, prefetch_beats=512),
    ],
    __name__,
)


def random_plan():
    """Draw a plan within the memory, of sizes near that of a window; few of long windows."""
    params = params_in_simulator(ReadMasterParams)
    window = params.burst_beats
    many = 6 if window <= 16 else 2
    beats = random.choice([1, 2, window - 1, window, window + 1, random.randint(1, many * window)])
    runs, epochs = random.randint(1, many), random.randint(1, many // 2)
    stride = random.choice([0, 1, beats, random.randint(1, 3 * window)])
    spare = MEMORY_BEATS - runs * stride - beats
    return make_plan(params.beat_bytes, random.randrange(spare), beats, stride, runs, epochs)


class Bench:
    """Has a read master between a memory and a sink, with all that watches it."""

    def __init__(self, dut, *, memory_stall=never, source_stall=never, sink_stall=never, bad=()):
        self.dut, self.params = dut, params_in_simulator(ReadMasterParams)
        size = MEMORY_BEATS * self.params.beat_bytes
        self.memory = Memory(dut, "axi", size, seed=cocotb.RANDOM_SEED, stall=memory_stall, bad=bad)
        self.memory.bytes.reshape(-1, self.params.beat_bytes)[::97] = 0xFF
        self.judge = BurstJudge(dut, "axi", self.params)
        self.stalls = source_stall, sink_stall

    async def begin(self):
        self.dut.halt.value = 0
        self.dut.o_ready.value = 0
        await start(self.dut)
        self.source = Source(self.dut, "plan", stall=self.stalls[0])
        self.open_sink()
        self.failed = Recorder(self.dut, "failed", {})
        shown = ("plan_ready", "busy", "halt", "axi_arvalid", "o_valid")
        self.shown = Recorder(self.dut, "", dict.fromkeys(shown))
        return self

    def check(self):
        """Check bursts, and that it is busy from the plan until its last beat has left; idle is
        ready for a plan.
        """
        self.judge.judged()
        for now in self.shown.take().values():
            assert now["plan_ready"] == (not now["busy"] and not now["halt"])
            assert now["busy"] or not (now["axi_arvalid"] or now["o_valid"])

    def open_sink(self):
        """Return a sink that knows nothing of what an earlier one saw."""
        self.sink = Sink(self.dut, "o", stall=self.stalls[1])

    def expect(self, *plans):
        indices = [beat for plan in plans for beat in beats_of(plan, self.params.beat_bytes)]
        return self.memory.beats(indices, self.params.beat_bytes)

    async def finish(self, *plans):
        """Wait for all beats of ``plans``, and not one more."""
        expected = self.expect(*plans)
        await self.sink.wait_for(len(expected))
        await ClockCycles(self.dut.clk, 30)
        assert self.sink.beats == expected
        self.check()
        assert not self.dut.busy.value
        assert not self.dut.o_valid.value


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS, memory_stall=[never, rarely, often])
async def delivers_what_plans_say(dut, stalls, memory_stall):
    source_stall, sink_stall = stalls
    bench = await Bench(
        dut, memory_stall=memory_stall, source_stall=source_stall, sink_stall=sink_stall
    ).begin()
    plans = [random_plan() for _ in range(20 if bench.params.burst_beats <= 16 else 4)]
    await bench.source.send_all(plans)
    await bench.finish(*plans)
    assert bench.judge.asked == [
        beat for plan in plans for beat in beats_of(plan, bench.params.beat_bytes)
    ]
    assert not bench.failed.beats


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(later=range(5))
async def an_empty_plan_is_soon_over(dut, later):
    """Whenever the next plan comes, it has to wait for a few cycles at most."""
    bench = await Bench(dut).begin()
    for _ in range(3):
        plan = random_plan()
        await bench.source.send_all([plan | {random.choice(("beats", "runs", "epochs")): 0}])
        await ClockCycles(dut.clk, later)
        await bench.source.send_all([plan])
        assert bench.source.cycles[-1] - bench.source.cycles[-2] <= max(4, later + 2)
        await bench.finish(plan)
        bench.sink.beats.clear()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def crosses_windows_and_pages(dut):
    """Starts are all within a window, or few of a long one; runs cross the border of 4 KB."""
    bench = await Bench(dut).begin()
    window, beat_bytes = bench.params.burst_beats, bench.params.beat_bytes
    page = 4096 // beat_bytes
    starts = range(window) if window <= 16 else (0, 1, window // 2, window - 1)
    plans = [make_plan(beat_bytes, page - window + k, window + 1) for k in starts]
    await bench.source.send_all(plans)
    await bench.finish(*plans)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def reports_failing_beats_and_delivers_them(dut, stalls):
    params = params_in_simulator(ReadMasterParams)
    bad = random.sample(range(100), 9)
    bench = Bench(
        dut,
        memory_stall=stalls.value[0],
        sink_stall=stalls.value[1],
        bad=[beat * params.beat_bytes for beat in bad],
    )
    for beat in bad:  # the model answers a failing read with zeros
        bench.memory.bytes.reshape(-1, params.beat_bytes)[beat] = 0
    await bench.begin()
    plan = make_plan(params.beat_bytes, 0, 100, epochs=2)
    await bench.source.send_all([plan])
    await bench.finish(plan)
    assert len(bench.failed.beats) == 2 * len(bad)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BUSY_SINK], length=[1, 7])
async def halt_abandons_a_plan(dut, stalls, length):
    """It halts at any moment, with bursts waiting, in flight, buffered; the next plan is whole."""
    bench = Bench(dut, memory_stall=often if stalls is Stalls.BUSY_SINK else never)
    bench.stalls = stalls.value
    await bench.begin()
    long_plan = make_plan(bench.params.beat_bytes, 3, 50, stride=70, runs=20, epochs=100)
    for attempt in range(12):
        have = len(bench.sink.beats)
        await bench.source.send_all([long_plan])
        await ClockCycles(dut.clk, attempt if attempt < 10 else random.randrange(200))
        partial = bench.sink.beats[have:]
        assert partial == bench.expect(long_plan | {"epochs": 2})[: len(partial)]
        bench.sink.stop()
        bench.dut.halt.value = 1
        halted = [Recorder(dut, name, {}) for name in ("o_valid", "plan_ready")]
        await ClockCycles(dut.clk, length)
        assert not any(one.beats for one in halted)
        bench.dut.halt.value = 0
        await until(dut.clk, dut.busy, 0)
        assert not halted[0].beats
        bench.open_sink()
        plan = random_plan()
        await bench.source.send_all([plan])
        await bench.finish(plan)
        bench.sink.stop()
        bench.open_sink()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def halt_begins_no_burst(dut):
    bench = await Bench(dut, memory_stall=often).begin()
    for _ in range(20):
        await bench.source.send_all([make_plan(bench.params.beat_bytes, 0, 400)])
        await ClockCycles(dut.clk, random.randrange(5, 30))
        bench.sink.stop()
        dut.halt.value = 1
        halted = cycle()
        await ClockCycles(dut.clk, 60)
        # One burst may have become a register at the edge that raised halt.
        assert all(burst.offered <= halted + 1 for burst in bench.judge.judged())
        assert not dut.axi_arvalid.value
        dut.halt.value = 0
        await until(dut.clk, dut.busy, 0)
        bench.open_sink()
    bench.check()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def fills_its_buffer_and_no_more(dut):
    bench = await Bench(dut).begin()
    bench.sink.stop()
    await send(
        dut, "plan", [make_plan(bench.params.beat_bytes, 0, 2 * bench.params.prefetch_beats)]
    )
    await ClockCycles(dut.clk, 3 * bench.params.prefetch_beats + 50)
    assert len(bench.judge.asked) == bench.params.prefetch_beats
    bench.check()
    assert dut.busy.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def asks_without_waiting_to_be_heard(dut):
    """``arvalid`` does not wait for ``arready``, and stands until it comes."""
    for name in ("halt", "o_ready", "axi_arready", "axi_rvalid", "plan_valid"):
        getattr(dut, name).value = 0
    await start(dut)
    await send(dut, "plan", [random_plan()])
    for cycles in range(20):
        await RisingEdge(dut.clk)
        if cycles >= 8:
            assert dut.axi_arvalid.value


class ByHand:
    """A memory that answers when ``answer()`` is called."""

    def __init__(self, dut):
        self.dut, self.asked, self.got, self.failed, self.dropped = dut, [], [], 0, 0
        for name in ("halt", "watch", "axi_rvalid", "plan_valid"):
            getattr(dut, name).value = 0
        dut.axi_arready.value = dut.o_ready.value = 1
        cocotb.start_soon(self.watch())

    async def watch(self):
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            if dut.rst.value:
                continue
            if dut.axi_arvalid.value and dut.axi_arready.value:
                self.asked.append(int(dut.axi_arlen.value) + 1)
            self.failed += bool(dut.failed.value)
            self.dropped += self.bus["dropped"]
            if dut.o_valid.value:
                self.got.append(int(dut.o_payload.value))

    async def answer(self, beats, kinds=1):
        """Give this many beats in a row, numbered, RLAST with the last, and responses in turn."""
        for number in range(beats):
            self.dut.axi_rvalid.value = 1
            self.dut.axi_rresp.value = number % kinds
            self.dut.axi_rdata.value = number
            self.dut.axi_rlast.value = number == beats - 1
            await RisingEdge(self.dut.clk)
        self.dut.axi_rvalid.value = 0

    async def pulse(self, **said):
        self.dut.watch.value = pack(WATCH, said)
        await RisingEdge(self.dut.clk)
        self.dut.watch.value = 0
        await self.wait()

    async def wait(self, cycles=20):
        await ClockCycles(self.dut.clk, cycles)

    @property
    def bus(self):
        return unpack(BUS, int(self.dut.bus.value))


@cocotb.test(timeout_time=100, timeout_unit="us")
async def only_okay_is_no_failure(dut):
    memory = await started(ByHand(dut))
    params = params_in_simulator(ReadMasterParams)
    await send(dut, "plan", [make_plan(params.beat_bytes, 0, params.burst_beats)])
    await memory.wait()
    await memory.answer(params.burst_beats, kinds=len(Response))
    await memory.wait()
    assert memory.got == list(range(params.burst_beats))
    assert memory.failed == params.burst_beats * 3 // 4


@cocotb.test(timeout_time=100, timeout_unit="us")
async def counts_and_addresses_have_all_their_bits(dut):
    """Without their highest bit, these plans would be empty, or read elsewhere."""
    memory = ByHand(dut)
    params = params_in_simulator(ReadMasterParams)
    judge = await started(BurstJudge(dut, "axi", params))
    space, most = 1 << params.beat_address_bits, 1 << COUNT_BITS - 1
    plans = [
        make_plan(params.beat_bytes, space - 3, 3),
        make_plan(params.beat_bytes, 0, 2, runs=most),
        make_plan(params.beat_bytes, 0, 2, epochs=1 << EPOCH_BITS - 1),
    ]
    if space > 2 * most:
        plans += [
            make_plan(params.beat_bytes, space // 2 + 1, most),
            make_plan(params.beat_bytes, 5, 1, stride=most, runs=3),
        ]
    for plan in plans:
        memory.asked.clear()
        judge.ar.take()
        await send(dut, "plan", [plan])
        await memory.wait(params.prefetch_beats + 50)
        dut.halt.value = 1
        await memory.wait()
        expected = [*islice(beats_of(plan, params.beat_bytes), params.prefetch_beats)]
        asked = judge.asked
        assert asked == expected[: len(asked)]
        assert len(asked) >= len(expected) - params.burst_beats
        assert len(asked) >= 3
        for burst in memory.asked:
            await memory.answer(burst)
        dut.halt.value = 0
        await memory.wait()
        assert not dut.busy.value


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(fault=["short", "long", "silent"])
async def a_broken_bus_ends_the_plan(dut, fault):
    """Nothing after the fault is delivered, nor the next plan; then all is as it was."""
    memory = await started(ByHand(dut))
    params = params_in_simulator(ReadMasterParams)
    window = params.burst_beats
    plan = make_plan(params.beat_bytes, 0, window, stride=window, runs=2, epochs=50)
    await send(dut, "plan", [plan])
    await memory.wait(3 * params.prefetch_beats)
    assert sum(memory.asked) == params.prefetch_beats
    await memory.answer(window)
    await memory.wait()
    bursts = len(memory.asked)
    if fault == "silent":
        await memory.pulse(tick=1)
        await memory.pulse(tick=1)
    else:
        await memory.answer(window - 1 if fault == "short" else window + 1)
    # One is answered a cycle, and all are dropped.
    await memory.wait(params.prefetch_beats + 20)
    assert memory.bus == {"broken": 1, "silent": fault == "silent", "owes": 1, "dropped": 0}
    assert not dut.busy.value
    assert memory.got[:window] == list(range(window))
    assert len(memory.got) < 2 * window
    dut.plan_valid.value = 1
    await memory.wait()
    assert not dut.plan_ready.value
    dut.plan_valid.value = 0
    late = memory.asked[1 + (fault != "silent") :]
    for burst in late:
        await memory.answer(burst)
    if fault != "silent":  # RLASTs and beats did not end together: only time tells that all came
        await memory.wait()
        await memory.pulse(tick=1)
        await memory.pulse(tick=1)
    await memory.pulse(revive=1)
    assert memory.dropped == sum(late) + {"silent": 0, "short": 1, "long": 2}[fault]
    assert memory.bus == dict.fromkeys(BUS.members, 0)
    assert len(memory.got) < 2 * window
    assert len(memory.asked) == bursts
    memory.got.clear()
    await send(dut, "plan", [plan | {"runs": 1, "epochs": 1}])
    await memory.wait()
    await memory.answer(window)
    await memory.wait()
    assert memory.got == list(range(window))
    assert not dut.busy.value
