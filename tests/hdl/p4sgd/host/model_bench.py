"""Puts a worker's model port on engines that only remember weights."""

from amaranth.hdl import Cat, Signal
from amaranth.lib import memory, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.params import Params
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.host.model_port import ModelPort
from hdl.p4sgd.worker_params import WorkerParams


class ModelBenchParams(Params, suffix="{worker.suffix}"):
    worker: WorkerParams

    @property
    def engine(self) -> EngineParams:
        return self.worker.engine


class RememberingEngine(Component):
    """Holds weights by group; does nothing while ``pause`` is high.

    With ``together`` it takes a question in the cycle of its answer, without at once.
    """

    def __init__(self, params):
        engine = params.engine
        super().__init__(
            params,
            pause=In(1),
            together=In(1),
            load=In(stream.Signature(engine.model.load)),
            peek=In(stream.Signature(engine.model.address)),
            peeked=Out(stream.Signature(engine.model.group)),
        )

    def build(self, m):
        engine = self.params.engine
        m.submodules.weights = weights = memory.Memory(
            shape=engine.model.group.size, depth=1 << engine.model.address.size, init=[]
        )
        write = weights.write_port()
        where = Cat(self.peek.payload.group, self.peek.payload.chunk)
        m.d.comb += [
            self.load.ready.eq(~self.pause),
            write.addr.eq(Cat(self.load.payload.group, self.load.payload.chunk)),
            write.data.eq(self.load.payload.weights),
            write.en.eq(self.load.valid & self.load.ready),
        ]
        with m.If(self.together):
            self.answer_together(m, weights.read_port(domain="comb"), where)
        with m.Else():
            self.answer_later(m, weights.read_port(), where)

    def answer_together(self, m, read, where):
        waited = Signal(2)
        m.d.comb += [
            read.addr.eq(where),
            self.peeked.valid.eq(self.peek.valid & (waited == 3)),
            self.peeked.payload.eq(read.data),
            self.peek.ready.eq(self.peeked.valid & self.peeked.ready),
        ]
        with m.If(self.peek.ready):
            m.d.sync += waited.eq(0)
        with m.Elif(self.peek.valid & (waited != 3) & ~self.pause):
            m.d.sync += waited.eq(waited + 1)

    def answer_later(self, m, read, where):
        m.submodules.answers = answers = Fifo(
            FifoParams(shape=self.params.engine.model.group, depth=16)
        )
        requested = Signal()
        m.d.comb += [
            read.addr.eq(where),
            self.peek.ready.eq(~self.pause & (answers.level < 12)),
            answers.i.payload.eq(read.data),
            answers.i.valid.eq(requested),
            self.peeked.payload.eq(answers.o.payload),
            self.peeked.valid.eq(answers.o.valid),
            answers.o.ready.eq(self.peeked.ready),
        ]
        m.d.sync += requested.eq(self.peek.valid & self.peek.ready)


class ModelBench(Component):
    """Connects the port and its engines; what is left is what the host sees."""

    def __init__(self, params):
        port = ModelPort(params.worker)
        super().__init__(
            params,
            s_axi=port.signature.members["s_axi"],
            allow=In(1),
            busy=Out(1),
            pause=In(params.worker.engines),
            together=In(1),
        )

    def build(self, m):
        m.submodules.port = port = ModelPort(self.params.worker)
        connect(m, flipped(self.s_axi), port.s_axi)
        m.d.comb += [port.allow.eq(self.allow), self.busy.eq(port.busy)]
        for index in range(self.params.worker.engines):
            engine = RememberingEngine(self.params)
            m.submodules[f"engine_{index}"] = engine
            m.d.comb += [
                engine.pause.eq(self.pause[index]),
                engine.together.eq(self.together),
            ]
            connect(m, port.load[index], engine.load)
            connect(m, port.peek[index], engine.peek)
            connect(m, engine.peeked, port.peeked[index])
