"""Compares a bank with the golden rule: packets of one to many beats, mostly for the same slot."""

import random

import cocotb
import numpy as np

from hdl.allreduce.wide_bank import WideBank
from hdl.allreduce.wide_params import Operation, WideParams, WideVerdict
from hdl.common.memory import primitives
from hdl.switch.slots import MORE_CYCLES
from sim.golden.reduction.allreduce import USES, Packet
from sim.golden.reduction.wide_frames import Total, combined
from sim.golden.reduction.wide_rule import WideSlot, wide_rule
from sim.golden.reduction.wide_switch import EMPTY
from sim.harness.bench import Bench
from sim.harness.in_simulator import params_in_simulator
from sim.harness.streams import STALLS
from sim.host.switch.traffic import bits_of, choose_packet, choose_payload
from tests.hdl.allreduce.judged_bank import JudgedBank
from tests.simulated import simulated

REFUSED = [verdict for verdict in WideVerdict if verdict.value >= WideVerdict.WRONG_SLOT.value]
OUTLIVES_RESET = "the memories keep what was written"


class DeepWideParams(WideParams):
    """A bank whose memory of sums has registers between its blocks."""

    more_cycles = MORE_CYCLES


SIZES = [WideParams(ports=4, slots=4, first=7)]
SIZES += [WideParams(ports=2, slots=2, lanes=3, beats=2, tag_bits=5)]
SIZES += [DeepWideParams(ports=3, slots=8, lanes=2, beats=4, first=1)]
SIZES += [WideParams(ports=3, slots=2, lanes=2, beats=128, first=1)]  # longer than what may wait

test_wide_bank = simulated(JudgedBank, SIZES, __name__)


def test_latency():
    assert (WideBank.verdict_latency, WideBank(SIZES[0]).latency) == (3, 4)
    assert [WideBank(WideParams(slots=slots)).latency for slots in (1 << 10, 1 << 11)] == [4, 6]


def test_2048_slots_with_two_sums_of_1024_bytes_take_128_ultraram():
    memories = [WideParams(ports=ports).sums_memory for ports in (8, 16)]
    assert [primitives("ultra", item.width, item.depth) for item in memories] == [128, 128]


