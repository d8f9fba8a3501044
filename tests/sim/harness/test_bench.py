from dataclasses import dataclass

import cocotb
import pytest
from amaranth.hdl import Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.axi import AxiStreamSignature
from hdl.common.component import Component
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Source, crossed, often
from tests.simulated import simulated


@dataclass(frozen=True, kw_only=True)
class LanesParams:
    """Says whether nothing passes before a beat of stream ``news`` has been taken."""

    news: bool

    @property
    def suffix(self):
        return "news" if self.news else "none"


class Lanes(Component):
    """Adds ``settings.add`` to the bytes of two lanes; counts all of them, the packets' too."""

    def __init__(self, params):
        byte = stream.Signature(8)
        ports = {"i": In(byte).array(2), "o": Out(byte).array(2), "busy": Out(1)}
        ports |= {"settings": In(data.StructLayout({"spare": 3, "add": 4}))}
        ports |= {"axis": In(AxiStreamSignature(data_bits=64)), "count": Out(8)}
        super().__init__(params, ports | ({"news": Out(byte)} if params.news else {}))

    def build(self, m):
        open_ = Signal(init=not self.params.news)
        if self.params.news:
            m.d.comb += self.news.valid.eq(~open_)
            m.d.sync += open_.eq(open_ | self.news.ready)
        for i, o in zip(self.i, self.o, strict=True):
            m.d.comb += [
                o.payload.eq((i.payload + self.settings.add)[:8]),
                o.valid.eq(i.valid & open_),
                i.ready.eq(o.ready & open_),
            ]
        m.d.comb += [self.axis.tready.eq(open_), self.busy.eq(self.i[1].valid)]
        moved = [i.valid & i.ready for i in self.i] + [self.axis.tvalid & open_]
        m.d.sync += self.count.eq((self.count + sum(moved))[:8])


test_bench = simulated(Lanes, [LanesParams(news=news) for news in (False, True)], __name__)


@crossed(stalls=STALLS, us=100)
async def has_an_end_at_each_stream(dut, stalls):
    """A component that has another stream, too, needs no other bench."""
    bench = await Bench(dut, stalls, settings={"add": 5}).begin()
    for lane in bench.i:
        lane.extend(range(20))
    bench.axis.append({"tdata": 7, "tlast": 1})
    await bench.finish(o=[[k + 5 for k in range(20)]] * 2)
    assert bench.value("count") == 41
    assert bench.value("settings") == {"spare": 0, "add": 5}


@cocotb.test(timeout_time=100, timeout_unit="us")
async def leaves_a_stream_to_a_model(dut):
    bench = Bench(dut)
    model = Source(dut, "i_0", stall=often)
    await bench.begin()
    model.extend([1, 2, 3])
    await bench.finish(o_0=[1, 2, 3])
    assert "i_0" not in vars(bench)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def says_what_is_left_over(dut):
    bench = await Bench(dut).begin()
    bench.i_0.extend([1, 2])
    with pytest.raises(AssertionError):
        await bench.finish(o_0=[1])
    with pytest.raises(AttributeError, match="no stream x: there are i_0, i_1, o_0, o_1"):
        _ = bench.x
