import random
from collections import Counter, deque

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switchgnn.switch.aggregator_params import TableError
from hdl.switchgnn.switch.bank import Bank
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start, strobe
from sim.harness.verilator import params_in_simulator
from tests.hdl.switchgnn.switch.bank_model import (
    ADD,
    FETCH,
    LOAD,
    READ,
    BankModel,
    Command,
    Outcome,
    some_sums,
)
from tests.hdl.switchgnn.switch.sizes import TINY, bank_sizes
from tests.simulated import simulated

SIZES = [
    TINY,
    bank_sizes(ports=4, slots=16, lanes=8, style="block"),
    bank_sizes(ports=5, slots=64, lanes=8, style="ultra"),
]
NO_COMMAND = Command()

test_bank = simulated(Bank, SIZES, __name__)


def test_latencies():
    assert (Bank.lead, Bank.read_latency, Bank.latency, Bank.ready_latency) == (4, 4, 4, 5)


class Play:
    """Gives the bank and its model a command a cycle and compares all that comes out."""

    def __init__(self, dut, params):
        self.dut, self.params = dut, params
        self.model = BankModel(params)
        self.payloads = deque([()] * Bank.lead)
        self.results = deque([Outcome()] * Bank.read_latency)
        self.verdicts = deque([Outcome()] * Bank.latency)
        self.seen = Counter()

    async def step(self, command=NO_COMMAND):
        """Give a command; what means nothing is anything."""
        dut, params = self.dut, self.params
        dut.command.value = pack(params.bank_command, command.fields())
        self.payloads.append(command.payload)
        payload = self.payloads.popleft() or some_sums(params)
        dut.payload.value = pack(params.sums, list(payload))
        ready, soon = self.model.ready, self.model.soon
        outcome = self.model.step(command)
        self.results.append(outcome)
        self.verdicts.append(outcome)
        await RisingEdge(dut.clk)
        assert int(dut.busy.value) == 0
        assert int(dut.ready.value) == sum(1 << port for port in ready)
        assert int(dut.soon.value) == sum(1 << port for port in soon)
        result, verdict = self.results.popleft().result, self.verdicts.popleft()
        assert int(dut.result_valid.value) == (result is not None)
        if result is not None:
            found = unpack(params.bank_result, int(dut.result.value))
            assert tuple(found[name] for name in ("port", "slot", "tag", "sums")) == result
        assert int(dut.added.value) == verdict.added
        assert TableError(int(dut.error.value)).name == verdict.error
        self.seen[command.operation] += 1
        self.seen[verdict.error] += 1
        self.seen["left"] += result is not None
        return outcome

    async def steps(self, commands):
        for command in commands:
            await self.step(command)

    async def idle(self, cycles=2 * Bank.ready_latency):
        for _ in range(cycles):
            await self.step()

    async def read(self, port):
        """Read the first aggregator of a port's list as soon as it is ready."""
        for _ in range(Bank.ready_latency + 1):
            if port in self.model.ready:
                break
            await self.step()
        return (await self.step(Command(operation=READ, port=port))).result

    async def empty(self):
        """Read all that waits, until nothing is left."""
        for _ in range(20 * self.params.slots + 40):
            ready = self.model.ready
            port = random.choice(ready) if ready else None
            await self.step(NO_COMMAND if port is None else Command(operation=READ, port=port))
        assert self.model.waiting == 0
        assert not any(self.model.queues)


async def cleared(dut, params):
    """Count the cycles after a reset in which nothing may be done."""
    dut.command.value = 0
    for _ in range(params.slots):
        await RisingEdge(dut.clk)
        assert int(dut.busy.value) == 1
        assert int(dut.ready.value) == int(dut.soon.value) == 0
        assert int(dut.result_valid.value) == int(dut.added.value) == 0
    return Play(dut, params)


async def begin(dut):
    params = params_in_simulator(GnnSwitchParams)
    dut.command.value = dut.payload.value = 0
    await start(dut)
    return await cleared(dut, params)


class Traffic:
    """Draws commands of two jobs; most are for few aggregators, and some are wrong."""

    def __init__(self, params):
        self.params = params
        half = params.slots // 2
        self.jobs = [(0, half - 1), (half, params.slots - half)]  # base, aggregators
        self.turns = [random.choice((0, 253)), random.randrange(256)]
        self.hot = [0, 0]

    def command(self, ready, bubbles, reads):
        params = self.params
        kind = random.random()
        if kind < bubbles:
            return NO_COMMAND
        if ready and random.random() < reads:
            return Command(operation=READ, port=random.choice(ready))
        job = random.randrange(2)
        base, count = self.jobs[job]
        if random.random() < 0.01:
            self.turns[job] = (self.turns[job] + 1) & 255
            self.hot[job] = random.randrange(count)
        index = self.hot[job] if random.random() < 0.5 else random.randrange(count)
        tag = self.turns[job]
        if random.random() < 0.02:
            index = random.choice((count, count + 1, params.slots, (1 << 15) - 1))
        if random.random() < 0.02:
            tag = tag - 1 & 255
        operation = random.choices((ADD, FETCH, LOAD), (75, 12, 8))[0]
        return Command(
            operation=operation,
            index=index,
            base=base,
            count=count,
            tag=tag if operation != LOAD else tag - 1 & 255,
            port=random.randrange(params.ports),
            expected=random.choice((0, 1, 1, 2, 2, 3, 5)),
            to=random.randrange(1 << params.port_bits),
            payload=some_sums(params),
        )


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(bubbles=[0, 0.3], reads=[0.05, 0.3, 0.9])
async def equals_the_specification(dut, bubbles, reads):
    play = await begin(dut)
    traffic = Traffic(play.params)
    for _ in range(2000):
        await play.step(traffic.command(play.model.ready, bubbles, reads))
    await play.empty()
    named = {ADD, FETCH, READ, LOAD, "OUTSIDE", "UNUSED", "COMPLETE", "left"}
    assert not [name for name in named if not play.seen[name]]


