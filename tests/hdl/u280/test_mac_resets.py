import random

import cocotb

from hdl.u280.clock_ip import APB_MHZ
from hdl.u280.mac_resets import MacResets, MacResetsParams
from hdl.u280.mac_signals import ASKS, SETTINGS
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.crossing.clocks import Side
from tests.rejects import rejects

QUICK = MacResetsParams(settle=130, patience=100, pulse=50)
OUTPUTS = ("whole", "transmit", "receive", "watchdog")
ON = SETTINGS.const({"rsfec": 1}).as_value().value


def test_mac_resets():
    simulate(MacResets(QUICK), __name__)


def test_times_of_the_cards():
    times = MacResetsParams()
    assert (times.settle, times.patience) == (20e-3 * APB_MHZ * 1e6, APB_MHZ * 1e6)
    assert times.pulse >= 50


test_rejects = rejects(
    MacResetsParams,
    ({"settle": 63}, "settle must be at least pulse, 64 cycles: 63"),
    ({"patience": 10}, "patience must be at least pulse, 64 cycles: 10"),
)


async def begin(dut):
    dut.aligned.value, dut.asks.value, dut.settings.value = 0, 0, ON
    await start(dut)
    return Side(dut, "sync")


def outputs(dut):
    return {name for name in OUTPUTS if getattr(dut, name).value}


async def follow(dut, side, cycles):
    """Return what is high in each cycle, as runs of how often and which."""
    runs = []
    for _ in range(cycles):
        now = outputs(dut)
        if runs and runs[-1][1] == now:
            runs[-1][0] += 1
        else:
            runs.append([1, now])
        await side.edges()
    return [tuple(run) for run in runs]


@cocotb.test(timeout_time=50, timeout_unit="us")
async def holds_all_until_the_reference_has_settled(dut):
    side = await begin(dut)
    dut.aligned.value = 1
    (first, high), (_, low) = await follow(dut, side, 3 * QUICK.settle)
    assert (high, low) == ({"whole"}, set())
    assert first == QUICK.settle + 1  # with the last cycle of our own reset
    assert dut.applied.value == ON


@cocotb.test(timeout_time=50, timeout_unit="us")
async def resets_a_receiver_that_hears_nothing(dut):
    """It does so again and again, and never to one that hears something now and then."""
    times = params_in_simulator(MacResetsParams)
    side = await begin(dut)
    runs = await follow(dut, side, times.settle + 4 * (times.patience + times.pulse + 2))
    barks = [count for count, high in runs[1:-1] if high]
    rests = [count for count, high in runs[1:-1] if not high]
    assert all(high in (set(), {"receive", "watchdog"}) for _, high in runs[1:])
    assert barks[:3] == [times.pulse] * 3
    assert set(rests) <= {times.patience, times.patience + 1}
    dut.aligned.value = 1
    await side.edges(times.pulse + 5)
    for _ in range(20):
        dut.aligned.value = 1
        await side.edges(random.randrange(1, 20))
        dut.aligned.value = 0
        runs = await follow(dut, side, random.randrange(1, times.patience - 4))
        assert runs == [(sum(count for count, _ in runs), set())]


async def up(dut):
    side = await begin(dut)
    dut.aligned.value = 1
    await side.edges(QUICK.settle + 20)
    assert not outputs(dut)
    return side


@cocotb.test(timeout_time=50, timeout_unit="us")
async def does_what_the_host_asks_for(dut):
    side = await up(dut)
    asks = 0
    for name in random.choices(list(ASKS.members), k=9):
        asks ^= ASKS.const({name: 1}).as_value().value
        dut.asks.value = asks
        runs = await follow(dut, side, 80)
        assert runs[1] == (QUICK.pulse, {name})
        assert runs[0][1] == runs[2][1] == set()
        assert len(runs) == 3


@cocotb.test(timeout_time=50, timeout_unit="us")
async def patience_begins_anew_after_a_reset(dut):
    """A reset that the host asks for comes before, and just before, the watchdog's."""
    for number, pause in enumerate((QUICK.patience // 2, QUICK.patience - 8)):
        side = await up(dut)
        dut.aligned.value = 0
        await side.edges(pause)
        dut.asks.value = ASKS.const({"receive": 1}).as_value().value
        (_, rest), (pulse, high), (quiet, _), *_ = await follow(dut, side, 400)
        assert (rest, high, pulse) == (set(), {"receive"}, QUICK.pulse), number
        assert quiet >= QUICK.patience


@cocotb.test(timeout_time=50, timeout_unit="us")
async def what_comes_during_a_reset_is_done_after_it(dut):
    side = await up(dut)
    dut.asks.value = 0b010
    await side.edges(20)
    dut.asks.value = 0b111
    runs = await follow(dut, side, 120)
    assert [high for _, high in runs] == [{"transmit"}, {"whole", "receive"}, set()]


@cocotb.test(timeout_time=50, timeout_unit="us")
async def applies_settings_with_a_reset(dut):
    side = await up(dut)
    before = ON
    for settings in (0b000, 0b011, 0b101, 0b001):
        dut.settings.value = settings
        seen = []
        for _ in range(80):
            seen.append((outputs(dut), int(dut.applied.value)))
            await side.edges()
        resets = [applied for high, applied in seen if high]
        assert {frozenset(high) for high, _ in seen} == {
            frozenset(),
            frozenset({"transmit", "receive"}),
        }
        assert resets == [settings] * QUICK.pulse
        assert seen[0] == (set(), before)
        before = settings
