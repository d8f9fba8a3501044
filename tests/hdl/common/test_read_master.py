import random
from itertools import islice, pairwise

import cocotb

from hdl.common.axi import Response
from hdl.common.bus_watch import BUS
from hdl.common.read_master import ReadMaster
from hdl.common.read_plan import COUNT_BITS, EPOCH_BITS, ReadMasterParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Stalls, always, crossed, cycle, never, often, rarely
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


class ReadBench(Bench):
    """Has a read master whose bursts and outputs are watched."""

    def __init__(self, dut, stalls=(never, never)):
        super().__init__(dut, stalls)
        self.judge, self.failed = BurstJudge(self), self.record("failed")
        self.shown = self.record("", "plan_ready", "busy", "halt", "axi_arvalid", "o_valid")
        self.beat_bytes = self.params.beat_bytes

    def check(self):
        """Check bursts, and that it is busy from the plan until its last beat has left; idle is
        ready for a plan.
        """
        self.judge.judged()
        for before, now in pairwise(self.shown.take().values()):
            quiet = not before["busy"] and not now["busy"]
            assert now["plan_ready"] == (quiet and not now["halt"])
            assert now["busy"] or not (now["axi_arvalid"] or now["o_valid"])

    async def halt(self, cycles):
        """Halt it for so long: what it has is dropped, though nobody takes a beat meanwhile."""
        self.o.let_go()
        takes, self.o.stall = self.o.stall, always
        self.set(halt=1)
        low = [self.record("o_valid"), self.record("plan_ready")]
        await self.wait(cycles)
        assert not any(item.beats for item in low)
        self.set(halt=0)
        await self.until("busy", 0)
        assert not low[0].beats
        self.o.stall = takes


class MemoryBench(ReadBench):
    """Has a memory that answers."""

    def __init__(self, dut, stalls=(never, never), memory_stall=never, bad=()):
        super().__init__(dut, stalls)
        self.memory = Memory(self, MEMORY_BEATS * self.beat_bytes, stall=memory_stall, bad=bad)
        self.memory.bytes.reshape(-1, self.beat_bytes)[::97] = 0xFF

    def expect(self, *plans):
        indices = [beat for plan in plans for beat in beats_of(plan, self.beat_bytes)]
        return self.memory.beats(indices, self.beat_bytes)

    async def read(self, *plans):
        """Give plans; all their beats come, and not one more."""
        self.forget()
        self.plan.extend(plans)
        await self.finish(30, o=self.expect(*plans))
        self.check()


@crossed(stalls=STALLS, memory_stall=[never, rarely, often], ms=2)
async def delivers_what_plans_say(dut, stalls, memory_stall):
    bench = await MemoryBench(dut, stalls, memory_stall).begin()
    plans = [random_plan() for _ in range(20 if bench.params.burst_beats <= 16 else 4)]
    await bench.read(*plans)
    assert bench.judge.requested == [
        beat for plan in plans for beat in beats_of(plan, bench.beat_bytes)
    ]
    assert not bench.failed.beats