def whole(play, operation, **fields):
    """Return a command for each aggregator of the bank, in any order."""
    slots = play.params.slots
    return [
        Command(operation=operation, index=k, count=slots, **fields)
        for k in random.sample(range(slots), slots)
    ]


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(rounds=[1, 3])
async def all_complete_in_a_row(dut, rounds):
    """Even if all leave by one port, none is lost; each can be fetched once, and again."""
    play = await begin(dut)
    port = random.randrange(play.params.ports)
    await play.steps(whole(play, LOAD, tag=255, expected=rounds, to=port))
    for tag in range(2):
        for _ in range(rounds):
            await play.steps(whole(play, ADD, tag=tag, payload=some_sums(play.params)))
        for _ in range(2):
            assert play.model.waiting == play.params.slots
            results = [await play.read(port) for _ in range(play.params.slots)]
            assert sorted(result[1] for result in results) == list(range(play.params.slots))
            assert play.model.waiting == 0
            await play.steps(whole(play, FETCH, tag=tag))
            await play.steps(whole(play, FETCH, tag=tag))  # which is not queued twice
        await play.empty()


@cocotb.test(timeout_time=200, timeout_unit="us")
async def one_aggregator_over_all_tags(dut):
    """600 turns contribute at full rate; each sum leaves, or waits while it is added to.

    Two cycles behind its last contribution it is not in the memory yet, and waits once more.
    """
    play = await begin(dut)
    last = play.params.slots - 1
    where = {"base": last, "count": 1}
    load = Command(operation=LOAD, tag=255, expected=3, to=1, **where)
    await play.step(load)
    for turn in range(600):
        for _ in range(3):
            add = Command(operation=ADD, tag=turn & 255, payload=some_sums(play.params), **where)
            await play.step(add)
        if turn % 3 == 0:
            early = turn % 9 // 3  # idle cycles before the READ
            await play.idle(early)
            waited = play.model.waiting and 1 in play.model.ready
            result = await play.read(1)
            if waited and early < 2:
                assert result is None
            else:
                assert result[:3] == (1, last, turn & 255)
    await play.empty()


@cocotb.test(timeout_time=200, timeout_unit="us")
async def each_wrong_table_is_told(dut):
    play = await begin(dut)
    params, payload = play.params, some_sums(play.params)
    unloaded = Command(operation=ADD, index=0, count=2, tag=7, payload=payload)
    assert (await play.step(unloaded)).error == "UNUSED"
    nowhere = params.ports if params.ports < 1 << params.port_bits else 0
    loads = [
        Command(operation=LOAD, index=0, count=2, tag=6, expected=1, to=1),
        Command(operation=LOAD, index=1, count=2, tag=6, expected=bool(nowhere), to=nowhere),
    ]
    await play.steps(loads)
    outcomes = [
        await play.step(Command(operation=ADD, index=k, count=2, tag=7, payload=payload))
        for k in (0, 0, 1, 2, (1 << 15) - 1)
    ]
    found = [(outcome.added, outcome.error) for outcome in outcomes]
    assert found == [
        (True, "NONE"),
        (False, "COMPLETE"),
        (False, "UNUSED"),
        (False, "OUTSIDE"),
        (False, "OUTSIDE"),
    ]
    assert await play.read(1) == (1, 0, 7, list(payload))
    await play.empty()


@cocotb.test(timeout_time=200, timeout_unit="us")
async def what_waits_follows_its_aggregator(dut):
    """When it is loaded anew as it waits, nothing leaves, or the new sum by the new port."""
    play = await begin(dut)
    payloads = [some_sums(play.params) for _ in range(3)]
    where = {"index": 1, "count": 2}
    for again in (False, True):
        await play.step(Command(operation=LOAD, tag=0, expected=1, to=0, **where))
        await play.step(Command(operation=ADD, tag=1, payload=payloads[0], **where))
        await play.step(Command(operation=LOAD, tag=1, expected=1, to=1, **where))
        if again:
            await play.step(Command(operation=ADD, tag=2, payload=payloads[1], **where))
        assert await play.read(0) is None
        if again:
            assert await play.read(1) == (1, 1, 2, list(payloads[1]))
        await play.idle()
        assert play.model.waiting == 0
        await play.step(Command(operation=LOAD, tag=2, expected=1, to=0, **where))
        await play.step(Command(operation=ADD, tag=3, payload=payloads[2], **where))
        assert await play.read(0) == (0, 1, 3, list(payloads[2]))


@cocotb.test(timeout_time=500, timeout_unit="us")
async def a_reset_clears_all(dut):
    """A reset at any moment undoes what was complete, queued or on its way."""
    play = await begin(dut)
    for _ in range(8):
        traffic = Traffic(play.params)
        for _ in range(random.randrange(40, 160)):
            await play.step(traffic.command(play.model.ready, 0, 0.3))
        await strobe(dut.rst, dut.clk)
        play = await cleared(dut, play.params)
        await play.steps(
            whole(play, ADD, tag=random.randrange(256), payload=some_sums(play.params))
        )
        await play.idle()
        assert play.seen["UNUSED"] == play.params.slots
    await play.empty()