class Golden:
    """Draws packets, and keeps what goes in, what leaves and the verdicts by the specification."""

    def __init__(self, params):
        self.params, self.most = params, params.lanes * params.beats
        self.slots, self.everyone, self.uses = {}, {}, {}
        self.sent, self.answers, self.numbers, self.verdicts = [], [], [], []
        self.clamped = []  #: counts of numbers of sums
        self.places = []  #: of the first beats of packets with an answer among those that are sent
        for slot in range(params.slots):
            self.clear(slot)

    def clear(self, slot, everyone=None):
        """Clear a slot, mostly by a head that would change it if it were a packet's."""
        everyone = everyone or random.randrange(1, 1 << self.params.ports)
        use = (self.slots[slot].use if slot in self.slots else 0) + random.randrange(2)
        operation, count = self.uses.get(slot, ((0, 1), (0, 1)))[use & 1]
        head = {"slot": slot, "use": use % USES, "clear": 1}
        head |= {"operation": operation, "count": count, "sender": random.choice((everyone, 1))}
        self.beat(self.head(**head), 0, 1, choose_payload(random, self.params.lanes), everyone)
        self.everyone[slot], self.slots[slot] = everyone, WideSlot.at_start(everyone, EMPTY)
        self.uses[slot] = [self.drawn_shape(), self.drawn_shape()]

    def head(self, **fields):
        wild = {"use": random.randrange(USES), "operation": random.randrange(len(Operation))}
        wild |= {"is_agg": random.getrandbits(1), "count": random.randint(1, self.most)}
        wild |= {"sender": 1 << random.randrange(self.params.ports), "clear": 0}
        wild["tag"] = random.getrandbits(self.params.tag_bits)
        return wild | fields

    def beat(self, head, number, last, numbers, everyone, refused=WideVerdict.NONE):
        if number:  # what is known of a packet comes with its first beat
            everyone, refused = random.getrandbits(self.params.ports), random.choice([*WideVerdict])
        late = {"everyone": everyone, "refused": refused}
        beat = {"head": head, "number": number, "last": last, "numbers": [*numbers]}
        self.sent.append(beat | late)

    def in_beats(self, numbers):
        """Return the lanes of each beat of an answer or packet with these numbers."""
        lanes, first = self.params.lanes, self.params.first
        words = [*[0] * first, *map(int, numbers)]
        words += [0] * (-len(words) % lanes or lanes * (not words))
        return [words[k : k + lanes] for k in range(0, len(words), lanes)]

    def drawn_shape(self):
        short = random.random() < 0.4
        return random.randrange(len(Operation)), random.randint(1, 1 if short else self.most)

    def request(self, slot, is_agg, worker, use, shape=None, numbers=None, refused=None):
        """Send a packet; its shape is its use's, and its numbers are drawn, unless they come."""
        operation, count = shape or self.uses[slot][use & 1]
        numbers = numbers or choose_payload(random, count)
        head, everyone = self.head(slot=slot, is_agg=int(is_agg), use=use), self.everyone[slot]
        head |= {"sender": 1 << worker, "operation": operation, "count": count * is_agg}
        parts = self.in_beats(numbers) if is_agg else [choose_payload(random, self.params.lanes)]
        first = len(self.sent)
        for k, part in enumerate(parts):
            self.beat(
                head, k, int(k == len(parts) - 1), part, everyone, refused or WideVerdict.NONE
            )
        if refused:
            self.verdicts.append((refused.name, 1 << worker))
            return
        packet = Packet(is_agg, 1 << worker, use, payload=Total(operation, np.int64(numbers)))
        outcome = wide_rule(self.slots[slot], packet, self.everyone[slot], combined=combined)
        if outcome.slot.use != self.slots[slot].use:  # the shape of the next use
            self.uses[slot][use & 1] = operation, count
            self.uses[slot][~use & 1] = self.drawn_shape()
        self.slots[slot] = outcome.slot
        self.verdicts.append((outcome.verdict.name, 1 << worker))
        if outcome.answer is not None:
            self.answer(slot, outcome.answer, outcome.answer.payload or EMPTY, head["tag"])
            self.places.append(first)
            clamped = self.numbers[-1]["saturated"]
            if outcome.verdict.name == "ADDED" and clamped:
                self.clamped.append(clamped)

    def answer(self, slot, answer, total, tag):
        clamped = total.clamped
        head = {"bm": answer.bm, "is_agg": int(answer.is_agg), "acked": int(answer.acked)}
        head |= {"slot": slot, "use": answer.use, "operation": total.operation}
        self.answers.append(head | {"count": len(clamped), "tag": tag})
        parts = self.in_beats(clamped.tolist())
        overflows = np.cumsum([sum(each) for each in self.in_beats(clamped != total.numbers)])
        for k, (part, saturated) in enumerate(zip(parts, overflows.tolist(), strict=True)):
            last = int(k == len(parts) - 1)
            self.numbers.append({"last": last, "numbers": part, "saturated": saturated})

    def traffic(self, count):
        """Draw packets, mostly for the slot of the packet before."""
        slot = 0
        for _ in range(count):
            slot = slot if random.random() < 0.7 else random.randrange(self.params.slots)
            if random.random() < 0.04:
                self.clear(slot)
                if random.random() < 0.5:  # nothing has begun
                    worker = random.choice(bits_of(self.everyone[slot]))
                    self.request(slot, random.random() < 0.5, worker, USES - 1)
            state, everyone = self.slots[slot], self.everyone[slot]
            is_agg, worker, use = choose_packet(random, state, everyone)
            if state.agg_bm == everyone and random.random() < 0.7:  # without acknowledgements
                is_agg, use = True, (state.use + 1) % USES
            refused = REFUSED[random.randrange(len(REFUSED))] if random.random() < 0.1 else None
            shape = random.random() < 0.1 and self.drawn_shape()
            self.request(slot, is_agg, worker, use, shape, refused=refused)