@crossed(later=range(5))
async def an_empty_plan_is_soon_over(dut, later):
    """Whenever the next plan comes, it has to wait for a few cycles at most."""
    bench = await MemoryBench(dut).begin()
    for _ in range(3):
        plan = random_plan()
        await bench.plan.send_all([plan | {random.choice(("beats", "runs", "epochs")): 0}])
        empty = bench.plan.cycles[-1]
        await bench.wait(later)
        await bench.read(plan)
        assert bench.plan.cycles[0] - empty <= max(4, later + 2)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def crosses_windows_and_pages(dut):
    """Starts are all within a window, or few of a long one; runs cross the border of 4 KB."""
    bench = await MemoryBench(dut).begin()
    window, page = bench.params.burst_beats, 4096 // bench.beat_bytes
    starts = range(window) if window <= 16 else (0, 1, window // 2, window - 1)
    await bench.read(*(make_plan(bench.beat_bytes, page - window + k, window + 1) for k in starts))


@crossed(stalls=STALLS)
async def reports_failing_beats_and_delivers_them(dut, stalls):
    params, bad = params_in_simulator(ReadMasterParams), random.sample(range(100), 9)
    memory_stall, sink_stall = stalls
    ats = [beat * params.beat_bytes for beat in bad]
    bench = await MemoryBench(dut, (never, sink_stall), memory_stall, ats).begin()
    for beat in bad:  # the model answers a failing read with zeros
        bench.memory.bytes.reshape(-1, params.beat_bytes)[beat] = 0
    await bench.read(make_plan(params.beat_bytes, 0, 100, epochs=2))
    assert len(bench.failed.beats) == 2 * len(bad)


@crossed(stalls=[Stalls.NONE, Stalls.BUSY_SINK], length=[1, 7], ms=2)
async def halt_abandons_a_plan(dut, stalls, length):
    """It halts at any moment, with bursts waiting, in flight, buffered; the next plan is whole."""
    bench = await MemoryBench(dut, stalls, often if stalls is Stalls.BUSY_SINK else never).begin()
    long_plan = make_plan(bench.beat_bytes, 3, 50, stride=70, runs=20, epochs=100)
    for attempt in range(12):
        bench.forget()
        await bench.plan.send_all([long_plan])
        await bench.wait(attempt if attempt < 10 else random.randrange(200))
        partial = bench.o.beats
        assert partial == bench.expect(long_plan | {"epochs": 2})[: len(partial)]
        await bench.halt(length)
        await bench.read(random_plan())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def halt_begins_no_burst(dut):
    bench = await MemoryBench(dut, memory_stall=often).begin()
    for _ in range(20):
        await bench.plan.send_all([make_plan(bench.beat_bytes, 0, 400)])
        await bench.wait(random.randrange(5, 30))
        halted, offered = cycle(), len(bench.judge.judged())
        await bench.halt(60)
        # One burst may have become a register at the edge that raised halt.
        assert all(burst.offered <= halted + 1 for burst in bench.judge.judged()[offered:])
    bench.check()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def fills_its_buffer_and_no_more(dut):
    bench = await MemoryBench(dut, (never, always)).begin()
    most = bench.params.prefetch_beats
    bench.plan.append(make_plan(bench.beat_bytes, 0, 2 * most))
    await bench.wait(3 * most + 50)
    assert len(bench.judge.requested) == most
    bench.check()
    assert dut.busy.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def requests_without_waiting_to_be_heard(dut):
    """``arvalid`` does not wait for ``arready``, and stands until it comes."""
    bench = await ReadBench(dut, (never, always)).begin()
    bench.plan.append(random_plan())
    await bench.axi_ar.bus.valid.rising_edge
    await bench.wait(1)
    for _ in range(20):
        await bench.wait(1)
        assert dut.axi_arvalid.value


class ByHand(ReadBench):
    """Has a memory that answers when ``answer()`` is called."""

    def __init__(self, dut):
        super().__init__(dut)
        self.said = self.tally("bus")
        assert self.axi_ar.stall is self.axi_r.stall is never

    @property
    def requested(self):
        """Return the beats of each burst."""
        return [burst["len"] + 1 for burst in self.axi_ar.beats]

    async def answer(self, *bursts, kinds=1):
        """Give so many beats for each, numbered, RLAST with the last, and responses in turn."""
        for beats in bursts:
            for k in range(beats):
                self.axi_r.append({"data": k, "resp": k % kinds, "last": k == beats - 1})
        await self.wait(sum(bursts) + 20)

    async def report(self, **said):
        await self.strobe(watch=said)
        await self.wait(20)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def only_okay_is_no_failure(dut):
    bench = await ByHand(dut).begin()
    window = bench.params.burst_beats
    bench.plan.append(make_plan(bench.beat_bytes, 0, window))
    await bench.wait(20)
    await bench.answer(window, kinds=len(Response))
    assert bench.o.beats == list(range(window))
    assert len(bench.failed.beats) == window * 3 // 4


@cocotb.test(timeout_time=100, timeout_unit="us")
async def counts_and_addresses_have_all_their_bits(dut):
    """Without their highest bit, these plans would be empty, or read elsewhere."""
    bench = await ByHand(dut).begin()
    params = bench.params
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
        bench.forget()
        bench.judge.ar.take()
        bench.plan.append(plan)
        await bench.wait(params.prefetch_beats + 60)
        bench.o.let_go()
        bench.set(halt=1)
        await bench.wait(20)
        expected = [*islice(beats_of(plan, params.beat_bytes), params.prefetch_beats)]
        requested = bench.judge.requested
        assert requested == expected[: len(requested)]
        assert len(requested) >= len(expected) - params.burst_beats
        assert len(requested) >= 3
        await bench.answer(*bench.requested)
        bench.set(halt=0)
        await bench.wait(20)
        assert not dut.busy.value


@crossed(fault=["short", "long", "silent"], us=100)
async def a_broken_bus_ends_the_plan(dut, fault):
    """Nothing after the fault is delivered, nor the next plan; then all is as it was."""
    bench = await ByHand(dut).begin()
    window, ahead = bench.params.burst_beats, bench.params.prefetch_beats
    plan = make_plan(bench.beat_bytes, 0, window, stride=window, runs=2, epochs=50)
    bench.plan.append(plan)
    await bench.wait(3 * ahead)
    assert sum(bench.requested) == ahead
    await bench.answer(window)
    bursts = len(bench.requested)
    if fault == "silent":
        await bench.report(tick=1)
        await bench.report(tick=1)
    else:
        await bench.answer(window - 1 if fault == "short" else window + 1)
    # One is answered a cycle, and all are dropped.
    await bench.wait(ahead + 20)
    broken = {"broken": 1, "silent": int(fault == "silent"), "owes": 1, "dropped": 0}
    assert bench.value("bus") == broken
    assert not dut.busy.value
    assert bench.o.beats[:window] == list(range(window))
    assert len(bench.o.beats) < 2 * window
    bench.plan.append(plan)
    await bench.wait(20)
    assert bench.plan.missing
    bench.plan.abandon()
    late = bench.requested[1 + (fault != "silent") :]
    await bench.answer(*late)
    if fault != "silent":  # RLASTs and beats did not end together: only time tells that all came
        await bench.report(tick=1)
        await bench.report(tick=1)
    assert len(bench.o.beats) < 2 * window
    assert len(bench.requested) == bursts
    await bench.report(revive=1)
    assert bench.said["dropped"] == sum(late) + {"silent": 0, "short": 1, "long": 2}[fault]
    assert bench.value("bus") == dict.fromkeys(BUS.members, 0)
    before = len(bench.o.beats)
    bench.plan.append(plan | {"runs": 1, "epochs": 1})
    await bench.wait(20)
    await bench.answer(window)
    assert bench.o.beats[before:] == list(range(window))
    assert not dut.busy.value


@crossed(later=range(6), us=100)
async def a_beat_may_leave_in_the_cycle_in_which_the_bus_breaks(dut, later):
    """It came before the fault; in the next cycle no beat leaves, and the rest is dropped."""
    bench = await ByHand(dut).begin()
    window, shown = bench.params.burst_beats, bench.record("", "bus", "o_valid", "o_ready")
    bench.plan.append(make_plan(bench.beat_bytes, 0, window, stride=window, runs=2))
    await bench.wait(3 * window)
    bench.o.stall = always
    await bench.answer(window)
    short = [{"data": 99, "resp": 0, "last": k == window - 2} for k in range(window - 1)]
    bench.axi_r.extend(short)
    bench.o.let_go()
    await bench.wait(window - 3 + later)
    bench.o.stall = never
    await bench.wait()
    bench.o.stall = always
    await bench.wait(2 * window + 20)
    cycles = shown.take()
    fault = next(cycle for cycle, seen in cycles.items() if seen["bus"]["broken"])
    (tried,) = (cycle for cycle, seen in cycles.items() if seen["o_ready"] and cycle > fault - 9)
    assert all(cycles[fault + k]["o_valid"] == (k < 1) for k in range(-3, 9))
    assert bench.o.beats == [0] * (tried <= fault)
    assert not dut.busy.value
