from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.sim import Simulator

from hdl.common.packets import AXIS, BEAT, to_axis, to_stream


def test_there_and_back():
    m = Module()
    source, sink = AXIS.create(path=("source",)), AXIS.create(path=("sink",))
    way = stream.Signature(BEAT.size).create(path=("way",))
    to_stream(m, source, way)
    to_axis(m, way, sink)

    async def bench(ctx):
        values = {"tdata": 1 << 511 | 5, "tkeep": 7, "tlast": 1, "tvalid": 1}
        for name, value in values.items():
            ctx.set(getattr(source, name), value)
        ctx.set(source.tuser, 1)
        ctx.set(sink.tready, 1)
        await ctx.delay(1e-9)
        for name, value in values.items():
            assert ctx.get(getattr(sink, name)) == value
        assert ctx.get(sink.tuser) == 0
        assert ctx.get(source.tready) == 1

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
