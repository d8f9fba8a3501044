import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.axi import Burst, Response
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.host.model_address import model_bus
from hdl.p4sgd.host.model_reader import ModelReader
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, Sink, Source, crossed
from sim.harness.upset import start_upset
from sim.harness.verilator import params_in_simulator
from tests.hdl.common.read_bench import expected_beats, random_burst
from tests.hdl.p4sgd.bench import generator, wild
from tests.simulated import simulated

SIZES = [
    WorkerParams(engines=1, engine=EngineParams(chunks=3)),
    WorkerParams(engines=3, engine=EngineParams(lanes=32, chunks=4)),
    WorkerParams(engines=8, engine=EngineParams(banks=2, lanes=128, chunks=5)),
]
BURSTS = 30

test_model_reader = simulated(ModelReader, SIZES, __name__)


class Model:
    """Has random weights at every index of a beat, and engines that answer with them."""

    def __init__(self, worker):
        self.worker = worker
        self.groups = worker.engine.lanes // 8
        shape = (worker.engines, worker.engine.chunks, self.groups, 8)
        self.weights = wild(generator(), worker.engine.weight_bits, shape)

    def place(self, index):
        """Return engine, chunk and group of a beat."""
        rest, group = divmod(index, self.groups)
        engine, chunk = divmod(rest, 1 << self.worker.engine.model.chunk_bits)
        return engine, chunk, group

    def answer(self, beat, allow):
        """Return what the host gets for one beat of a burst; what nobody may see is zeros."""
        engine, chunk, group = self.place(beat["index"])
        response, weights = Response.OKAY, 0
        if not (allow and beat["plain"]):
            response = Response.SLVERR
        elif engine >= self.worker.engines or chunk >= self.worker.engine.chunks:
            response = Response.DECERR
        else:
            weights = pack(
                self.worker.engine.model.group, self.weights[engine, chunk, group].tolist()
            )
        return {
            "id": beat["id"],
            "data": weights,
            "response": response,
            "last": beat["last"],
        }

    async def serve(self, engine, requested, answers):
        """Act as an engine: answer its questions in order."""
        count = 0
        while True:
            await requested.wait_for(count + 1)
            where = requested.beats[count]
            answers.append(self.weights[engine, where["chunk"], where["group"]].tolist())
            count += 1


def first_beat(bus):
    """Ask a burst of one beat, of weights that every worker has."""
    return {"id": 5, "addr": 0, "len": 0, "size": bus.offset_bits, "burst": Burst.INCR}


@crossed(stalls=STALLS, allow=[1, 0], ms=2)
async def answers_every_beat(dut, stalls, allow):
    worker = params_in_simulator(WorkerParams)
    model, bus = Model(worker), model_bus(worker)
    bursts = [first_beat(bus), *(random_burst(bus) for _ in range(BURSTS))]
    beats = [beat for burst in bursts for beat in expected_beats(bus, burst)]
    await start_upset(dut)
    dut.allow.value = allow
    engines = range(worker.engines)
    requested = [Sink(dut, f"peek_{engine}", stall=stalls.value[1]) for engine in engines]
    answers = [Source(dut, f"peeked_{engine}", stall=stalls.value[0]) for engine in engines]
    for engine in engines:
        cocotb.start_soon(model.serve(engine, requested[engine], answers[engine]))
    source = Source(dut, "bursts", stall=stalls.value[0])
    sink = Sink(dut, "beats", stall=stalls.value[1])
    await source.send_all(bursts)
    await sink.wait_for(len(beats))
    assert sink.beats == [model.answer(beat, allow) for beat in beats]
    assert sum(len(engine.beats) for engine in requested) == sum(
        beat["response"] == Response.OKAY for beat in sink.beats
    )
    await RisingEdge(dut.clk)
    assert not dut.busy.value
    if stalls.absent:
        taken = answers[0].cycles[0] - requested[0].cycles[0] if allow else 0
        assert sink.cycles[0] == source.cycles[0] + ModelReader.latency + max(taken - 1, 0)
        if not allow:  # no engine is waited for
            assert sink.cycles == list(range(sink.cycles[0], sink.cycles[0] + len(beats)))
