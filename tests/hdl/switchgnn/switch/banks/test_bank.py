import random
from collections import Counter, deque
from dataclasses import replace

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switchgnn.switch.banks.aggregator_params import TableError
from hdl.switchgnn.switch.banks.bank import Bank
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.payloads import pack, unpack
from sim.harness.streams import crossed, start, strobe
from sim.harness.verilator import params_in_simulator
from tests.hdl.switchgnn.switch.banks.bank_model import (
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
    replace(TINY, maxima=True),
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
            observed = unpack(params.bank_result, int(dut.result.value))
            assert tuple(observed[name] for name in ("port", "slot", "tag", "sums")) == result
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
    """Draws commands of two jobs; most are for few aggregators, and some are wrong.

    If it is ``hasty``, turns change often, and most sums leave by one port.
    """

    def __init__(self, params, hasty=False):
        self.params, self.hasty = params, hasty
        self.port = random.randrange(params.ports)
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
        if random.random() < (0.2 if self.hasty else 0.01):
            self.turns[job] = (self.turns[job] + 1) & 255
            self.hot[job] = random.randrange(count)
        index = self.hot[job] if random.random() < 0.5 else random.randrange(count)
        tag = self.turns[job]
        if random.random() < 0.02:
            index = random.choice((count, count + 1, params.slots, (1 << 15) - 1))
        if random.random() < 0.02:
            tag = tag - 1 & 255
        operation = random.choices((ADD, FETCH, LOAD), (75, 12, 8))[0]
        one_port = self.hasty and random.random() < 0.8
        to = self.port if one_port else random.randrange(1 << params.port_bits)
        return Command(
            operation=operation,
            index=index,
            base=base,
            count=count,
            tag=tag if operation != LOAD else tag - 1 & 255,
            port=random.randrange(params.ports),
            expected=random.choice((0, 1, 1, 2, 2, 3, 5)),
            to=to,
            payload=some_sums(params),
            maximum=random.random() < 0.7 if params.maxima else None,
        )


@crossed(bubbles=[0, 0.3], reads=[0.05, 0.3, 0.9], hasty=[False, True], us=200)
async def equals_the_specification(dut, bubbles, reads, hasty):
    play = await begin(dut)
    traffic = Traffic(play.params, hasty)
    for _ in range(1200):
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
