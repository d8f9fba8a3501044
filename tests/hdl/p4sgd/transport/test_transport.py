import random
from collections import Counter

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from hdl.p4sgd.transport.params import NETWORK_SETTINGS, TransportParams, Verdict
from hdl.p4sgd.transport.transport import NETWORK_EVENTS, Transport
from sim.golden.reduction.allreduce import Packet, saturated
from sim.harness.payloads import pack, unpack
from sim.harness.streams import Sink, Source, crossed, cycle, often, start, strobe
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.transport.bench import (
    EPOCH,
    GROUP_ADDRESS,
    JOB,
    LANES,
    OWN,
    FramePort,
    Network,
    Others,
    frame,
    settings,
)

BAD = [
    {},
    {"drop": 0.01, "duplicate": 0.01, "reorder": 0.01},
    {"drop": 0.3, "duplicate": 0.3, "reorder": 0.3},
]


@pytest.mark.parametrize(("slots", "shadow"), [(2, False), (5, False), (16, False), (5, True)])
def test_transport(slots, shadow):
    overdue = ("overdue__valid", "overdue__payload")  # of the timers
    params = TransportParams(slots=slots, shadow=shadow)
    simulate(Transport(params), __name__, registers=overdue)


def others_of(dut, slots, workers, network, partials):
    """Return the switch and the other workers, by the rule of the transport."""
    shadow = params_in_simulator(TransportParams).shadow
    return Others(dut, slots, workers, network, partials, shadow=shadow)


async def begin(dut, **others):
    """Come out of reset, with an open job."""
    slots = params_in_simulator(TransportParams).slots
    values = settings(slots, others.pop("workers", 3), **others)
    dut.settings.value = pack(NETWORK_SETTINGS, values)
    dut.clear.value = 0
    dut.allowed.value = 1
    dut.s_axis_tvalid.value = 0
    dut.partial_valid.value = 0
    dut.full_ready.value = 0
    dut.m_axis_tready.value = 1
    await start(dut)
    await RisingEdge(dut.clk)
    assert not dut.open.value
    await clear(dut)


async def clear(dut):
    await strobe(dut.clear, dut.clk)
    await ClockCycles(dut.clk, params_in_simulator(TransportParams).slots + 2)
    assert dut.open.value
    assert not dut.clearing.value


