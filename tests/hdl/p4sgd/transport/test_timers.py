import random
from collections import Counter
from dataclasses import replace

import cocotb
import pytest
from cocotb.triggers import RisingEdge, Timer

from hdl.p4sgd.transport.params import PEER_BITS, TIME_BITS, Phase, TransportParams
from hdl.p4sgd.transport.timers import Timers
from sim.golden.reduction.allreduce import GaveUp, Tries, sends_again
from sim.harness.payloads import pack, unpack
from sim.harness.streams import crossed, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import put

LOOKS = 3  # cycles from a look at a slot to its overdue packet
SPARE = LOOKS + 1


@pytest.mark.parametrize("slots", [2, 7, 16])
def test_timers(slots):
    simulate(Timers(TransportParams(slots=slots)), __name__, registers=["now", "blocked"])


def tries(unanswered, repetitions=0):
    return {"unanswered": unanswered, "repetitions": repetitions}


class Bench:
    """Runs timers with the table that they ask, a cycle at a time."""

    def __init__(self, dut, count, timeout, retries=0, peer_retries=0):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(TransportParams)
        self.count, self.timeout, self.retries = count, timeout, retries
        self.peer_retries = peer_retries
        self.phases = [Phase.FREE] * self.params.slots
        self.sent = {}  # slot: the cycle and how often in vain
        self.now = 0
        self.overdue = None  # in this cycle
        self.shown = []  # when an overdue packet appeared, and which

    async def start(self):
        settings = {
            "slot_count": self.count,
            "timeout": self.timeout,
            "retries": self.retries,
            "peer_retries": self.peer_retries,
        }
        put(self.dut, settings=settings, open=0, sent=0, clear=0, pending=0)
        self.dut.overdue_ready.value = 0
        for k in range(2):
            put(self.dut, **{f"answers_{k}": 0})
        await start(self.dut)
        await self.edge
        self.dut.open.value = 1
        return self

    async def begin_cycle(self):
        """Wait until the registers of a new cycle show ``overdue`` and ``abandoned``."""
        dut = self.dut
        await Timer(1, "ns")
        bits = int(dut.overdue_payload.value)
        before = self.overdue
        self.overdue = unpack(self.params.overdue, bits) if dut.overdue_valid.value else None
        if self.overdue is not None and before is None:
            self.shown.append((self.now, self.overdue))

    async def end_cycle(
        self, send=None, retries=0, repetitions=0, take=False, clear=False, pending=None
    ):
        """Drive the inputs of this cycle, answer what is asked, and go over the edge."""
        dut = self.dut
        put(dut, sent=send is not None, clear=clear, pending=pending is not None)
        dut.overdue_ready.value = take
        if pending is not None:
            put(dut, pending_slot=pending)
        if send is not None:
            put(dut, sent_slot=send, sent_tries=tries(retries, repetitions))
            self.sent[send] = self.now, retries
        for k in range(2):
            slot = int(getattr(dut, f"questions_{k}").value)
            answer = {"phase": self.phases[slot], "use": random.getrandbits(8)}
            getattr(dut, f"answers_{k}").value = pack(self.params.answer, answer)
        await self.edge
        if send is not None and self.phases[send] is Phase.FREE:
            self.phases[send] = Phase.PARTIAL
        if take:
            self.overdue = None
        self.now += 1

    async def step(self, **inputs):
        await self.begin_cycle()
        await self.end_cycle(**inputs)

    async def again(self):
        """Send what is overdue, as a transmitter does that has nothing else to do."""
        slot, (retries, repetitions) = self.overdue["slot"], self.overdue["tries"].values()
        await self.end_cycle(send=slot, retries=retries, repetitions=repetitions, take=True)

    async def wait_for_overdue(self, cycles, **inputs):
        for _ in range(cycles):
            await self.begin_cycle()
            if self.overdue is not None or self.dut.abandoned.value:
                return
            await self.end_cycle(**inputs)
        raise AssertionError("nothing overdue")


