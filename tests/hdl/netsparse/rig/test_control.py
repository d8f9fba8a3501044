import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.rig.control import RigControl
from hdl.netsparse.rig.params import FAILURES, WATCHDOG_BITS, Cause, RigParams
from sim.payloads import pack, unpack
from sim.streams import STALLS, Sink, Source, cycle, never, start
from sim.verilator import params_in_simulator, simulate
from tests.hdl.netsparse.rig.bench import TINY


def test_control():
    simulate(RigControl(TINY), __name__, registers=["idle"])


CAUSES = [Cause[name.upper()] for name in FAILURES.members]


class Bench:
    def __init__(self, dut, source=never, sink=never):
        self.dut, self.params = dut, params_in_simulator(RigParams)
        for name in ("failures", "progress", "finished", "drained"):
            getattr(dut, name).value = 0
        self.commands = Source(dut, "commands", stall=source)
        self.completions = Sink(dut, "completions", stall=sink)
        self.forgets = []
        self.started = []

    async def watch(self):
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            if dut.start.value:
                command = unpack(self.params.command, int(dut.command.value))
                self.started.append((cycle(), command))
            if dut.forget.value:
                assert dut.cancel.value
                self.forgets.append(cycle())

    async def begin(self):
        await start(self.dut)
        cocotb.start_soon(self.watch())
        return self

    def command(self, **changes):
        command = {
            "tag": random.getrandbits(16),
            "idx_address": 8 * random.getrandbits(29),
            "count": random.getrandbits(32),
            "wide": random.getrandbits(1),
            "property_address": 4 * random.getrandbits(30),
            "property_bytes": 4 * random.randint(1, self.params.most_property_bytes // 4),
            "watchdog": 0,
            "cause": Cause.DONE,
        }
        return command | changes

    async def run(self, **changes):
        command = self.command(**changes)
        self.commands.append(command)
        await ClockCycles(self.dut.clk, 8)
        return command

    def ended(self, command, cause):
        assert self.completions.beats[-1] == {"tag": command["tag"], "cause": cause}
        assert not self.dut.busy.value
        assert not self.dut.cancel.value


async def pulse(dut, name, value=1):
    getattr(dut, name).value = value
    await RisingEdge(dut.clk)
    getattr(dut, name).value = 0


@cocotb.test(timeout_time=100, timeout_unit="us")
async def carries_out_legal_commands(dut):
    bench = await Bench(dut).begin()
    generations = []
    for k in range(30):
        extremes = {"property_bytes": random.choice((4, bench.params.most_property_bytes))}
        command = await bench.run(**extremes if k % 2 else {})
        assert len(bench.started) == k + 1
        assert bench.started[-1][1] == command
        begun = bench.started[-1][0]
        assert begun - bench.commands.cycles[-1] == RigControl.start_latency
        generations.append(int(dut.generation.value))
        await ClockCycles(dut.clk, random.randrange(20))
        assert dut.running.value
        assert dut.busy.value
        assert len(bench.completions.beats) == k
        await pulse(dut, "finished")
        await ClockCycles(dut.clk, 3)
        bench.ended(command, Cause.DONE)
    assert len({*generations}) == len(generations)
    assert not bench.forgets


@cocotb.test(timeout_time=100, timeout_unit="us")
async def ends_at_once_what_cannot_be_done(dut):
    bench = await Bench(dut).begin()
    for cause in (Cause.COMMAND, Cause.ARRAY):
        command = await bench.run(cause=cause)
        bench.ended(command, cause)
    assert not bench.started
    dut.finished.value = 1
    command = await bench.run()
    bench.ended(command, Cause.DONE)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def fails_and_drains(dut):
    """The first failure is told; of several at once, that with the lowest number."""
    bench = await Bench(dut).begin()
    for cause in CAUSES * 3:
        command = await bench.run()
        before = int(dut.generation.value)
        more = [one for one in CAUSES if one.value > cause.value and random.getrandbits(1)]
        bits = {one.name.lower(): 1 for one in (cause, *more)}
        dut.finished.value = 1 if random.random() < 0.3 else 0  # no excuse
        await pulse(dut, "failures", pack(FAILURES, bits))
        dut.finished.value = 0
        for _ in range(20):
            await RisingEdge(dut.clk)
            assert dut.cancel.value
            assert dut.generation.value != before
            dut.failures.value = pack(FAILURES, {random.choice(CAUSES).name.lower(): 1})
            dut.finished.value = random.getrandbits(1)
        dut.failures.value = dut.finished.value = 0
        assert not bench.forgets
        await pulse(dut, "drained")
        await ClockCycles(dut.clk, 3)
        bench.ended(command, cause)
        assert len(bench.forgets) == 1
        bench.forgets.clear()
        generation = int(dut.generation.value)
        command = await bench.run()
        assert dut.generation.value not in (before, generation)
        await pulse(dut, "finished")
        await ClockCycles(dut.clk, 3)
        bench.ended(command, Cause.DONE)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def watches_for_progress(dut):
    bench = await Bench(dut).begin()
    for limit in (1, 2, 10, 100):
        command = await bench.run(watchdog=limit + 20)
        for _ in range(5):
            await ClockCycles(dut.clk, limit + 15)
            await pulse(dut, "progress")
        last = cycle()
        while not dut.cancel.value:
            await RisingEdge(dut.clk)
        assert limit + 20 <= cycle() - last <= limit + 20 + 4
        await pulse(dut, "drained")
        await ClockCycles(dut.clk, 3)
        bench.ended(command, Cause.WATCHDOG)
        # The time until the next command does not count.
        await ClockCycles(dut.clk, 3 * limit)
    command = await bench.run(watchdog=0)
    await ClockCycles(dut.clk, 1000)
    assert dut.running.value
    assert not dut.cancel.value
    await pulse(dut, "finished")
    await ClockCycles(dut.clk, 3)
    bench.ended(command, Cause.DONE)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def commands_wait_for_the_host(dut):
    """A completion stays until it is taken, and the next command with it."""
    bench = await Bench(dut).begin()
    bench.completions.stop()
    dut.finished.value = 1
    given = [bench.command() for _ in range(bench.params.commands + 3)]
    for command in given:
        bench.commands.append(command)
    await ClockCycles(dut.clk, 40)
    assert len(bench.started) == 1
    assert dut.completions_valid.value
    assert len(bench.commands.cycles) == bench.params.commands + 1
    completions = Sink(dut, "completions")
    await ClockCycles(dut.clk, 60)
    assert [beat["tag"] for beat in completions.beats] == [command["tag"] for command in given]
    assert [command for _, command in bench.started] == given
    assert not dut.busy.value


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def commands_come_at_any_pace(dut, stalls):
    """Those that are done at once, and illegal ones, which end sooner."""
    bench = await Bench(dut, *stalls).begin()
    dut.finished.value = 1
    causes = [random.choice((Cause.DONE, Cause.COMMAND)) for _ in range(60)]
    given = [bench.command(cause=cause) for cause in causes]
    await bench.commands.send_all(given)
    await bench.completions.wait_for(len(given))
    assert bench.completions.beats == [
        {"tag": command["tag"], "cause": cause}
        for command, cause in zip(given, causes, strict=True)
    ]
    legal = [one for one, cause in zip(given, causes, strict=True) if cause is Cause.DONE]
    assert [command for _, command in bench.started] == legal


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def long_watchdogs_expire_in_time(dut):
    """From a preset a little before the limit, and from one that differs in the top bit alone."""
    bench = await Bench(dut).begin()
    for bit in range(5, WATCHDOG_BITS):
        limit = random.randrange(1 << bit, 2 << bit)
        command = await bench.run(watchdog=limit)
        for early in (1 << bit, 0):
            dut.idle.value = max(0, limit - 12 - early)
            for _ in range(10):
                await RisingEdge(dut.clk)
                assert not dut.cancel.value
        await ClockCycles(dut.clk, 6)
        assert dut.cancel.value
        await pulse(dut, "drained")
        await ClockCycles(dut.clk, 3)
        bench.ended(command, Cause.WATCHDOG)
