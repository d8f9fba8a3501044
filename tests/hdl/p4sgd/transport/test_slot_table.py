import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.p4sgd.transport.params import Phase, TransportParams, Verdict
from hdl.p4sgd.transport.slot_table import QUESTIONS, SlotTable
from sim.golden.reduction import allreduce as golden
from sim.harness.payloads import unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import put

DROPPED = [verdict for verdict in Verdict if verdict.value >= Verdict.WRONG_SLOT.value]
MANY = ["one", "two", "odd", "all"]  # slots in use
QUIET = {"clear": 0, "start": 0, "delivered": 0, "valid": 0}


@pytest.mark.parametrize("slots", [2, 5, 16])
def test_slot_table(slots):
    simulate(SlotTable(TransportParams(slots=slots)), __name__)


def some_activation():
    """Return any activation: the table does not look at it."""
    most = (1 << 31) - 1
    return random.choice([random.randint(-most, most), -most - 1, most, 0])


class Golden:
    """The slots of one worker as the rule has them, and how far its micro-batches have come."""

    def __init__(self, count):
        self.slots = [golden.WorkerSlot.at_start()] * count
        self.count = count
        self.clearing = 0  # cycles that are left
        self.open = False
        self.restart()

    def restart(self):
        self.slots = [golden.WorkerSlot.at_start()] * self.count
        self.started = self.seen = self.delivered = 0
        self.full = set()  # micro-batches whose full activation has come
        self.was_free = True  # all slots, a cycle ago

    @property
    def next_slot(self):
        return self.started % self.count

    @property
    def may_start(self):
        """Whether the next slot is free, and what came of its last use was delivered."""
        free = self.slots[self.next_slot].phase is golden.Phase.FREE
        return self.open and free and self.started - self.delivered < self.count

    @property
    def arrived(self):
        return self.delivered in self.full

    @property
    def free(self):
        return all(slot.phase is golden.Phase.FREE for slot in self.slots)

    @property
    def idle(self):
        return self.was_free and self.started == self.delivered

    def judge(self, arrival):
        """Return the slot as it is after the packet, and the verdict on the packet."""
        if arrival["verdict"] is not Verdict.NONE:
            return None, arrival["verdict"].name
        if not self.open:
            return None, "WRONG_JOB"
        is_agg = bool(arrival["is_agg"])
        packet = golden.Packet(is_agg, 0, arrival["use"], acked=bool(arrival["acked"]))
        slot, verdict = golden.worker_rule(self.slots[arrival["slot"]], packet)
        return slot, verdict.name

    def outputs(self, inputs):
        """Return what the table must show in this cycle."""
        verdict = self.judge(inputs["arrival"])[1] if inputs["valid"] else "NONE"
        shown = {
            "open": self.open,
            "clearing": self.clearing > 0,
            "may_start": self.may_start,
            "verdict": Verdict[verdict].value,
        }
        if self.clearing:
            return shown
        return shown | {
            "idle": self.idle,
            "next_slot": self.next_slot,
            "next_use": (self.slots[self.next_slot].use + 1) % golden.USES,
            "arrived": self.arrived,
            "deliver_slot": self.delivered % self.count,
            "seen": self.seen in self.full,
            "outstanding": self.started - self.delivered,
        }

    def step(self, inputs, slots):
        """Let a clock edge pass."""
        was_seen = self.seen in self.full
        self.was_free = self.free
        if inputs["valid"] and not self.clearing:
            arrival = inputs["arrival"]
            state, verdict = self.judge(arrival)
            if state is not None:
                self.slots[arrival["slot"]] = state
            if verdict == "FULL":
                behind = (self.started - 1 - arrival["slot"]) % self.count
                self.full.add(self.started - 1 - behind)
        self.seen += was_seen
        if inputs["delivered"]:
            self.full.discard(self.delivered)
            self.delivered += 1
        if inputs["start"]:
            slot = self.next_slot
            self.slots[slot] = golden.worker_starts(self.slots[slot])
            self.started += 1
        if self.clearing:
            self.clearing -= 1
            self.open = self.clearing == 0
        if inputs["clear"]:
            self.restart()
            self.clearing, self.open = slots, False


