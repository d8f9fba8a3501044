import random

import cocotb

from hdl.netsparse.kind_split import KindSplit
from hdl.netsparse.protocol import Kind
from sim.harness.axi_streams import AxiSource, beats_of
from sim.harness.records import Recorder
from sim.harness.streams import crossed, edges, never, often, start
from sim.harness.verilator import simulate
from tests.hdl.opennic.packets import reset_at_once
from tests.hdl.u280.packet_bench import Taker, header, random_packet, send


def test_kind_split():
    simulate(KindSplit(), __name__)


@crossed(stall=[never, often], us=100)
async def every_packet_goes_to_its_class(dut, stall):
    await start(dut)
    chosen = [random_packet() for _ in range(200)]
    broken = set(random.sample(range(200), 30))
    takers, foreign = [Taker(dut, f"o_{k}") for k in range(2)], Recorder(dut, "foreign", {})
    await send(dut, "mac", [p for p, _ in chosen], stall=stall, broken=broken, waits=False)
    await edges(dut.clk, 3)
    for k, taker in enumerate(takers):
        ends = [bool(beat["tuser"]) for beat in taker.beats if beat["tlast"]]
        assert [*zip(taker.packets(), ends, strict=True)] == [
            (packet, number in broken) for number, (packet, kind) in enumerate(chosen) if kind == k
        ]
    assert not set(takers[0].cycles) & set(takers[1].cycles)
    assert len(foreign.cycles) == sum(kind is None for _, kind in chosen)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_reset_forgets_the_packet(dut):
    await start(dut)
    source, taker = AxiSource(dut, "mac"), Taker(dut, "o_0")
    read = header(Kind.READ.value)
    for octets in (header(0) + bytes(300), header(0), header(Kind.RESPONSE.value) + bytes(300)):
        source.extend([*beats_of(octets)] * 4)
        await edges(dut.clk, 1)
        await reset_at_once(dut, source)
        assert not any(int(getattr(dut, n).value) for n in ("o_0_tvalid", "o_1_tvalid", "foreign"))
        await source.send_all([*beats_of(read)])
        await edges(dut.clk, 3)
    assert taker.packets() == [read] * 3
