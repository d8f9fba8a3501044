"""Compares requests of children and parents with the specification, mostly at one slot."""

import random
from dataclasses import replace

import cocotb

from hdl.p4sgd.network.tree_frame import LEVEL_BITS
from hdl.p4sgd.switch.aggregator import Aggregator
from hdl.p4sgd.switch.tree_params import TreeSwitchParams
from sim.golden.reduction.allreduce import Packet, SwitchSlot, Verdict
from sim.golden.reduction.tree_rule import (
    SUM_BITS,
    TreeOutcome,
    TreeSlot,
    child_rule,
    parent_rule,
    root_rule,
)
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.verilator import params_in_simulator
from sim.host.switch.traffic import bits_of, choose_packet, choose_payload
from tests.hdl.p4sgd.switch.aggregator_bench import Requests
from tests.simulated import simulated

SIZES = [
    TreeSwitchParams(ports=4, slots=4, jobs=2),
    TreeSwitchParams(ports=16, slots=8, jobs=3, lanes=2),
]
#: what a parent says: is_agg, acked
KINDS = {"full": (True, False), "acked": (False, True), "pending": (True, True)}

test_tree_aggregator = simulated(Aggregator, SIZES, __name__, short=SIZES[:1])


def choose_sum(lanes, bits):
    """Draw a subtree's sum, of any size up to what may go up."""
    return choose_payload(random, lanes, random.choice((bits, bits + 1, bits + LEVEL_BITS)))


def own_part(slot):
    return slot.own if isinstance(slot, TreeSlot) else slot


