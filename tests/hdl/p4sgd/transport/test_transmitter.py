import random
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge, Timer

from hdl.p4sgd.network.frame import FRAME_KEEP
from hdl.p4sgd.transport.params import TRIES, Phase, TransportParams
from hdl.p4sgd.transport.transmitter import QUEUE_DEPTH, Transmitter
from sim.golden.reduction.frames import LANES, WireFrame
from sim.harness.payloads import pack, unpack
from sim.harness.streams import crossed, never, often, rarely, start
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import generator, put, wild
from tests.simulated import simulated

SIZES = [TransportParams(slots=6), TransportParams(slots=16, lanes=3)]
TOOK = ("partial", "acks", "overdue")
NO_TRIES = {"unanswered": 0, "repetitions": 0}

test_transmitter = simulated(Transmitter, SIZES, __name__)


def some_settings(slots):
    return {
        "address": random.getrandbits(48),
        "switch_address": random.getrandbits(48),
        "group_address": random.getrandbits(48),
        "worker": random.randrange(32),
        "workers": random.getrandbits(32),
        "job": random.getrandbits(16),
        "epoch": random.getrandbits(16),
        "slot_base": random.choice([0, (1 << 16) - slots, random.getrandbits(15)]),
        "slot_count": slots,
    }


def some_tries():
    return {"unanswered": random.getrandbits(8), "repetitions": random.getrandbits(24)}


class Bench:
    """Runs a transmitter and a table that answers it, and checks what comes of both."""

    def __init__(self, dut):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(TransportParams)
        self.rng = generator()
        self.settings = some_settings(self.params.slots)
        self.stored = {}  # by slot
        self.states = {}  # by slot: phase and use
        self.queue = deque()  # frames that must come, and when they were chosen
        self.held = 0  # packets chosen that have not moved
        self.waits = None  # what stood on m_axis, not taken
        self.latencies = []
        self.moved = []  # cycles
        self.now = 0
        self.dropped = False  # what was offered a cycle ago: its place is free from the next one on
        self.chosen = dict.fromkeys(TOOK, 0)

    async def start(self):
        put(self.dut, settings=self.settings, answer=0, may_start=0)
        for name in TOOK:
            getattr(self.dut, f"{name}_valid").value = 0
        self.dut.m_axis_tready.value = 0
        await start(self.dut)
        return self

    def partial(self):
        return wild(self.rng, 32, self.params.lanes).tolist()

    def randomise(self):
        """Give any phase and use to all slots that have a payload."""
        for slot in range(self.params.slots):
            phases = [Phase.FREE, Phase.ACK] + [Phase.PARTIAL] * (slot in self.stored)
            self.states[slot] = random.choice(phases), random.getrandbits(8)

    async def step(self, ready=True, partial=None, next_slot=0, next_use=0, **offered):
        """Play one cycle: offer these (None: nothing), and check all that must come of it."""
        dut, room = self.dut, self.held + self.dropped < QUEUE_DEPTH
        ack, overdue = offered.get("ack"), offered.get("overdue")
        may_start = offered.get("may_start", True)
        put(dut, may_start=may_start, next_slot=next_slot, next_use=next_use)
        shapes = (self.params.activations, self.params.slot_bits, self.params.overdue)
        for name, shape, beat in zip(TOOK, shapes, (partial, ack, overdue), strict=True):
            getattr(dut, f"{name}_valid").value = beat is not None
            if beat is not None:
                getattr(dut, f"{name}_payload").value = pack(shape, beat)
        dut.m_axis_tready.value = ready
        await Timer(1, "ns")
        requested = int(dut.question.value)
        phase, use = self.states.get(requested, (Phase.FREE, 0))
        put(dut, answer={"phase": phase, "use": use})
        await self.edge
        starts = partial is not None and may_start and room
        acks = ack is not None and not starts
        demands = overdue is not None and not starts and not acks
        phase, use = self.states.get(overdue["slot"] if demands else ack if acks else 0, (None, 0))
        again = demands and room and phase is not Phase.FREE
        shown = {name: int(getattr(dut, f"{name}_ready").value) for name in TOOK}
        assert shown["partial"] == (may_start and room)
        assert int(dut.start.value) == starts
        if ack is not None:
            assert shown["acks"] == (acks and room)
        if overdue is not None:
            assert shown["overdue"] == (demands and room)
        acked = acks and room and phase is Phase.ACK
        assert int(dut.sent.value) == (starts or acked or again)
        assert int(dut.retransmission.value) == again
        self.watch_frames()
        if starts:
            self.stored[next_slot] = partial
            self.expect("partial", next_slot, True, next_use, NO_TRIES)
        elif acked:
            self.expect("acks", ack, False, use, NO_TRIES)
        elif again:
            is_agg = phase is Phase.PARTIAL
            self.expect("overdue", overdue["slot"], is_agg, use, overdue["tries"])
        offered = room and any(beat is not None for beat in (partial, ack, overdue))
        self.dropped = offered and not (starts or acked or again)
        self.now += 1
        return {"partial": starts, "acks": acks and room, "overdue": demands and room}

    def expect(self, kind, slot, is_agg, use, tries):
        """Return the packet that is chosen in this cycle."""
        dut, settings = self.dut, self.settings
        assert int(dut.sent_slot.value) == slot
        assert unpack(TRIES, int(dut.sent_tries.value)) == tries
        payload = self.stored[slot] if is_agg else []
        wire = WireFrame(
            destination=settings["switch_address"].to_bytes(6, "little"),
            source=settings["address"].to_bytes(6, "little"),
            is_agg=is_agg,
            bm=1 << settings["worker"],
            job=settings["job"],
            epoch=settings["epoch"],
            seq=settings["slot_base"] + slot,
            use=use,
            payload=(*payload, *[0] * (LANES - len(payload))),
        ).to_bytes()
        self.queue.append((wire, self.now))
        self.held += 1
        self.chosen[kind] += 1

    def watch_frames(self):
        """Check m_axis: it holds the oldest frame until that is taken."""
        dut = self.dut
        valid, ready = bool(dut.m_axis_tvalid.value), bool(dut.m_axis_tready.value)
        assert valid or self.waits is None
        if not valid:
            # A packet is there the stated number of cycles after it was chosen.
            assert not self.queue or self.now < self.queue[0][1] + Transmitter.latency
            return
        bits = int(dut.m_axis_tdata.value)
        assert self.waits in (None, bits)
        wire, chosen = self.queue[0]
        assert bits.to_bytes(64, "little") == wire + bytes(4)
        assert int(dut.m_axis_tkeep.value) == FRAME_KEEP
        assert dut.m_axis_tlast.value
        assert not int(dut.m_axis_tuser.value)
        if self.waits is None:
            self.latencies.append(self.now - chosen)
        self.waits = None if ready else bits
        if ready:
            self.queue.popleft()
            self.held -= 1
            self.moved.append(self.now)

    async def drain(self):
        while self.queue:
            await self.step()
        for _ in range(Transmitter.latency + 2):
            await self.step()
        assert not self.held


