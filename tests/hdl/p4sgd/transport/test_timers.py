import random
from dataclasses import replace

import cocotb
import pytest
from cocotb.triggers import RisingEdge, Timer

from hdl.p4sgd.transport.params import PEER_BITS, TIME_BITS, Phase, TransportParams
from hdl.p4sgd.transport.timers import Timers
from sim.golden.reduction.allreduce import GaveUp, Tries, sends_again
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
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
        """Wait until the registers of a new cycle show ``overdue`` and ``gave_up``."""
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
            if self.overdue is not None or self.dut.gave_up.value:
                return
            await self.end_cycle(**inputs)
        raise AssertionError("nothing overdue")


def slots_in_use(many):
    slots = params_in_simulator(TransportParams).slots
    return {"one": 1, "two": 2, "all": slots}[many]


MANY = ["one", "two", "all"]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(many=MANY, timeout=[1, 2, 30])
async def is_overdue_in_time(dut, many, timeout):
    """A slot is overdue after the timeout, within one look at each slot; each time it counts."""
    bench = await Bench(dut, slots_in_use(many), timeout).start()
    for slot in range(bench.count):
        for _ in range(random.randrange(2 * bench.count)):
            await bench.step()
        await bench.step(send=slot)
        for retries in range(4):
            sent, _ = bench.sent[slot]
            await bench.wait_for_overdue(timeout + bench.count + SPARE)
            assert bench.overdue == {"slot": slot, "tries": tries(retries + 1)}
            assert timeout < bench.now - sent <= timeout + bench.count + LOOKS
            await bench.again()
        bench.phases[slot] = Phase.FREE
        for _ in range(timeout + 2 * bench.count + SPARE):
            await bench.step()
            assert bench.overdue is None


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


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_long_timeout(dut):
    """A timeout may last as long as hundreds of looks."""
    bench = await Bench(dut, 1, 900 + random.randrange(900)).start()
    for retries in range(2):
        await bench.step(send=0, retries=retries)
        sent, _ = bench.sent[0]
        await bench.wait_for_overdue(bench.timeout + 1 + SPARE)
        assert bench.timeout < bench.now - sent <= bench.timeout + 1 + LOOKS
        bench.phases[0] = Phase.FREE
        await bench.end_cycle(take=True)
        for _ in range(SPARE):
            await bench.step()


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(many=MANY)
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


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(many=MANY)
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


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(many=MANY)
async def never_looks_at_free_slots(dut, many):
    """The memory holds old timers; yet no slot that is free or was just started is overdue."""
    timeout = 40
    bench = await Bench(dut, slots_in_use(many), timeout).start()
    for slot in range(bench.count):
        await bench.step(send=slot, retries=9)
        bench.phases[slot] = Phase.FREE
    for _ in range(3 * timeout):
        await bench.step()
    for _ in range(8 * bench.count):
        slot = random.randrange(bench.count)
        await bench.step(send=slot)
        for _ in range(random.randrange(1, timeout - SPARE)):
            await bench.step()
            assert bench.overdue is None
        bench.phases[slot] = Phase.FREE
        for _ in range(random.choice([1, 2, timeout + bench.count])):
            await bench.step()
    assert not bench.shown


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(many=MANY, busy=[0, 0.5, 0.9])
async def keeps_all_timers(dut, many, busy):
    """Slots come and go at random: none is overdue early or forgotten, and retries are right."""
    timeout = 20 + random.randrange(40)
    bench = await Bench(dut, slots_in_use(many), timeout).start()
    patience = {}  # of each waiting slot: the cycles in which it should have been looked at
    events = 0
    for _ in range(4000):
        held = bench.overdue is not None
        await bench.begin_cycle()
        if bench.overdue is not None and not held:
            check_overdue(bench, timeout)
            patience.pop(bench.overdue["slot"], None)
            events += 1
            # Looks that were under way are lost; they come round again.
            patience = {slot: cycles - bench.count - SPARE for slot, cycles in patience.items()}
        if bench.overdue is None:
            for slot in patience:
                patience[slot] += 1
                assert patience[slot] <= timeout + bench.count + SPARE, f"{slot} forgotten"
        sent = await random_cycle(bench, busy)
        for slot in range(bench.count):
            if bench.phases[slot] is Phase.FREE:
                patience.pop(slot, None)
        if sent is not None:
            patience[sent] = 0
    assert events > 10


def check_overdue(bench, timeout):
    """What is overdue is not early, has its own count of retries, and is a slot that waits."""
    slot = bench.overdue["slot"]
    sent, retries = bench.sent[slot]
    assert bench.overdue["tries"] == tries(retries + 1)
    assert bench.now - sent > timeout