def wild(workers, count):
    """Draw partial activations [worker][micro-batch][lane], extremes among them."""
    values = np.random.default_rng(random.getrandbits(32)).integers(
        -(1 << 31), 1 << 31, size=(workers, count, LANES)
    )
    step = max(1, count // 5)
    for first, extreme in enumerate(((1 << 31) - 1, -(1 << 31), 0)):
        values[:, first::step] = extreme
    return values.tolist()


def sums(partials):
    """Return what every worker must get: exact sums, saturated once."""
    return [list(saturated(np.sum(column, axis=0))) for column in zip(*partials, strict=True)]


def clamped(partials):
    """Return how many lanes of all sums leave the range."""
    exact = np.sum(np.array(partials, dtype=np.int64), axis=0)
    return int(np.count_nonzero(exact != np.array(sums(partials))))


async def count_events(dut, events):
    edge = RisingEdge(dut.clk)
    while True:
        await edge
        for name, times in unpack(NETWORK_EVENTS, int(dut.events.value)).items():
            events[name] += times


@crossed(bad=BAD, stall=[False, True], ms=4)
async def adds(dut, bad, stall):
    """Every sum comes back once, right and in order, whatever the links do."""
    slots, workers, count = params_in_simulator(TransportParams).slots, 3, 150
    partials = wild(workers, count)
    await begin(dut, timeout=300)
    events = Counter()
    cocotb.start_soon(count_events(dut, events))
    others = others_of(dut, slots, workers, Network(**bad), partials)
    pause = {"stall": often} if stall else {}
    if stall:
        others.stall = often
    sink = Sink(dut, "full", **pause)
    await Source(dut, "partial", **pause).send_all(partials[OWN])
    await sink.wait_for(count)
    assert sink.beats == sums(partials)
    while not dut.idle.value:
        await RisingEdge(dut.clk)
    await ClockCycles(dut.clk, 5)
    assert len(sink.beats) == count
    shadow = params_in_simulator(TransportParams).shadow
    assert (events["full"], events["freed"]) == (count, 0 if shadow else count)
    assert events["full_saturations"] == clamped(partials) > 0
    assert events["sent"] == len(others.sent)
    assert events["sent"] - events["retransmissions"] == (1 if shadow else 2) * count
    if not bad:
        assert events["retransmissions"] == events["stale"] == events["repeated"] == 0
    others.task.cancel()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def uses_a_slot_again_and_again(dut):
    """A job may have fewer slots than there are; each of their uses has a number of its own."""
    workers, count, slots = 2, 150, 2
    partials = wild(workers, count)
    await begin(dut, workers=workers, slot_count=slots)
    others = others_of(dut, slots, workers, Network(delay=3), partials)
    sink = Sink(dut, "full")
    await Source(dut, "partial").send_all(partials[OWN])
    await sink.wait_for(count)
    assert sink.beats == sums(partials)
    starts = [fields for fields in others.sent if fields["is_agg"]]
    assert [fields["use"] for fields in starts] == [j // slots for j in range(count)]
    others.task.cancel()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_the_stated_cycles(dut):
    """It takes the stated cycles to a frame, and from an answer on, alone and back to back."""
    slots = params_in_simulator(TransportParams).slots
    await begin(dut, workers=2)
    port = FramePort(dut)
    partials = wild(1, slots)[0]
    sink = Sink(dut, "full")
    source = Source(dut, "partial")
    source.extend(partials)
    sent = []
    while len(sent) < slots:
        await RisingEdge(dut.clk)
        if (fields := port.taken()) is not None:
            sent.append(cycle())
            assert fields["payload"] == partials[len(sent) - 1]
    assert [a - b for a, b in zip(sent, source.cycles, strict=True)] == (
        [Transport.send_latency] * slots
    )
    assert sent == list(range(sent[0], sent[0] + slots))
    came = []
    for slot in range(slots):
        port.offer(frame(Packet(True, 0b11, 0, payload=tuple(partials[slot])), slot))
        await RisingEdge(dut.clk)
        came.append(cycle())
    port.offer(None)
    await sink.wait_for(slots)
    assert [a - b for a, b in zip(sink.cycles, came, strict=True)] == (
        [Transport.receive_latency] * slots
    )


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def holds_back(dut):
    """Sums stay inside while they are not allowed out, and are told of as they come."""
    slots = params_in_simulator(TransportParams).slots
    partials = wild(2, slots)
    await begin(dut, workers=2)
    dut.allowed.value = 0
    events = Counter()
    others = others_of(dut, slots, 2, Network(), partials)
    sink = Sink(dut, "full")
    await Source(dut, "partial").send_all(partials[OWN])
    for _ in range(200):
        await RisingEdge(dut.clk)
        events["seen"] += int(dut.seen.value)
    assert events["seen"] == slots
    assert int(dut.outstanding.value) == slots
    assert sink.beats == []
    assert not dut.idle.value
    dut.allowed.value = 1
    await sink.wait_for(slots)
    assert sink.beats == sums(partials)
    others.task.cancel()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def requests_again_and_abandons(dut):
    """While the switch is silent the packet is repeated after each timeout, as often as is set.

    What comes meanwhile is no answer, though it names the slot.
    """
    slots = params_in_simulator(TransportParams).slots
    timeout, retries = 100, 3
    await begin(dut, timeout=timeout, retries=retries)
    port = FramePort(dut)
    partial = wild(1, 1)[0][0]
    await Source(dut, "partial").send_all([partial])
    pending = frame(Packet(True, 0b111, 0, acked=True), 0)
    others = [{"use": 1}, {"job": JOB + 1}, {"epoch": EPOCH - 1}, {"bm": 0b100}, {"no_flags": 1}]
    others += [{"is_agg": 0}, {"ethertype": 0x0008}]
    sent = []
    while not dut.abandoned.value:
        await RisingEdge(dut.clk)
        if (fields := port.taken()) is not None:
            sent.append(cycle())
            assert fields["payload"] == partial
            assert (fields["seq"], fields["use"]) == (1000, 0)
        comes = random.random() < 0.2
        port.offer(pending | random.choice(others) if comes else None)
    assert not dut.peers_missing.value
    port.offer(None)
    assert len(sent) == 1 + retries
    gaps = np.diff([*sent, cycle()])
    assert (gaps >= timeout - Transport.send_latency).all()
    assert (gaps <= timeout + slots + 8).all(), gaps
    assert int(dut.stuck_slot.value) == 0
    await clear(dut)
    assert not dut.abandoned.value
    assert dut.idle.value


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def gives_peers_up(dut):
    """A switch that only says "pending" is asked as often as is set for peers, not for retries."""
    peer_retries = 4
    await begin(dut, timeout=100, retries=2, peer_retries=peer_retries)
    port = FramePort(dut)
    await Source(dut, "partial").send_all(wild(1, 1)[0])
    sent = 0
    while not dut.abandoned.value:
        await RisingEdge(dut.clk)
        requested = port.taken() is not None
        sent += requested
        port.offer(frame(Packet(True, 0b111, 0, acked=True), 0) if requested else None)
    assert sent == 1 + peer_retries
    assert dut.peers_missing.value
    await clear(dut)
    assert not dut.peers_missing.value


@crossed(bound=["peer_retries", "retries"], ms=2)
async def keeps_every_bit_of_its_tries(dut, bound):
    """The count of tries begins two timeouts before the end, which is a power of two."""
    overdue = params_in_simulator(TransportParams).overdue
    tries = {"peer_retries": "repetitions", "retries": "unanswered"}[bound]
    for bit in range(NETWORK_SETTINGS[bound].width):
        await begin(dut, timeout=40, **{bound: 1 << bit})
        port, valid, sent = FramePort(dut), dut.timers.overdue__valid, 0
        await Source(dut, "partial").send_all(wild(1, 1)[0])
        while not dut.abandoned.value:
            await RisingEdge(dut.clk)
            requested = port.taken() is not None
            sent += requested
            pending = requested and bound == "peer_retries"
            port.offer(frame(Packet(True, 0b111, 0, acked=True), 0) if pending else None)
            await Timer(1, "ns")
            if sent == 1 and valid.value:
                now = {"slot": 0, "tries": {tries: (1 << bit) - 1}}
                dut.timers.overdue__payload.value = pack(overdue, now)
            assert sent <= 3
        assert sent == 3
        assert dut.peers_missing.value == (bound == "peer_retries")


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def says_and_hears_what_is_set(dut):
    """Addresses, worker, job, its run and its slots have any bits."""
    params = params_in_simulator(TransportParams)
    slots = params.slots
    await begin(dut)
    port, source, sink = FramePort(dut), Source(dut, "partial"), Sink(dut, "full")

    async def sent():
        while (fields := port.taken()) is None:
            await RisingEdge(dut.clk)
        return fields

    for partial, full in zip(*wild(2, 20), strict=True):
        own, peer, group = (random.getrandbits(48) for _ in range(3))
        worker, others = random.randrange(32), random.getrandbits(32)
        job = {"job": random.getrandbits(16), "epoch": random.getrandbits(16)}
        base = random.randrange((1 << 16) - slots)
        addresses = {"address": own, "switch_address": peer, "group_address": group}
        place = {"worker": worker, "workers": others | 1 << worker, "slot_base": base}
        values = settings(slots, 1) | addresses | place | job
        dut.settings.value = pack(NETWORK_SETTINGS, values)
        await clear(dut)
        source.append(partial)
        fields = frame(Packet(True, 1 << worker, 0, payload=tuple(partial)), 0) | job
        fields |= {"destination": peer, "source": own, "seq": base, "no_flags": 0}
        assert await sent() == fields
        for answer in (
            Packet(True, place["workers"], 0, payload=tuple(full)),
            Packet(False, 1 << worker, 0, acked=True),
        ):
            wires = {"destination": group, "source": random.getrandbits(48), "seq": base}
            port.offer(frame(answer, 0) | job | wires)
            await RisingEdge(dut.clk)
            port.offer(None)
            if answer.is_agg and not params.shadow:
                acknowledged = await sent()
                assert acknowledged == fields | {"is_agg": 0, "payload": [0] * LANES}
        await ClockCycles(dut.clk, 12)
        assert sink.beats.pop() == full
        assert dut.idle.value


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def reports_which_slot_is_stuck(dut):
    """The stuck slot is told: the last one, when all others have been answered."""
    slots = params_in_simulator(TransportParams).slots
    await begin(dut, workers=2, timeout=200, retries=1)
    port, sink = FramePort(dut), Sink(dut, "full")
    partials = wild(1, slots)[0]
    await Source(dut, "partial").send_all(partials)
    for slot in range(slots - 1):
        for answer in (
            Packet(True, 0b11, 0, payload=tuple(partials[slot])),
            Packet(False, 0b11, 0, acked=True),
        ):
            port.offer(frame(answer, slot))
            await RisingEdge(dut.clk)
    port.offer(None)
    while not dut.abandoned.value:
        await RisingEdge(dut.clk)
    assert int(dut.stuck_slot.value) == int(dut.oldest_slot.value) == slots - 1
    assert sink.beats == partials[:-1]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def notices_a_mac_that_takes_nothing(dut):
    slots = params_in_simulator(TransportParams).slots
    await begin(dut, timeout=100, retries=3)
    dut.m_axis_tready.value = 0
    await Source(dut, "partial").send_all(wild(1, 1)[0])
    began = cycle()
    while not dut.abandoned.value:
        await RisingEdge(dut.clk)
    assert 4 * 100 <= cycle() - began <= 4 * (100 + slots + 8)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def drops_what_is_overdue_when_nothing_is_waited_for(dut):
    """If answers come before the MAC takes the repetitions, these are neither sent nor counted."""
    timeout = 40
    await begin(dut, workers=2, timeout=timeout)
    port, sink, events = FramePort(dut), Sink(dut, "full"), Counter()
    cocotb.start_soon(count_events(dut, events))
    dut.m_axis_tready.value = 0
    partials = wild(1, 2)[0]
    await Source(dut, "partial").send_all(partials)
    chosen = -1
    while events["sent"] != chosen:  # as many as there are places for
        chosen = events["sent"]
        await ClockCycles(dut.clk, 3 * timeout)
    for answer in (
        lambda slot: Packet(True, 0b11, 0, payload=tuple(partials[slot])),
        lambda _: Packet(False, 0b11, 0, acked=True),
    ):
        for slot in range(2):
            port.offer(frame(answer(slot), slot))
            await RisingEdge(dut.clk)
    port.offer(None)
    await sink.wait_for(2)
    assert events["sent"] == chosen
    dut.m_axis_tready.value = 1
    sent = 0
    for _ in range(3 * timeout):
        await RisingEdge(dut.clk)
        sent += port.taken() is not None
    assert dut.idle.value
    assert sent == events["sent"] == chosen
    assert events["retransmissions"] == chosen - 2


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def drops_what_is_not_our_own(dut):
    """Each wrong field is told apart, and changes nothing."""
    await begin(dut, workers=3, timeout=5000)
    port = FramePort(dut)
    sink = Sink(dut, "full")
    partial = wild(1, 1)[0][0]
    await Source(dut, "partial").send_all([partial])
    events = Counter()
    cocotb.start_soon(count_events(dut, events))
    params = params_in_simulator(TransportParams)
    slots = params.slots
    good = frame(Packet(True, 0b111, 0, payload=tuple(partial), saturated=0b10000101), 0)
    freed = frame(Packet(False, 0b111, 0, acked=True), 0)
    pending = frame(Packet(True, 1 << OWN, 0, acked=True), 0)
    wrong = [
        *(("foreign", good | {"destination": GROUP_ADDRESS ^ 1 << bit}, {}) for bit in range(48)),
        ("foreign", good | {"ethertype": 0x0008}, {}),
        ("foreign", good | {"version": 1}, {}),
        ("malformed", good | {"no_flags": 1}, {}),
        ("malformed", freed | {"saturated": 1}, {}),
        ("malformed", good | {"acked": 1}, {}),
        ("malformed", pending | {"is_agg": 0, "acked": 0}, {}),
        ("stale", pending | {"use": 1}, {}),
        ("repeated", pending | {"seq": 1001, "use": 255}, {}),
        ("pending", pending, {}),
        ("malformed", good, {"keep": (1 << 59) - 1}),
        ("malformed", good, {"keep": (1 << 61) - 1}),
        ("malformed", good, {"keep": (1 << 64) - 1}),
        ("malformed", good, {"beats": 2}),
        ("corrupt", good, {"user": 1}),
        ("wrong_job", good | {"job": JOB + 1}, {}),
        ("wrong_run", good | {"epoch": EPOCH - 1}, {}),
        ("wrong_worker", good | {"bm": 0b100}, {}),
        ("wrong_worker", good | {"bm": 0b011}, {}),
        ("wrong_slot", good | {"seq": 999}, {}),
        ("wrong_slot", good | {"seq": 1000 + slots}, {}),
        ("stale", good | {"use": 1}, {}),
        ("stale", good | {"use": 255}, {}),
        ("stale", good | {"seq": 1001}, {}),
        ("repeated", good | {"seq": 1001, "use": 255}, {}),
        ("repeated", freed, {}),
        ("full", good | {"bm": 1 << OWN}, {}),
        ("repeated", good, {}),
        ("repeated" if params.shadow else "pending", pending, {}),
        ("repeated" if params.shadow else "freed", freed, {}),
        ("repeated", freed, {}),
        ("repeated", pending, {}),
        ("repeated", good, {}),
    ]
    for index, (kind, fields, how) in enumerate(wrong):
        for beat in range(how.pop("beats", 1), 0, -1):
            port.offer(fields, last=beat == 1, **how)
            await RisingEdge(dut.clk)
        port.offer(None)
        await ClockCycles(dut.clk, 8)
        events.pop("sent", None)
        assert events.pop("full_saturations", 0) == 3 * (kind == "full"), index
        assert +events == Counter({kind: 1}), (index, kind, events)
        events.clear()
    assert sink.beats == [partial]
    assert dut.idle.value
    assert {verdict.name.lower() for verdict in Verdict} - {k for k, *_ in wrong} == (
        {"none", "freed"} if params.shadow else {"none"}
    )


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def begins_anew(dut):
    """A job that is begun in the middle of another starts at use 0 with every slot free."""
    slots = params_in_simulator(TransportParams).slots
    partials = wild(2, 3 * slots)
    await begin(dut, workers=2)
    port = FramePort(dut)
    await Source(dut, "partial").send_all(partials[0][: slots // 2 + 1])
    await clear(dut)
    assert dut.idle.value
    assert port.taken() is None
    others = others_of(dut, slots, 2, Network(), partials)
    sink = Sink(dut, "full")
    await Source(dut, "partial").send_all(partials[OWN])
    await sink.wait_for(3 * slots)
    assert sink.beats == sums(partials)
    others.task.cancel()
