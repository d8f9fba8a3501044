import pytest
from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.sim import Simulator

from hdl.common.packets import AXIS, BEAT, to_axis, to_stream, to_transmitter


@pytest.mark.parametrize("connect", [to_stream, to_transmitter])
@pytest.mark.parametrize(("last", "broken"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_there_and_back(connect, last, broken):
    """Towards a MAC, the last beat of a packet that ends as broken goes without its first byte."""
    m = Module()
    source, sink = AXIS.create(path=("source",)), AXIS.create(path=("sink",))
    path = stream.Signature(BEAT.size).create(path=("path",))
    connect(m, source, path)
    to_axis(m, path, sink)

    async def bench(ctx):
        values = {"tdata": 1 << 511 | 5, "tkeep": 7, "tlast": last, "tvalid": 1}
        for name, value in values.items():
            ctx.set(getattr(source, name), value)
        ctx.set(source.tuser, broken)
        ctx.set(sink.tready, 1)
        await ctx.delay(1e-9)
        for name, value in (
            values | {"tkeep": 6 if connect is to_transmitter and last and broken else 7}
        ).items():
            assert ctx.get(getattr(sink, name)) == value
        assert ctx.get(sink.tuser) == 0
        assert ctx.get(source.tready) == 1

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