async def random_cycle(bench, busy):
    """Start, acknowledge, ask again or only free a slot; return which one was sent."""
    late = bench.overdue["slot"] if bench.overdue is not None else None
    slot = random.randrange(bench.count)
    age = bench.now - bench.sent.get(slot, (0, 0))[0]
    young = SPARE < age < bench.timeout - SPARE  # no look at the old timer is under way
    if (
        late is None
        and random.random() < bench.count / 2 / bench.timeout
        and (young or slot not in bench.sent)
    ):
        if bench.phases[slot] is Phase.PARTIAL:
            bench.phases[slot] = Phase.ACK
            await bench.end_cycle(send=slot)
            return slot
        if bench.phases[slot] is Phase.ACK:
            bench.phases[slot] = Phase.FREE
        await bench.end_cycle()
        return None
    if late is None and bench.phases[slot] is Phase.FREE and random.random() < 0.2:
        await bench.end_cycle(send=slot)
        return slot
    take = late is not None and random.random() >= busy
    if take and bench.phases[late] is not Phase.FREE:
        await bench.again()
        return late
    await bench.end_cycle(take=take)
    return None


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(many=MANY, retries=[1, 3, 255])
async def gives_up(dut, many, retries):
    """It gives up after the set number of repetitions and names the slot until the next job."""
    timeout = 5
    bench = await Bench(dut, slots_in_use(many), timeout, retries).start()
    for slot in {0, bench.count // 2, bench.count - 1}:
        await bench.step(send=slot)
        for count in range(retries):
            await bench.wait_for_overdue(timeout + bench.count + SPARE)
            assert bench.overdue == {"slot": slot, "tries": tries(count + 1)}
            await bench.again()
        sent = bench.now
        await bench.wait_for_overdue(timeout + bench.count + SPARE)
        assert dut.gave_up.value
        assert not dut.peers_missing.value
        assert bench.overdue is None
        assert bench.now - sent >= timeout
        for _ in range(3 * (timeout + bench.count)):
            assert int(dut.stuck_slot.value) == slot
            assert dut.gave_up.value
            await bench.step()
            assert bench.overdue is None
        bench.phases[slot] = Phase.FREE
        await bench.step(clear=True)
        await bench.begin_cycle()
        assert not dut.gave_up.value
        await bench.end_cycle()


async def repeat(bench, slot, tries, answered):
    """Wait until ``slot`` is sent again or given up, after an answer or none, as the rule says."""
    if answered:
        await bench.step(pending=slot)
        if random.random() < 0.5:  # a second one is nothing new
            await bench.step(pending=slot)
    await bench.wait_for_overdue(bench.timeout + bench.count + SPARE)
    expected = sends_again(replace(tries, heard=answered), bench.retries, bench.peer_retries)
    if isinstance(expected, GaveUp):
        assert bench.overdue is None
        found = GaveUp.PEERS if bench.dut.peers_missing.value else GaveUp.NETWORK
        assert (bool(bench.dut.gave_up.value), found) == (True, expected)
        assert int(bench.dut.stuck_slot.value) == slot
        return expected
    found = {"unanswered": expected.unanswered % 256, "repetitions": expected.repetitions}
    assert bench.overdue == {"slot": slot, "tries": found}
    return expected


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(many=MANY, bounds=[(2, 5), (3, 0), (0, 4), (5, 1), (0, 0)])
async def tells_a_silent_switch_from_late_peers(dut, many, bounds):
    """Whether "pending" came for the slot, for others only or not at all, the rule is followed."""
    bench = await Bench(dut, slots_in_use(many), 12, *bounds).start()
    seen = set()
    for chance in (0, 0.3, 0.6, 0.9, 1) * 2:
        slot, tries = random.randrange(bench.count), Tries()
        bench.phases = [Phase.FREE] * len(bench.phases)
        await bench.step(send=slot)
        for _ in range(20):
            for other in {0, bench.count - 1} - {slot}:
                await bench.step(pending=other)
            tries = await repeat(bench, slot, tries, random.random() < chance)
            if isinstance(tries, GaveUp):
                break
            await bench.again()
        seen.add(tries if isinstance(tries, GaveUp) else None)
        bench.phases[slot] = Phase.FREE
        await bench.step(clear=True)
        await bench.begin_cycle()
        assert not dut.gave_up.value
        assert not dut.peers_missing.value
        await bench.end_cycle()
    assert (GaveUp.NETWORK in seen) == (bench.retries > 0)
    assert (GaveUp.PEERS in seen) == (bench.peer_retries > 0)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(answered=[False, True])
async def tries_count_in_all_bits(dut, answered):
    """Repetitions count over their highest bit to the bound; without ``retries``, for ever."""
    most = (1 << PEER_BITS) - 1
    bench = await Bench(dut, slots_in_use("all"), 12, 0, most).start()
    await bench.step(send=0)  # whatever was told of the slot before is over with its first timeout
    await bench.wait_for_overdue(bench.timeout + bench.count + SPARE)
    await bench.again()
    for before in (127, (1 << PEER_BITS - 1) - 1, most - 2):
        tries = Tries(unanswered=255, repetitions=before)
        await bench.step(send=0, retries=255, repetitions=before)
        for _ in range(2):
            tries = await repeat(bench, 0, tries, answered)
            await bench.again()
        assert tries.repetitions == before + 2
    assert await repeat(bench, 0, tries, True) == GaveUp.PEERS


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_bit_of_the_bounds_counts(dut):
    """A power of two bounds the patience with the switch, and another that with other workers."""
    bench = await Bench(dut, 1, 12).start()
    await bench.step(send=0)  # whatever was told of the slot before is over with its first timeout
    await bench.wait_for_overdue(bench.timeout + bench.count + SPARE)
    for bit in range(PEER_BITS):
        before = Tries(unanswered=0, repetitions=1 << bit)
        bench = await Bench(dut, 1, 12, 0, before.repetitions).start()
        await bench.step(send=0, repetitions=before.repetitions)
        assert await repeat(bench, 0, before, True) == GaveUp.PEERS
    for bit in range(8):
        before = Tries(unanswered=1 << bit, repetitions=1 << bit)
        bench = await Bench(dut, 1, 12, before.unanswered, 0).start()
        await bench.step(send=0, retries=before.unanswered, repetitions=before.repetitions)
        assert await repeat(bench, 0, before, False) == GaveUp.NETWORK


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(many=MANY)
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


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(many=MANY, sent_before=[0, 2])
async def counts_what_cannot_leave(dut, many, sent_before):
    """While a MAC takes nothing, each timeout is a repetition; in the end it gives up."""
    timeout, retries = 25, 5
    bench = await Bench(dut, slots_in_use(many), timeout, retries).start()
    slot = bench.count - 1
    await bench.step(send=slot, retries=sent_before)
    await bench.wait_for_overdue(timeout + bench.count + SPARE)
    began, seen = bench.now, []
    while not dut.gave_up.value:
        assert bench.overdue["slot"] == slot
        seen.append(bench.overdue["tries"]["unanswered"])
        await bench.end_cycle()
        await bench.begin_cycle()
    assert seen == [k for k in range(sent_before + 1, retries + 1) for _ in range(timeout + 1)]
    assert bench.now - began == (timeout + 1) * (retries - sent_before)
    assert int(dut.stuck_slot.value) == slot


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(many=MANY)
async def takes_late_what_could_not_leave(dut, many):
    """When a MAC takes it in the end, the count goes on where it was."""
    timeout, held = 10, 2
    for part in (0, 1, timeout - 1, timeout):  # of a further timeout, which counts for nothing
        bench = await Bench(dut, slots_in_use(many), timeout, 9).start()
        await bench.step(send=0)
        await bench.wait_for_overdue(timeout + bench.count + SPARE)
        for _ in range(held * (timeout + 1) + part):
            await bench.end_cycle()
            await bench.begin_cycle()
        assert bench.overdue == {"slot": 0, "tries": tries(held + 1)}
        await bench.again()
        await bench.wait_for_overdue(timeout + bench.count + SPARE)
        for _ in range(timeout + 1):
            assert bench.overdue == {"slot": 0, "tries": tries(held + 2)}
            await bench.end_cycle()
            await bench.begin_cycle()
        assert bench.overdue == {"slot": 0, "tries": tries(held + 3)}


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(many=MANY)
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
        assert not dut.gave_up.value
        await bench.end_cycle()


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(timeout=[1, 20, 200], less=[0, 1])
async def all_slots_are_overdue(dut, timeout, less):
    """When nobody answers, every slot is asked for again within a bounded time."""
    slots = params_in_simulator(TransportParams).slots
    bench = await Bench(dut, slots - less, timeout).start()
    for slot in range(bench.count):
        await bench.step(send=slot)
    asked = [0] * bench.count
    for _ in range(4 * timeout + 40 * bench.count):
        await bench.begin_cycle()
        if bench.overdue is not None:
            asked[bench.overdue["slot"]] += 1
            await bench.again()
        else:
            await bench.end_cycle()
    assert min(asked) >= 2, asked
