import itertools
import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.protocol import LENGTH_BITS, MOST_PROPERTY_BYTES
from hdl.netsparse.rig.command_tally import SOURCES
from hdl.netsparse.rig.control import RigControl
from hdl.netsparse.rig.params import WATCHDOG_BITS, Cause
from sim.harness.bench import Bench
from sim.harness.pulses import Noise, Pulses
from sim.harness.streams import STALLS, Sink, cycle, strobe, until
from sim.harness.verilator import simulate
from tests.hdl.netsparse.rig.bench import TINY


def test_control():
    simulate(RigControl(TINY), __name__, registers=["idle", "generation"])


FAILURES = sorted({*SOURCES}, key=lambda cause: cause.value)  #: that a client tells of


class ControlBench(Bench):
    """Has two slots. Whether their idxs are open or failed, and are given, the tests say."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls, ready=1)
        self.started = []  # cycle, idxs, array, generation
        self.forgets = []
        self.given = Pulses(dut, "given")
        self.gives = False  # each command's idxs are given soon behind its start

    async def watch(self):
        dut, begun, numbers = self.dut, None, [0, 0]
        while True:
            await RisingEdge(dut.clk)
            now = [self.generation(slot) for slot in range(2)]
            assert all(now[k] == numbers[k] for k in range(2) if k != begun)
            begun, numbers = None, now
            if dut.start.value:
                assert dut.ready.value
                assert not dut.cancel.value
                self.started.append((cycle(), self.value("idxs")))
                begun = self.started[-1][1]["slot"]
                if self.gives:
                    self.given.later({}, 0)
            if dut.forget.value:
                assert dut.cancel.value
                self.forgets.append(cycle())

    async def begin(self):
        await super().begin()
        cocotb.start_soon(self.watch())
        return self

    def command(self, **changes):
        return {
            "tag": random.getrandbits(16),
            "idx_address": 8 * random.getrandbits(29),
            "count": random.getrandbits(32) | 1,
            "wide": random.getrandbits(1),
            "property_address": 0x1000,
            "property_bytes": 64,
            "watchdog": random.choice((0, random.getrandbits(32) | 1 << 20)),
            "cause": Cause.DONE,
        } | changes

    async def run(self, **changes):
        command = self.command(**changes)
        self.commands.append(command)
        await self.wait(10)
        return command

    def generation(self, slot):
        return int(getattr(self.dut, f"generations_{slot}").value)

    def ended(self, *causes):
        """Return how the commands ended that came last."""
        assert [beat["cause"] for beat in self.completions.beats[-len(causes) :]] == [*causes]
        assert not self.dut.busy.value
        assert not self.dut.cancel.value
        assert self.dut.quiet.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def carries_out_commands(dut):
    """One is done when the last idx has been given and none is open, not before."""
    bench = await ControlBench(dut).begin()
    for k in range(bench.params.generation_bits):
        dut.generation.value = (2 << k) - 1  # the next one is more in each of its bits
        array = {"address": 4 * random.getrandbits(30), "bytes": 4 * random.randint(1, 48)}
        if k < 2:  # the extremes
            array = {"address": k * 0xFFFFF000, "bytes": (4, MOST_PROPERTY_BYTES)[k]}
        fields = {f"property_{name}": value for name, value in array.items()}
        if k < 2:
            fields |= {"tag": k * 0xFFFF, "idx_address": k * 0xFFFFFFF8}
        command = await bench.run(**fields)
        assert len(bench.started) == k + 1
        begun, idxs = bench.started[-1]
        assert begun - bench.commands.cycles[-1] == RigControl.start_latency
        names = {"address": "idx_address", "count": "count", "wide": "wide"}
        assert idxs == {a: command[b] for a, b in names.items()} | {"slot": k % 2}
        assert bench.value("array") == array
        assert bench.generation(k % 2) == (2 << k) - 1
        assert int(dut.generation.value) == (2 << k) % (1 << bench.params.generation_bits)
        dut.open.value = 1 << k % 2
        assert not dut.quiet.value
        await strobe(dut.given, dut.clk) if k % 3 else None
        await ClockCycles(dut.clk, random.randrange(1, 20))
        assert bool(dut.quiet.value) == bool(k % 3)
        dut.open.value = 2 >> k % 2  # another slot's
        if k % 3 == 0:
            await ClockCycles(dut.clk, 10)
            assert len(bench.completions.beats) == k
            assert dut.running.value
            await strobe(dut.given, dut.clk)
        await ClockCycles(dut.clk, 6)
        bench.ended(Cause.DONE)
        assert bench.completions.beats[-1]["tag"] == command["tag"]
        dut.open.value = 0
    assert not bench.forgets


@cocotb.test(timeout_time=100, timeout_unit="us")
async def ends_at_once_what_cannot_be_done(dut):
    bench = await ControlBench(dut).begin()
    illegal = {"cause": Cause.COMMAND, "property_bytes": 0}
    for fields in (illegal, {"cause": Cause.ARRAY}, {"count": 0}):
        await bench.run(**fields)
        bench.ended(fields.get("cause", Cause.DONE))
    assert not bench.started


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(second=["same", "property_address", "property_bytes", "cause"])
async def begins_with_the_one_before_under_way(dut, second):
    """It does if it is for the same array, in every bit; completions keep their order."""
    bench = await ControlBench(dut).begin()
    bench.gives = True
    widths = {"property_address": bench.params.address_bits, "property_bytes": LENGTH_BITS}
    for bit in range(2, widths.get(second, 12)):
        started, ended = len(bench.started), len(bench.completions.beats)
        array = {
            "property_address": 4 * random.getrandbits(bench.params.address_bits - 2),
            "property_bytes": 4 * random.randint(1, MOST_PROPERTY_BYTES // 4),
        }
        other = {name: value ^ 1 << bit for name, value in array.items() if name == second}
        cause = Cause.ARRAY if second == "cause" else Cause.DONE
        dut.open.value = 0b01
        first = await bench.run(**array)
        behind = await bench.run(**array | other, cause=cause)
        assert len(bench.started) - started == (2 if second == "same" else 1)
        assert bool(dut.quiet.value) == (second == "same")
        await ClockCycles(dut.clk, 20)
        assert len(bench.completions.beats) == ended
        dut.open.value = 0
        await ClockCycles(dut.clk, 20)
        assert len(bench.started) - started == (1 if second == "cause" else 2)
        bench.ended(Cause.DONE, cause)
        assert [one["tag"] for one in bench.completions.beats[ended:]] == [
            first["tag"],
            behind["tag"],
        ]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(bad=[0, 1])
async def a_failure_ends_one_command(dut, bad):
    """Those before it end first, those behind it begin anew."""
    bench = await ControlBench(dut).begin()
    bench.gives = True
    for cause in FAILURES:
        started, forgets = len(bench.started), len(bench.forgets)
        dut.open.value = 0b11
        await bench.run()
        await bench.run()
        slots = [one["slot"] for _, one in bench.started[started:]]
        generations = [bench.generation(slot) for slot in slots]
        getattr(dut, f"cause_{slots[bad]}").value = cause.value
        dut.failed.value = 1 << slots[bad]
        await ClockCycles(dut.clk, 10)
        if bad:
            assert not dut.cancel.value
            dut.open.value = 1 << slots[1]
            await ClockCycles(dut.clk, 10)
        assert dut.cancel.value
        assert len(bench.forgets) == forgets
        await strobe(dut.drained, dut.clk)
        dut.failed.value = dut.open.value = 0
        await ClockCycles(dut.clk, 20)
        assert len(bench.forgets) == forgets + 1
        bench.ended(*((Cause.DONE, cause) if bad else (cause, Cause.DONE)))
        again = bench.started[started + 2 :]
        assert [idxs for _, idxs in again] == [bench.started[started + 1][1]] * (1 - bad)
        if not bad:
            assert bench.generation(slots[1]) not in generations


@cocotb.test(timeout_time=100, timeout_unit="us")
async def nothing_starts_while_a_failure_is_cleared_up(dut):
    """This holds whenever the next command comes."""
    bench = await ControlBench(dut).begin()
    bench.gives = True
    for wait in range(10):
        dut.open.value = 0b11
        await bench.run()
        slot, cause = bench.started[-1][1]["slot"], random.choice(FAILURES)
        second = bench.command()
        bench.commands.append(second)
        await ClockCycles(dut.clk, wait)
        dut.failed.value = 1 << slot
        getattr(dut, f"cause_{slot}").value = cause.value
        await ClockCycles(dut.clk, 10)
        assert dut.cancel.value
        await strobe(dut.drained, dut.clk)
        dut.failed.value = dut.open.value = 0
        await ClockCycles(dut.clk, 20)
        begun, idxs = bench.started[-1]
        assert begun > bench.forgets[-1]
        assert idxs["address"] == second["idx_address"]
        bench.ended(cause, Cause.DONE)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def watches_for_progress(dut):
    bench = await ControlBench(dut).begin()
    dut.open.value = 0b11
    for limit in (1, 2, 10, 100):
        await bench.run(watchdog=limit + 20)
        for _ in range(5):
            await ClockCycles(dut.clk, limit + 8)
            await strobe(dut.moves, dut.clk)
        last = cycle()
        if not dut.cancel.value:
            await until(dut.clk, dut.cancel, 1)
        assert limit + 20 <= cycle() - last <= limit + 20 + 4
        await strobe(dut.drained, dut.clk)
        await ClockCycles(dut.clk, 3)
        bench.ended(Cause.WATCHDOG)
        # The time until the next command does not count.
        await ClockCycles(dut.clk, 3 * limit)
    await bench.run(watchdog=0)
    await ClockCycles(dut.clk, 1000)
    assert dut.running.value
    assert not dut.cancel.value
    dut.open.value = 0
    await strobe(dut.given, dut.clk)
    await ClockCycles(dut.clk, 6)
    bench.ended(Cause.DONE)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_movement_at_the_limit_counts(dut):
    """Nothing ends a command that moves up to the last cycle in which its watchdog allows it."""
    bench = await ControlBench(dut).begin()
    dut.open.value = 0b11
    limit, expired = 30, []
    for pause in range(limit - 3, limit + 5):
        await bench.run(watchdog=limit)
        await strobe(dut.moves, dut.clk)
        await ClockCycles(dut.clk, pause)
        await strobe(dut.moves, dut.clk)
        await ClockCycles(dut.clk, 4)
        expired.append(bool(dut.cancel.value))
        if not dut.cancel.value:
            await until(dut.clk, dut.cancel, 1)
        await strobe(dut.drained, dut.clk)
        await ClockCycles(dut.clk, 4)
    assert expired == [pause > limit for pause in range(limit - 3, limit + 5)]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def commands_wait_for_the_host(dut):
    """A completion stays until taken; as many commands as there are slots are kept."""
    bench = await ControlBench(dut).begin()
    bench.gives = True
    bench.completions.stop()
    given = [bench.command() for _ in range(bench.params.commands + 3)]
    bench.commands.extend(given)
    await ClockCycles(dut.clk, 40)
    assert len(bench.started) == len(bench.commands.cycles) == bench.params.commands
    assert dut.completions_valid.value
    completions = Sink(dut, "completions")
    await ClockCycles(dut.clk, 80)
    assert [beat["tag"] for beat in completions.beats] == [command["tag"] for command in given]
    assert len(bench.started) == len(given)
    assert not dut.busy.value


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def commands_come_at_any_pace(dut, stalls):
    """Some are done at once, others cannot be done; the reader is ready or not."""
    bench = await ControlBench(dut, stalls).begin()
    bench.gives = True
    Noise(dut, "ready")
    causes = [random.choice((Cause.DONE, Cause.COMMAND)) for _ in range(60)]
    given = [bench.command(cause=cause) for cause in causes]
    await bench.commands.send_all(given)
    await bench.completions.wait_for(len(given))
    assert bench.completions.beats == [
        {"tag": command["tag"], "cause": cause}
        for command, cause in zip(given, causes, strict=True)
    ]
    good = [one["idx_address"] for one, cause in zip(given, causes, strict=True) if not cause.value]
    assert [idxs["address"] for _, idxs in bench.started] == good


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def long_watchdogs_expire_in_time(dut):
    """A preset is a little below the limit, or differs from that in the top bit."""
    bench = await ControlBench(dut).begin()
    limits = [(1 << bit, random.randrange(1 << bit, 2 << bit)) for bit in range(5, WATCHDOG_BITS)]
    for limit in itertools.chain(*limits):
        await bench.run(watchdog=limit)
        for early in (1 << limit.bit_length() - 1, 0):
            dut.idle.value = max(0, limit - 12 - early)
            for _ in range(10):
                await RisingEdge(dut.clk)
                assert not dut.cancel.value
        await ClockCycles(dut.clk, 6)
        assert dut.cancel.value
        await strobe(dut.drained, dut.clk)
        await ClockCycles(dut.clk, 3)
        bench.ended(Cause.WATCHDOG)
