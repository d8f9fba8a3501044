"""Every event of a running job adds to its own counter, and every bit of a counter is shown."""

import random
from collections import Counter

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.counter_bank import CounterBank
from hdl.switch.frame_filter import Quality
from hdl.switchgnn.endpoint.bundles import Verdict
from hdl.switchgnn.endpoint.counters import ENDPOINT_COUNTERS, STALLS, EndpointCounters
from hdl.switchgnn.endpoint.job_runner import JOB_EVENTS
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.protocol import Kind
from sim.harness.payloads import pack
from sim.harness.streams import start, strobe
from sim.harness.verilator import simulate
from tests.hdl.common.counters import registers_of, selected

NAMES = [name for name, _ in ENDPOINT_COUNTERS.counters]
BITS = ENDPOINT_COUNTERS.bits
TO_SWITCH = (Kind.FEATURE, Kind.PARTIAL, Kind.RAW, Kind.FETCH, Kind.RAWFETCH, Kind.DONE)


def test_counters():
    registers = [*NAMES, "behind"]  # the latter so that the bank can be entered
    simulate(EndpointCounters(PRESETS["tiny"]), __name__, registers=registers)


def some_events():
    """Draw what a job may tell in a cycle; a sender sends no kind that only a switch does."""
    events = {}
    for part, layout in JOB_EVENTS:
        width = getattr(layout.shape, "size", layout.width)
        events[part] = random.getrandbits(width)
    sender = {
        name: random.getrandbits(1) for name, _ in JOB_EVENTS["sender"].shape if name != "leaving"
    }
    kind = random.choice(TO_SWITCH)
    sender["leaving"] = {
        "valid": random.getrandbits(1),
        "kind": kind,
        "again": random.getrandbits(1),
    }
    receiver = {
        "verdict": random.choice(list(Verdict)),
        "quality": random.choice(list(Quality)),
        **{name: random.getrandbits(1) for name in ("marked", "judged", "lost", "writes_wait")},
    }
    return events | {"sender": sender, "receiver": receiver}


def counts(events):
    """Return what the events of a cycle add, by the names of counters."""
    sender, receiver = events["sender"], events["receiver"]
    leaving, verdict = sender["leaving"], receiver["verdict"]
    added = Counter(
        cycles=1,
        turns=events["turn"],
        sent_again=leaving["valid"] & leaving["again"],
        taken_lost=receiver["lost"],
        not_own=events["foreign"],
        nonsense_acks=sender["nonsense"],
        marks=receiver["marked"],
        halvings=sender["halved"],
        stall_features=events["unready"],
        stall_tables=events["unloaded"],
        stall_writes=receiver["writes_wait"],
        **{name: sender[event] for name, event in STALLS.items()},
    )
    added[f"sent_{leaving['kind'].name.lower()}"] += leaving["valid"]
    if verdict is not Verdict.NONE:
        added[f"taken_{verdict.name.lower()}"] += 1
    if receiver["judged"] and receiver["quality"] is not Quality.GOOD:
        added[f"taken_{receiver['quality'].name.lower()}"] += 1
    return added


async def begin(dut):
    for name in ("run", "events", "clear", "select"):
        getattr(dut, name).value = 0
    await start(dut)


async def play(dut, cycles):
    """Play this many cycles of any events; return what they add while a job runs."""
    totals = Counter()
    for _ in range(cycles):
        events, runs = some_events(), random.getrandbits(1)
        dut.events.value = pack(JOB_EVENTS, events)
        dut.run.value = runs
        totals.update(counts(events) if runs else {})
        await RisingEdge(dut.clk)
    dut.events.value = dut.run.value = 0
    await ClockCycles(dut.clk, CounterBank.event_latency)
    return totals


@cocotb.test(timeout_time=100, timeout_unit="us")
async def counts_what_happens(dut):
    await begin(dut)
    totals = await play(dut, 1500)
    assert {*totals} == {*NAMES}
    assert await selected(dut, NAMES) == totals


@cocotb.test(timeout_time=100, timeout_unit="us")
async def shows_every_bit(dut):
    """Every bit is shown, also when an event is added to a large counter."""
    await begin(dut)
    registers = registers_of(dut.bank.counters, ENDPOINT_COUNTERS)
    await RisingEdge(dut.clk)  # their groups are still reset
    preset = {name: random.getrandbits(BITS) for name in NAMES}
    for flip in (0, (1 << BITS) - 1):
        for name, total in preset.items():
            registers[name].value = total ^ flip
        totals = await play(dut, 100)
        sums = {name: (total ^ flip) + totals[name] for name, total in preset.items()}
        assert await selected(dut, NAMES) == {name: n % (1 << BITS) for name, n in sums.items()}
    await strobe(dut.clear, dut.clk)
    assert await selected(dut, NAMES) == dict.fromkeys(NAMES, 0)