def check(bench, golden, reports, stalls):
    """Compare verdicts, their cycles, and if nothing stalls those of beats: one goes in a cycle."""
    names = [(beat["verdict"].name, beat["sender"]) for beat in reports.beats]
    assert names == golden.verdicts
    beats, cycles = golden.sent, bench.i.cycles
    firsts = [k for k, beat in enumerate(beats) if beat["number"] == beat["head"]["clear"] == 0]
    assert reports.cycles == [cycles[k] + WideBank.verdict_latency for k in firsts]
    if stalls.absent:
        assert cycles == list(range(cycles[0], cycles[0] + len(beats)))
        assert bench.answers.cycles == [cycles[k] + bench.component.latency for k in golden.places]


async def exchange(bench, golden, stalls):
    left = {"answers": golden.answers, "numbers": golden.numbers}
    await bench.exchange({"i": golden.sent}, left, stalls)


async def run(dut, draw, stalls=STALLS[0]):
    bench = await Bench(dut).begin(after_anything=True)
    reports, golden = bench.record("verdict", "verdict", "sender"), Golden(bench.params)
    clamped = bench.record("clamped", "clamped")
    draw(golden)
    await exchange(bench, golden, stalls)
    check(bench, golden, reports, stalls)
    assert [beat["clamped"] for beat in clamped.beats] == golden.clamped
    return golden


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def equals_the_specification(dut, stalls):
    params = params_in_simulator(WideParams)
    count = 1500 + 6000 // (params.ports * params.beats)  # two workers are early more seldom
    golden = await run(dut, lambda golden: golden.traffic(count), stalls)
    names = {name for name, _ in golden.verdicts}
    rule = {verdict.name for verdict in WideVerdict if verdict not in REFUSED} - {"NONE"}
    assert names >= rule
    assert names - rule


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def shortest_packets_of_one_slot_in_a_row(dut):
    """A beat of each worker for each use, every beat followed by a repetition, or by none."""

    def draw(golden):
        golden.clear(0, (1 << golden.params.ports) - 1)
        for use in range(300):
            for worker in range(golden.params.ports):
                for _ in range(1 + use % 3):
                    shape = use // 3 % len(Operation), min(1 + use % 2, golden.params.lanes)
                    golden.request(0, True, worker, use % USES, shape)
                if use % 5 == 0:
                    golden.request(0, False, worker, (use - 1) % USES)

    await run(dut, draw)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def sums_saturate_once_whatever_the_order(dut):
    def draw(golden):
        ports, most, high = golden.params.ports, golden.most, (1 << 31) - 1
        golden.clear(0, (1 << ports) - 1)
        inside = [high] * (ports // 2) + [-high - 1] * (ports // 2) + [1] * (ports % 2)
        for use, values in enumerate([[high] * ports, [-high - 1] * ports, inside] * 5):
            for worker in random.sample(range(ports), ports):
                golden.request(0, True, worker, use, (0, most), [values[worker]] * most)
            expected = max(-high - 1, min(high, sum(values)))
            assert expected in golden.numbers[-1]["numbers"]
            assert golden.numbers[-1]["saturated"] == most * (expected != sum(values))

    await run(dut, draw)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def works_on_after_a_reset_in_any_moment(dut):
    bench = await Bench(dut).begin(after_anything=True)
    reports = bench.record("verdict", "verdict", "sender")
    for cycles in [*range(20), *random.sample(range(20, 100), 10)]:
        golden = Golden(bench.params)
        golden.traffic(30)
        bench.offer({"i": golden.sent}, random.choice(STALLS))
        await bench.wait(cycles)
        await bench.reset(1, moves=random.random() < 0.5)
        reports.beats.clear(), reports.cycles.clear()
        golden, stalls = Golden(bench.params), random.choice(STALLS)
        golden.traffic(10)
        await exchange(bench, golden, stalls)
        check(bench, golden, reports, stalls)