class Bench:
    """Drives the table and its golden model, a cycle at a time."""

    def __init__(self, dut, count):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(TransportParams)
        self.golden = Golden(count)
        self.verdicts = dict.fromkeys(Verdict, 0)

    async def start(self):
        put(self.dut, slot_count=self.golden.count, **QUIET)
        await start(self.dut)
        await self.step()
        assert not self.dut.open.value

    async def step(self, **inputs):
        dut, slots = self.dut, self.params.slots
        inputs = QUIET | {"arrival": {"verdict": Verdict.NONE}} | inputs
        asked = [random.randrange(self.golden.count) for _ in range(QUESTIONS)]
        put(dut, **inputs, **{f"questions_{k}": slot for k, slot in enumerate(asked)})
        await self.edge
        expected = self.golden.outputs(inputs)
        shown = {name: int(getattr(dut, name).value) for name in expected}
        assert shown == expected
        self.verdicts[Verdict(expected["verdict"])] += 1
        if self.golden.open:
            for k, slot in enumerate(asked):
                answer = unpack(self.params.answer, int(getattr(dut, f"answers_{k}").value))
                state = self.golden.slots[slot]
                assert answer == {"phase": Phase(state.phase.value), "use": state.use}
        self.golden.step(inputs, slots)

    async def clear(self, **inputs):
        await self.step(clear=1, **inputs)
        for _ in range(self.params.slots):
            await self.step(valid=1, arrival=self.some_arrival(0.5))  # taken by no job
        assert self.golden.open
        await self.step()

    def some_arrival(self, luck, choose=random.choice):
        """Draw an arrival: mostly one that a slot waits for, else any slot, kind and use, or a
        dropped one.
        """
        state = self.golden
        oldest_first = [(state.next_slot + k) % state.count for k in range(state.count)]
        waiting = [k for k in oldest_first if state.slots[k].phase is not golden.Phase.FREE]
        if waiting and random.random() < luck:
            slot = choose(waiting)
            state = self.golden.slots[slot]
            is_agg = state.phase is golden.Phase.PARTIAL
            arrival = {"verdict": Verdict.NONE, "slot": slot, "use": state.use}
            return arrival | {"is_agg": is_agg, "acked": not is_agg}
        slot = random.randrange(self.golden.count)
        use = self.golden.slots[slot].use
        is_agg, acked = random.choice([(1, 0), (0, 1), (1, 1)])
        near = random.choice([use, use, use + 1, use - 1, use + 2, use - 2, use + 128])
        return {
            "verdict": random.choice([Verdict.NONE] * 5 + [random.choice(DROPPED)]),
            "slot": slot,
            "is_agg": is_agg,
            "acked": acked,
            "use": random.choice([near % 256, near % 256, random.getrandbits(8)]),
            "activations": [some_activation() for _ in range(self.params.lanes)],
            "saturated": random.getrandbits(self.params.lanes),
        }

    async def random_step(self, luck=0.8, starts=0.9, comes=0.95, takes=0.7):
        """Draw a start, an arrival and a delivery for one cycle."""
        await self.step(
            start=self.golden.may_start and random.random() < starts,
            valid=random.random() < comes,
            arrival=self.some_arrival(luck),
            delivered=self.golden.arrived and random.random() < takes,
        )


def slots_in_use(many):
    slots = params_in_simulator(TransportParams).slots
    return {"one": 1, "two": 2, "odd": slots - 1 + slots % 2, "all": slots}[many]


async def begin(dut, many):
    bench = Bench(dut, slots_in_use(many))
    await bench.start()
    await bench.clear()
    return bench


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(many=MANY)
async def follows_the_rule(dut, many):
    """Runs until every slot has gone through all uses and some more; then all come home.

    Each verdict is drawn more than three times, however long that takes.
    """
    bench = await begin(dut, many)
    wanted = [Verdict.FULL, Verdict.FREED, Verdict.PENDING, Verdict.REPEATED, Verdict.STALE]

    def all_drawn():
        dropped = sum(bench.verdicts[verdict] for verdict in DROPPED)
        return dropped > 3 and all(bench.verdicts[verdict] > 3 for verdict in wanted)

    while not all_drawn() or bench.golden.started < (golden.USES + 5) * bench.golden.count:
        await bench.random_step()
    while not bench.golden.idle:
        await bench.random_step(starts=0)
    await bench.step()
    assert dut.idle.value


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(many=MANY, takes=[0.1, 1], starts=[0.1, 1], luck=[0.3, 1])
async def whatever_is_slow(dut, many, takes, starts, luck):
    """The table follows the rule when deliveries, starts or arrivals are what is slow."""
    bench = await begin(dut, many)
    for _ in range(400):
        await bench.random_step(takes=takes, starts=starts, luck=luck)
    assert bench.golden.delivered > 2


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(many=MANY)
async def begins_anew(dut, many):
    """A job may begin in the middle of another, and again before that one has begun."""
    bench = await begin(dut, many)
    for again in (False, True) * 6:
        for _ in range(random.randrange(1, 60)):
            await bench.random_step()
        if again:
            await bench.step(clear=1, valid=1, arrival=bench.some_arrival(0.8))
            for _ in range(random.randrange(bench.params.slots)):
                await bench.step()
        state = bench.golden  # all that can happen does so in the last cycle, too
        arrival = bench.some_arrival(1)
        await bench.clear(start=state.may_start, valid=1, arrival=arrival, delivered=state.arrived)
        assert state.idle
    for _ in range(100):
        await bench.random_step()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def all_at_once_every_cycle(dut):
    """With a packet in each cycle, a micro-batch starts and one is delivered every second cycle."""
    bench = await begin(dut, "all")
    cycles = 400
    for _ in range(cycles):
        state = bench.golden
        await bench.step(
            start=state.may_start,
            valid=1,
            arrival=bench.some_arrival(1, choose=lambda waiting: waiting[0]),
            delivered=state.arrived,
        )
    lost = {2: cycles // 6}.get(bench.golden.count, 2)  # two slots: a cycle in three without one
    assert bench.golden.delivered >= cycles // 2 - lost