class Golden(Requests):
    """Keeps the slots by the specification."""

    def __init__(self, params):
        super().__init__(params)
        self.jobs = {}  # slot -> everyone, parent's bit or 0
        self.slots = {}
        for slot in range(params.slots):
            self.clear(slot)

    def clear(self, slot):
        """Clear for any children, and any parent or none."""
        params = self.params
        ports = list(range(params.ports))
        random.shuffle(ports)
        parent = 1 << ports.pop() if random.random() < 0.8 else 0
        count = random.choice((1, 2, random.randint(1, len(ports)), len(ports)))
        everyone = sum(1 << port for port in ports[:count])
        self.jobs[slot] = everyone, parent
        kind = TreeSlot if parent else SwitchSlot
        self.slots[slot] = kind.at_start(everyone, params.lanes)
        self.without_packet(slot, 1, self.anything(everyone=everyone))

    def without_packet(self, slot, clear, request):
        super().without_packet(slot, clear, request)
        self.golden[-1]["progress"] = {"began": 0, "ended": 0}

    def some_request(self, slot):
        """Draw one of a child, or of the parent, mostly what it would say next."""
        everyone, parent = self.jobs[slot]
        state = self.slots[slot]
        if parent and random.random() < 0.4:
            return self.of_parent(slot, state)
        own = own_part(state)
        waiting = isinstance(state, TreeSlot) and own.agg_bm == everyone and not state.finished
        if waiting and random.random() < 0.5:  # whatever the parent has to say, children repeat
            is_agg, worker, use = random.random() < 0.5, random.choice(bits_of(everyone)), own.use
        else:
            is_agg, worker, use = choose_packet(random, own, everyone)
        payload = choose_sum(self.params.lanes, self.params.value_bits)
        packet = Packet(is_agg, 1 << worker, use, payload=payload)
        draining = random.random() < 0.05
        return self.request(slot, packet, from_parent=False, draining=draining)

    def of_parent(self, slot, state):
        everyone, _ = self.jobs[slot]
        use, expected = state.own.use, "full" if state.own.ack_bm != everyone else "acked"
        if random.random() < 0.3:
            use = (use + random.choice((-1, 1, random.randrange(256)))) % 256
        if random.random() < 0.4:
            expected = random.choice(list(KINDS))
        is_agg, acked = KINDS[expected]
        payload = choose_payload(random, self.params.lanes, self.params.value_bits)
        saturated = random.getrandbits(self.params.lanes) if expected == "full" else 0
        packet = Packet(is_agg, 0, use, acked, payload, saturated)
        return self.request(slot, packet, from_parent=True, draining=random.random() < 0.05)

    def request(self, slot, packet, *, from_parent, draining):
        params, state = self.params, self.slots[slot]
        everyone, parent = self.jobs[slot]
        outcome = self.outcome(state, packet, everyone, from_parent)
        verdict = outcome.verdict.name
        if own_part(outcome.slot).use != own_part(state).use and draining:
            outcome, verdict = TreeOutcome(state, outcome.verdict), "DRAINING"
        self.slots[slot] = outcome.slot
        sender = parent if from_parent else packet.bm
        header = self.header(packet.use, packet.is_agg)
        request = {
            "sender": sender,
            "everyone": everyone,
            "draining": int(draining),
            "parent": parent,
            "root": int(not parent),
            "from_parent": int(from_parent),
            "header": header,
            "acked": int(packet.acked),
            "saturated": packet.saturated,
            "payload": list(packet.payload),
        }
        self.rows.append((slot, 1, 0, pack(params.request, request)))
        before, after = finished(state, everyone), finished(outcome.slot, everyone)
        progress = {"began": int(before and not after), "ended": int(after and not before)}
        golden = {"verdict": verdict, "sender": sender, "progress": progress, "answered": 0}
        if outcome.up:
            golden["parent"] = parent
        if outcome.up or outcome.down:
            golden |= {"answered": 1, "answer": self.answer(outcome, header)}
        self.golden.append(golden)

    def outcome(self, state, packet, everyone, from_parent):
        if isinstance(state, SwitchSlot):
            root = root_rule(state, packet, everyone)
            return TreeOutcome(root.slot, root.verdict, root.answer)
        if from_parent:
            return parent_rule(state, packet, everyone)
        return child_rule(state, packet, everyone)

    def answer(self, outcome, header):
        down, up = outcome.down, outcome.up
        nothing = [0] * self.params.lanes
        is_sum = down is not None and down.is_agg and not down.acked
        payload = list(down.payload) if is_sum else nothing
        fields = down or replace(up, bm=0)
        return {
            "up": int(up is not None),
            "partial": header["is_agg"],
            "bm": fields.bm,
            **({"acked": int(fields.acked)} if down else {}),  # or nothing goes down
            "saturated": down.saturated if down else 0,
            "header": header | {"is_agg": int(fields.is_agg)},
            "payload": list(up.payload) or nothing if up is not None else payload,
        }


def finished(slot, everyone):
    return slot.finished if isinstance(slot, TreeSlot) else slot.ack_bm == everyone


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(bubbles=[0, 0.3])
async def equals_the_specification(dut, bubbles):
    bench, golden = await Bench(dut).begin(), Golden(params_in_simulator(TreeSwitchParams))
    for k in range(8000):
        if random.random() < bubbles:
            golden.idle()
            continue
        slot = golden.some_slot(k, 500)
        if random.random() < 0.01:
            golden.clear(slot)
        else:
            golden.some_request(slot)
    await golden.check(bench)
    of_children = [Verdict.ADDED, Verdict.REPEATED_PARTIAL, Verdict.ACKNOWLEDGED]
    of_children += [Verdict.REPEATED_ACK, Verdict.PREVIOUS_ACK, Verdict.EARLY]
    of_children += [Verdict.PREMATURE_ACK, Verdict.STALE]
    of_parents = [Verdict.FULL, Verdict.FREED, Verdict.PENDING, Verdict.REPEATED, Verdict.UNASKED]
    assert golden.verdicts >= {verdict.name for verdict in (*of_children, *of_parents)} | {
        "DRAINING"
    }


def test_sums_have_the_bits_of_the_wire():
    assert TreeSwitchParams().agg[0].width == SUM_BITS