@crossed(stall=[never, rarely, often], rates=[(0.2, 0.2, 0.3), (0.6, 0.6, 0.9)], ms=2)
async def sends_by_rank(dut, stall, rates):
    """New ones go before acknowledgements, those before old ones; an offer stands until taken."""
    bench = await Bench(dut).start()
    slots = bench.params.slots
    offers = dict.fromkeys(TOOK)
    for _ in range(2500):
        bench.randomise()
        fresh = {
            "partial": bench.partial(),
            "acks": random.randrange(slots),
            "overdue": {"slot": random.randrange(slots), "tries": some_tries()},
        }
        for name, rate in zip(TOOK, rates, strict=True):
            if offers[name] is None and random.random() < rate:
                offers[name] = fresh[name]
        taken = await bench.step(
            ready=not stall(),
            partial=offers["partial"],
            ack=offers["acks"],
            overdue=offers["overdue"],
            may_start=random.random() < 0.7,
            next_slot=random.randrange(slots),
            next_use=random.getrandbits(8),
        )
        offers |= {name: None for name, gone in taken.items() if gone}
    await bench.drain()
    assert min(bench.chosen.values()) > 10, bench.chosen
    if stall is never:
        assert set(bench.latencies) == {Transmitter.latency}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def keeps_every_payload(dut):
    """When all slots are sent, acknowledged and asked for again, the bits are the same."""
    bench = await Bench(dut).start()
    slots = range(bench.params.slots)
    for round_ in range(4):
        for slot in slots:
            await bench.step(partial=bench.partial(), next_slot=slot, next_use=round_)
            bench.states[slot] = Phase.PARTIAL, round_
        for slot in slots:
            await bench.step(overdue={"slot": slot, "tries": some_tries()})
        for slot in slots:
            bench.states[slot] = Phase.ACK, round_
            await bench.step(ack=slot)
        for slot in slots:
            await bench.step(overdue={"slot": slot, "tries": some_tries()})
    await bench.drain()
    first = bench.moved[0]
    assert bench.moved == list(range(first, first + 16 * len(slots)))
    assert bench.chosen == dict(
        zip(TOOK, (4 * len(slots), 4 * len(slots), 8 * len(slots)), strict=True)
    )


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def says_which_worker_it_is(dut):
    """Frames name any of 32 workers; jobs follow one another, each with settings of its own."""
    bench = await Bench(dut).start()
    for worker in random.sample(range(32), 32):
        await bench.drain()
        bench.settings = some_settings(bench.params.slots) | {"worker": worker}
        put(dut, settings=bench.settings)
        for slot in range(2):
            await bench.step(partial=bench.partial(), next_slot=slot)
