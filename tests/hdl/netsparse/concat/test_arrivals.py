import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from hdl.netsparse.concat.arrivals import Arrivals
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.protocol import PR_LAYER
from sim.harness.payloads import pack, unpack
from sim.harness.streams import STALLS, Source, crossed, cycle
from sim.harness.upset import start_upset
from sim.harness.verilator import params_in_simulator
from tests.hdl.netsparse.concat.concatenator_bench import beats_of, ones, request, zeros
from tests.simulated import simulated

MOST = {"nodes": 6, "mtu": 9216, "most_property_bytes": 4096, "pool": 148, "destinations": 8}
SIZES = [ConcatenatorParams(payload=payload, groups=payload, **MOST) for payload in (False, True)]
test_arrivals = simulated(Arrivals, SIZES, __name__)


class Surroundings:
    """Chooses a queue for every first beat, and takes what arrives."""

    def __init__(self, dut, stalls):
        self.dut, self.params = dut, params_in_simulator(ConcatenatorParams)
        self.absent, self.stall = stalls
        self.queues, self.arrivals, self.cycles = [], [], []
        dut.result.value = 0
        self.advance(False)
        cocotb.start_soon(self.choose())
        cocotb.start_soon(self.take())

    def advance(self, goes):
        """Say that the next component goes on, if it ``goes``: it holds no beat, or moves it."""
        moves = goes and random.randrange(2)
        self.dut.holds.value, self.dut.moves.value = not goes or moves, moves
        self.dut.advance.value = goes

    async def choose(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            dut.result.value = not self.absent()
            self.advance(not self.stall())
            dut.chosen.value = random.randrange(self.params.queues)

    async def take(self):
        dut, waiting, first = self.dut, None, True
        while True:
            await RisingEdge(dut.clk)
            if dut.rst.value:
                continue
            assert dut.prs_ready.value == (dut.advance.value and (dut.result.value or not first))
            if dut.prs_valid.value and dut.prs_ready.value:
                beat = unpack(self.params.pr, int(dut.prs_payload.value))
                first = not self.params.payload or beat["last"]
            if dut.takes.value:
                assert dut.result.value
                self.queues.append(
                    (int(dut.chosen.value), int(dut.dest.value), int(dut.error.value))
                )
            now = int(dut.arrival.value) if dut.valid.value else None
            assert waiting in (None, now), "a waiting beat changed"
            waiting = None if dut.advance.value else now
            if dut.valid.value and dut.advance.value:
                self.arrivals.append(unpack(self.params.arrival, int(dut.arrival.value)))
                self.cycles.append(cycle())


@crossed(stalls=STALLS, concatenate=[0, 1], us=100)
async def each_beat_with_its_queue(dut, stalls, concatenate):
    await start_upset(dut)
    around = Surroundings(dut, stalls)
    params = around.params
    source_stall, _ = stalls
    source = Source(dut, "prs", stall=source_stall)
    dut.concatenate.value = concatenate
    lengths = [4, 62, 64, 66, 128, 254, 256]
    prs = [
        request(
            params,
            random.randrange(params.nodes),
            random.choice([*lengths, 2 * random.randint(1, 128)]),
            error=params.payload and random.random() < 0.1,
        )
        for _ in range(150)
    ]
    prs += [request(params, 0, 4096, bits=zeros), request(params, 5, 4096, bits=ones)]
    beats = [beats_of(params, pr, *random.choices((0, 1), k=2)) for pr in prs]
    await source.send_all(beat for pr in beats for beat in pr)
    while len(around.arrivals) < sum(map(len, beats)):
        await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    assert not dut.valid.value
    expected = []
    for pr, provided, (queue, dest, error) in zip(prs, beats, around.queues, strict=True):
        wrong = provided[0].get("error", 0)
        assert (dest, error) == (pr.dest, wrong)
        for k, beat in enumerate(provided):
            layer = 18 * (k == 0)
            fields = {"first": k == 0, "last": k == len(provided) - 1, "error": wrong}
            fields |= {"queue": queue, "dest": dest}
            fields["alone"] = wrong or (not concatenate and beat.get("starts", 1))
            if params.groups:
                fields["ends"] = wrong or (not concatenate and beat["ends"])
            fields |= {"length": pr.length, "bytes": layer + len(pr.data[64 * k :][:64])}
            fields |= {"pr": pack(PR_LAYER, beat["pr"])} | (
                {"data": beat["data"]} if params.payload else {}
            )
            expected.append(fields)
    for arrival, fields in zip(around.arrivals, expected, strict=True):
        assert {name: arrival[name] for name in fields} == fields
    if stalls.absent:
        assert around.cycles == [at + Arrivals.latency for at in source.cycles]
        assert around.cycles[-1] - around.cycles[0] == len(expected) - 1
