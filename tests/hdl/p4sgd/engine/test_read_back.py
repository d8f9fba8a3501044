import cocotb
import numpy as np

from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.read_back import OUTSTANDING, ReadBack, probe_steps
from sim.harness import streams
from sim.harness.streams import crossed
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import Trace, clock, generator, peek, wild
from tests.simulated import simulated

SIZES = [EngineParams(banks=banks, lanes=12, chunks=5) for banks in (8, 4, 3, 1, 16)]

test_read_back = simulated(ReadBack, SIZES, __name__, short=[SIZES[0], SIZES[2], SIZES[4]])


@crossed(stalls=streams.STALLS, us=100)
async def gathers_groups(dut, stalls):
    """The banks answer with what their one lane holds; a lane of nobody is zero."""
    params = params_in_simulator(EngineParams)
    rng = generator()
    source, sink = stalls
    weights = wild(rng, 32, (params.chunks, params.lanes))
    padded = np.zeros((params.chunks, 16 + params.banks), dtype=np.int64)
    padded[:, : params.lanes] = weights
    await streams.start(dut)
    sums = streams.Source(dut, "sums", stall=source)

    def answer(probe):
        lanes = probe["step"] * params.banks + np.arange(params.banks)
        row = padded[probe["chunk"], probe["group"] * GROUP_LANES :]
        sums.append(np.where(lanes < GROUP_LANES, row[lanes.clip(max=GROUP_LANES)], 0))

    probes = streams.Sink(dut, "probe", stall=sink, callback=answer)
    assert not dut.busy.value
    read = await peek(dut, params, params.chunks, stall=sink)
    assert (read == weights).all()
    steps = list(range(probe_steps(params)))
    assert [beat["step"] for beat in probes.beats] == steps * params.chunks * 2
    await clock(dut, 3)
    assert not dut.busy.value
    assert not dut.sums_ready.value


class Banks:
    """Answer probes with weights of their own, in order, when they are told to."""

    def __init__(self, dut, params, delay, stall=streams.never):
        self.params, self.delay = params, delay
        self.rng = generator()
        self.weights = wild(self.rng, 32, (params.chunks, 2 * GROUP_LANES))
        self.sums = streams.Source(dut, "sums", stall=stall)
        self.waiting = []  # when each was asked, and its sums
        self.probes = streams.Sink(dut, "probe", callback=self.issue)
        self.most = 0
        cocotb.start_soon(self.run(dut))

    def issue(self, probe):
        lanes = probe["step"] * self.params.banks + np.arange(self.params.banks)
        row = self.weights[probe["chunk"], probe["group"] * GROUP_LANES :]
        sums = [row[lane] if lane < GROUP_LANES else 0 for lane in lanes]
        self.waiting.append((streams.cycle(), sums))

    async def run(self, dut):
        while True:
            await clock(dut)
            self.most = max(self.most, len(self.probes.beats) - len(self.sums.cycles))
            while self.waiting and streams.cycle() >= self.waiting[0][0] + self.delay() - 1:
                self.sums.append(self.waiting.pop(0)[1])


async def request_all(dut, banks, groups, stall=streams.never):
    """Peek at random groups; return the cycles of the answers."""
    params = banks.params
    chunks = banks.rng.integers(params.chunks, size=groups)
    requested = [
        {"chunk": int(c), "group": int(g)} for c, g in zip(chunks, chunks % 2, strict=True)
    ]
    requesting = cocotb.start_soon(streams.send(dut, "peek", requested))
    answers, cycles = await streams.receive(dut, "peeked", groups, stall)
    await requesting
    expected = [
        banks.weights[beat["chunk"], GROUP_LANES * beat["group"] :][:GROUP_LANES].tolist()
        for beat in requested
    ]
    assert answers == expected
    return cycles


@crossed(delay=[2, 9, OUTSTANDING - 1, 40], us=100)
async def probes_every_cycle(dut, delay):
    """It does up to the most under way; fast answers give a group per ``probe_steps`` cycles."""
    params = params_in_simulator(EngineParams)
    await streams.start(dut)
    banks = Banks(dut, params, lambda: delay)
    trace = Trace(dut, "busy")
    groups = 60
    cycles = await request_all(dut, banks, groups)
    steps = probe_steps(params)
    requested, answered = banks.probes.cycles, banks.sums.cycles
    if delay < OUTSTANDING:
        assert requested == list(range(requested[0], requested[0] + groups * steps))
        assert cycles == [cycles[0] + steps * k for k in range(groups)]
        assert banks.most <= delay + 1
    else:
        assert banks.most == OUTSTANDING
    assert cycles == answered[steps - 1 :: steps]
    await clock(dut, 3)
    # From the first probe to the last sums, without a gap.
    busy = trace.when("busy")
    if delay < OUTSTANDING:
        assert busy == list(range(requested[0] + 1, answered[-1] + 1))
    else:
        assert (busy[0], busy[-1]) == (requested[0] + 1, answered[-1])


@crossed(stalls=streams.STALLS, us=200)
async def keeps_groups_apart(dut, stalls):
    """Answers have any delay, with several groups at once: each is whole and in order."""
    params = params_in_simulator(EngineParams)
    source, sink = stalls
    await streams.start(dut)
    delays = generator()
    banks = Banks(dut, params, lambda: int(delays.integers(2, 30)), source)
    await request_all(dut, banks, 150, sink)
    await clock(dut, 3)
    assert not dut.busy.value
    assert banks.most > min(probe_steps(params), OUTSTANDING - 1)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def requests_no_more_than_there_is_room_for(dut):
    """Without answers it sends as many probes as there is room for, and no more."""
    params = params_in_simulator(EngineParams)
    await streams.start(dut)
    banks = Banks(dut, params, lambda: 100)
    peeks = streams.Source(dut, "peek")
    peeks.extend([{"chunk": 0, "group": 0}] * (2 * OUTSTANDING))
    await clock(dut, 60)
    assert len(banks.probes.beats) == OUTSTANDING
    assert not dut.probe_valid.value
    assert dut.busy.value
    assert not banks.sums.cycles
