import random

from cocotb.triggers import FallingEdge, RisingEdge

from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.concat.mark_order import MarkOrder
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.streams import crossed, never, often
from tests.simulated import simulated

PARAMS = ConcatenatorParams(payload=False, nodes=4, mtu=600)
test_mark_order = simulated(MarkOrder, [PARAMS], __name__)


@crossed(busy=[0.2, 0.5, 1.0])
async def all_leave_in_order(dut, busy):
    bench = await Bench(dut, (never, often)).begin()
    params, sink = bench.params, bench.marks
    sent, entered = [], 0
    while len(sent) < 300:
        await FallingEdge(dut.clk)
        # As many as may be open or marked; while the second waits, one at a time.
        room = len(sent) - len(sink.beats) < params.packets - 2
        chosen = [random.random() < busy and room for _ in range(2)]
        if dut.waits.value and all(chosen):
            chosen[random.randrange(2)] = False
        for name, payload, expected in zip(
            ("expires", "arrives"), ("expired", "arrived"), chosen, strict=True
        ):
            getattr(dut, name).value = expected
            fill = {0: lambda bits: 0, 1: lambda bits: (1 << bits) - 1}  # the first two marks
            bits = fill.get(len(sent), random.getrandbits)
            mark = {name: bits(field.width) for name, field in params.mark}
            getattr(dut, payload).value = pack(params.mark, mark)
            if expected:
                sent.append(mark)
        await RisingEdge(dut.clk)
        entered += int(dut.enters.value)
    await FallingEdge(dut.clk)
    dut.expires.value = dut.arrives.value = 0
    await RisingEdge(dut.clk)
    entered += int(dut.enters.value)
    await sink.wait_for(len(sent))
    await RisingEdge(dut.clk)
    assert sink.beats == sent
    assert entered == len(sent)
    assert not dut.waits.value
