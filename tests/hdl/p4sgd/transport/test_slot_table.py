import random
from collections import Counter

import cocotb
import pytest

from hdl.p4sgd.transport.params import Phase, TransportParams, Verdict
from hdl.p4sgd.transport.slot_table import QUESTIONS, SlotTable
from sim.golden.reduction import allreduce as golden
from sim.golden.reduction.shadow import shadow_worker_rule
from sim.harness.bench import Bench
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.stateful import follow

DROPPED = [verdict for verdict in Verdict if verdict.value >= Verdict.WRONG_SLOT.value]


@pytest.mark.parametrize(("slots", "shadow"), [(2, False), (5, False), (16, False), (5, True)])
def test_slot_table(slots, shadow):
    simulate(SlotTable(TransportParams(slots=slots, shadow=shadow)), __name__)


def some_activation():
    """Return any activation: the table does not look at it."""
    most = (1 << 31) - 1
    return random.choice([random.randint(-most, most), -most - 1, most, 0])


class Model:
    """Has a worker's slots as the rule has them, and how far its micro-batches have come."""

    def __init__(self, params, count):
        self.params, self.count = params, count
        self.verdicts = Counter()
        self.clears = 0.0  #: how often a job begins
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
        rule = shadow_worker_rule if self.params.shadow else golden.worker_rule
        slot, verdict = rule(self.slots[arrival["slot"]], packet)
        return slot, verdict.name

    def outputs(self, inputs):
        """Return what the table must show in this cycle."""
        verdict = self.judge(inputs["arrival"])[1] if inputs["valid"] else "NONE"
        shown = {
            "open": int(self.open),
            "clearing": int(self.clearing > 0),
            "may_start": int(self.may_start),
            "verdict": Verdict[verdict],
        }
        self.verdicts[shown["verdict"]] += 1
        if self.clearing:
            return shown
        for k in range(QUESTIONS if self.open else 0):
            slot = self.slots[inputs[f"questions_{k}"]]
            shown[f"answers_{k}"] = {"phase": Phase(slot.phase.value), "use": slot.use}
        return shown | {
            "idle": int(self.idle),
            "next_slot": self.next_slot,
            "next_use": (self.slots[self.next_slot].use + 1) % golden.USES,
            "arrived": int(self.arrived),
            "deliver_slot": self.delivered % self.count,
            "seen": int(self.seen in self.full),
            "outstanding": self.started - self.delivered,
        }

    def step(self, inputs):
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
            self.clearing, self.open = self.params.slots, False

    def preset(self):
        """Draw what is slow in the coming cycles: deliveries, starts, or arrivals that fit."""
        self.starts = random.choice((0, 0.1, 0.9, 1))
        self.luck, self.takes = random.choice((0.3, 0.8, 1)), random.choice((0.1, 0.7, 1))
        return {}

    def draw(self):
        questions = {f"questions_{k}": random.randrange(self.count) for k in range(QUESTIONS)}
        return questions | {
            "slot_count": self.count,
            "clear": int(random.random() < self.clears),
            "start": int(self.may_start and random.random() < self.starts),
            "delivered": int(self.arrived and random.random() < self.takes),
            "valid": int(random.random() < 0.95 or self.luck == 1),
            "arrival": self.some_arrival(),
        }

    def some_arrival(self):
        """Draw an arrival: mostly one that a slot waits for, else any slot, kind and use, or a
        dropped one.
        """
        oldest_first = [(self.next_slot + k) % self.count for k in range(self.count)]
        waiting = [k for k in oldest_first if self.slots[k].phase is not golden.Phase.FREE]
        if waiting and random.random() < self.luck:
            slot = waiting[0] if self.luck == 1 else random.choice(waiting)
            state = self.slots[slot]
            is_agg = state.phase is golden.Phase.PARTIAL
            arrival = {"verdict": Verdict.NONE, "slot": slot, "use": state.use}
            return arrival | {"is_agg": is_agg, "acked": not is_agg}
        slot = random.randrange(self.count)
        use = self.slots[slot].use
        is_agg, acked = random.choice([(1, 0), (0, 1), (1, 1)])
        near = random.choice([use, use, use + 1, use - 1, use + 2, use - 2, use + 128])
        return {
            "verdict": random.choice([Verdict.NONE] * 5 + [random.choice(DROPPED)]),
            "slot": slot,
            "is_agg": is_agg,
            "acked": acked,
            "use": random.choice([near % 256, near % 256, random.getrandbits(8)]),
            "activations": [some_activation() for _ in range(self.params.lanes)],
            "saturations": random.randint(0, self.params.lanes),
        }


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(many=["one", "two", "odd", "all"])
async def follows_the_rule(dut, many):
    """Every slot goes through all uses and some more; then jobs begin in the middle of others."""
    params = params_in_simulator(TransportParams)
    slots = params.slots
    count = {"one": 1, "two": 2, "odd": slots - 1 + slots % 2, "all": slots}[many]
    await Bench(dut, slot_count=count).begin()
    model = Model(params, count)
    await follow(dut, model, runs=1, cycles=3)
    assert not model.open  # no job has begun
    model.clears = 1.0
    await follow(dut, model, runs=1, cycles=1)
    model.clears = 0.0
    while model.started < (golden.USES + 5) * count:
        await follow(dut, model, runs=4, cycles=100)
    model.clears = 0.05
    await follow(dut, model, runs=40, cycles=40)
    dropped = sum(model.verdicts[verdict] for verdict in DROPPED)
    expected = [Verdict.FULL, Verdict.FREED, Verdict.PENDING, Verdict.REPEATED, Verdict.STALE]
    if params.shadow:
        assert not model.verdicts[expected.pop(1)]
    assert min(dropped, *(model.verdicts[verdict] for verdict in expected)) > 3