def slots_in_use(many):
    slots = params_in_simulator(TransportParams).slots
    return {"one": 1, "two": 2, "all": slots}[many]


MANY = ["one", "two", "all"]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def timeouts_of_every_length(dut):
    """The clock jumps to a little before the end of a timeout, from anywhere, also around.

    What is overdue then cannot leave for as long: that jumps as well.
    """
    for bit in range(4, TIME_BITS - 1):
        timeout = random.randrange(1 << bit, 2 << bit)
        bench = await Bench(dut, 1, timeout).start()
        dut.now.value = (1 << TIME_BITS) - random.randrange(1, timeout)
        await bench.step()
        await bench.step(send=0)
        jump = timeout - 10
        for part in (jump // 3, jump - jump // 3):
            await bench.begin_cycle()
            dut.now.value = (int(dut.now.value) + part) % (1 << TIME_BITS)
            bench.now += part
            await bench.end_cycle()
            assert bench.overdue is None
        await bench.wait_for_overdue(10 + bench.count + SPARE)
        sent, _ = bench.sent[0]
        assert timeout < bench.now - sent <= timeout + bench.count + LOOKS
        dut.blocked.value = timeout - 3
        for repetitions in (1, 1, 1, 2):
            await bench.end_cycle()
            await bench.begin_cycle()
            assert bench.overdue == {"slot": 0, "tries": tries(repetitions)}


@crossed(many=MANY)
async def is_late_by_looks_only(dut, many):
    """It is overdue one cycle after the timeout at best, one look at each slot later at worst."""
    timeout = 30
    bench = await Bench(dut, slots_in_use(many), timeout).start()
    gaps = set()
    for _ in range(6 * bench.count):
        await bench.step(send=0)
        await bench.wait_for_overdue(timeout + bench.count + SPARE)
        gaps.add(bench.now - bench.sent[0][0])
        bench.phases[0] = Phase.FREE
        await bench.end_cycle(take=True)
        for _ in range(random.randrange(1, 9)):
            await bench.step(take=random.getrandbits(1))  # of what is not there
    assert gaps <= set(range(timeout + 1, timeout + bench.count + 1))


@crossed(many=MANY)
async def forgets_what_is_freed_in_time(dut, many):
    """A slot that is freed while its timer is read is not overdue any more."""
    timeout = 15
    bench = await Bench(dut, slots_in_use(many), timeout).start()
    for age in range(timeout - SPARE, timeout + bench.count + SPARE):
        bench.shown.clear()
        await bench.step(send=0)
        for _ in range(age):
            await bench.step()
        bench.phases[0] = Phase.FREE
        freed = bench.now
        for _ in range(bench.count + 2 * SPARE):
            await bench.begin_cycle()
            await bench.end_cycle(take=bench.overdue is not None)
        assert all(when <= freed for when, _ in bench.shown)
        for _ in range(random.randrange(9)):
            await bench.step()


def some_bounds():
    """Draw bounds of the patience with the switch and with other workers; 0 is none."""
    bounds = []
    for bits in (8, PEER_BITS):
        power = 1 << random.randrange(bits)
        bounds.append(random.choice((0, 1, 3, power, random.randrange(2 * power))))
    return bounds


class Rule:
    """Starts, answers, repeats and frees slots at random; judges what is overdue by the rule."""

    def __init__(self, bench, busy):
        self.bench, self.busy, self.dut = bench, busy, bench.dut
        self.tries = {}  # of each slot that was sent, as it was sent
        self.heard = dict.fromkeys(range(bench.count))  # None: not known since the start
        self.patience = {}  # of each slot that waits: cycles in which it should have been looked at
        self.expected = self.since = None  # tries of what is overdue, and from which cycle on
        self.seen = Counter()

    def outcomes(self, tries, *heard):
        """Return what the rule may say, whether an answer was heard or not."""
        bench, result = self.bench, []
        for item in heard:
            tries = replace(tries, heard=item)
            result.append(sends_again(tries, bench.retries, bench.peer_retries))
            if isinstance(result[-1], Tries):  # the number has 8 bits
                result[-1] = replace(result[-1], unanswered=result[-1].unanswered % 256)
        return result

    def decide(self, slot):
        """Return what may become of a slot whose timer has run out."""
        sent, _ = self.bench.sent[slot]
        assert self.bench.phases[slot] is not Phase.FREE
        assert self.bench.now - sent > self.bench.timeout
        heard, self.heard[slot] = self.heard[slot], False
        self.patience.pop(slot, None)
        return self.outcomes(self.tries[slot], *((False, True) if heard is None else (heard,)))

    def judge(self):
        """Compare what a cycle shows."""
        bench, before = self.bench, self.expected
        abandoned = bool(self.dut.abandoned.value)
        if before and (bench.now - self.since) % (bench.timeout + 1) == 0:
            (self.expected,) = self.outcomes(before, False)  # it could not leave, and is lost
        if abandoned:
            slot = int(self.dut.stuck_slot.value)
            assert not before or slot == self.slot
            outcomes = [self.expected] if before else self.decide(slot)
            missing = bool(self.dut.peers_missing.value)
            assert (GaveUp.PEERS if missing else GaveUp.NETWORK) in outcomes
            assert bench.overdue is None
            self.seen["missing" if missing else "silent"] += 1
        elif bench.overdue is not None:
            slot, tries = bench.overdue["slot"], Tries(**bench.overdue["tries"])
            if not before:
                assert tries in self.decide(slot)
                self.expected, self.since, self.slot = tries, bench.now, slot
                self.seen["overdue"] += 1
                # Looks that were under way are lost; they come round again.
                for other in self.patience:
                    self.patience[other] -= bench.count + SPARE
            assert (slot, tries) == (self.slot, self.expected)
        else:
            self.expected = None
            for slot in self.patience:
                self.patience[slot] += 1
                assert self.patience[slot] <= bench.timeout + bench.count + SPARE, "forgotten"
        return abandoned

    async def begin_anew(self):
        """Stay as it is until the next job; then all is forgotten but what was heard."""
        bench = self.bench
        slot, missing = int(self.dut.stuck_slot.value), bool(self.dut.peers_missing.value)
        for _ in range(random.randrange(2 * bench.timeout)):
            await bench.step()
            shown = (
                self.dut.abandoned.value,
                self.dut.peers_missing.value,
                self.dut.stuck_slot.value,
            )
            assert [int(item) for item in shown] == [1, missing, slot]
        bench.phases = [Phase.FREE] * len(bench.phases)
        await bench.step(clear=True)
        self.expected, self.patience = None, {}

    async def act(self):
        """Take what is overdue, or start, acknowledge or free a slot; tell that one is pending."""
        bench, slot = self.bench, random.randrange(self.bench.count)
        age = bench.now - bench.sent.get(slot, (0, 0))[0]
        young = SPARE < age < bench.timeout - SPARE  # no look at the old timer is under way
        free = bench.phases[slot] is Phase.FREE
        pending = None
        if (young or free) and self.heard[slot] is not None and random.random() < 0.05:
            pending, self.heard[slot] = slot, True
        if bench.overdue is not None:
            abandons = GaveUp.NETWORK in self.outcomes(self.expected, False)
            if abandons or random.random() < self.busy:
                return await bench.end_cycle(pending=pending)
            return await self.send(self.slot, self.expected, take=True, pending=pending)
        if free and random.random() < 0.2:
            return await self.send(slot, self.some_tries(), pending=pending)
        if young and random.random() < bench.count / 2 / bench.timeout:
            if bench.phases[slot] is Phase.PARTIAL:
                bench.phases[slot] = Phase.ACK
                return await self.send(slot, Tries(), pending=pending)
            bench.phases[slot] = Phase.FREE
            self.patience.pop(slot, None)
        await bench.end_cycle(pending=pending)

    def some_tries(self):
        """Draw tries that are few, or near their bounds."""
        retries, peers = self.bench.retries, self.bench.peer_retries
        most = retries or 256
        unanswered = random.choice((0, max(0, most - random.randint(1, 3)), random.randrange(most)))
        return Tries(unanswered, random.choice((0, max(0, peers - random.randrange(3)))))

    async def send(self, slot, tries, **inputs):
        self.tries[slot], self.patience[slot] = tries, 0
        numbers = {"retries": tries.unanswered, "repetitions": tries.repetitions}
        await self.bench.end_cycle(send=slot, **numbers, **inputs)


@crossed(many=MANY, timeout=[1, 2, 30, 90], busy=[0, 0.5, 0.98], ms=4)
async def keeps_all_timers(dut, many, timeout, busy):
    """None is overdue early or forgotten; tries, and when it gives up, are as the rule has them.

    A slot waits for its acknowledgement, for others or in vain, and what is overdue may wait.
    """
    seen = Counter()
    for _ in range(3):
        bench = await Bench(dut, slots_in_use(many), timeout, *some_bounds()).start()
        rule = Rule(bench, busy)
        for _ in range(500):
            await bench.begin_cycle()
            if rule.judge():
                await bench.end_cycle()
                await rule.begin_anew()
            else:
                await rule.act()
        seen += rule.seen
    assert seen["overdue"] > 3


@crossed(many=MANY)
async def hears_in_every_cycle(dut, many):
    """Near a decision, "pending" counts for that decision or for the next one, but once."""
    timeout, heard = 12, set()
    for age in range(timeout - 2, timeout + slots_in_use(many) + 6):
        bench = await Bench(dut, slots_in_use(many), timeout, 9).start()
        await bench.step(send=0, retries=4)
        answers = []
        for cycle in range(3 * (timeout + bench.count + SPARE)):
            await bench.begin_cycle()
            pending = 0 if cycle == age else None
            if bench.overdue is not None:
                answers.append(bench.overdue["tries"]["unanswered"])
                slot, (retries, _) = bench.overdue["slot"], bench.overdue["tries"].values()
                await bench.end_cycle(send=slot, retries=retries, take=True, pending=pending)
            else:
                await bench.end_cycle(pending=pending)
        heard.add(answers.index(1))
        at = answers.index(1)
        assert answers == [*range(5, 5 + at), *range(1, 1 + len(answers) - at)]
    assert heard == {0, 1}


@crossed(many=MANY)
async def is_still_without_a_job(dut, many):
    """While no job is open nothing is overdue, and a new job forgets what was."""
    timeout = 5
    bench = await Bench(dut, slots_in_use(many), timeout, 1).start()
    dut.open.value = 0
    for slot in range(bench.count):
        await bench.step(send=slot)
    for _ in range(10 * timeout):
        await bench.step()
        assert bench.overdue is None
    dut.open.value = 1
    await bench.wait_for_overdue(timeout + bench.count + SPARE)
    bench.phases = [Phase.FREE] * len(bench.phases)
    await bench.end_cycle(clear=True)
    for _ in range(3 * (timeout + bench.count)):
        await bench.begin_cycle()
        assert bench.overdue is None
        assert not dut.abandoned.value
        await bench.end_cycle()


@crossed(timeout=[1, 20, 200], less=[0, 1])
async def all_slots_are_overdue(dut, timeout, less):
    """When nobody answers, every slot is asked for again within a bounded time."""
    slots = params_in_simulator(TransportParams).slots
    bench = await Bench(dut, slots - less, timeout).start()
    for slot in range(bench.count):
        await bench.step(send=slot)
    requested = [0] * bench.count
    for _ in range(4 * timeout + 40 * bench.count):
        await bench.begin_cycle()
        if bench.overdue is not None:
            requested[bench.overdue["slot"]] += 1
            await bench.again()
        else:
            await bench.end_cycle()
    assert min(requested) >= 2, requested
