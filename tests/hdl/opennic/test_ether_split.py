import random

import cocotb

from hdl.opennic.ether_split import OWN, EtherSplit, EtherSplitParams
from sim.harness.axi_streams import AxiSource, beats_of
from sim.harness.records import Recorder
from sim.harness.streams import crossed, edges, never, often, start
from sim.harness.verilator import simulate
from tests.hdl.opennic import packets
from tests.hdl.opennic.packets import reset_at_once
from tests.hdl.u280.packet_bench import Taker, send


def test_ether_split():
    simulate(EtherSplit(EtherSplitParams(ethertype=packets.OWN, rest=True)), __name__)


def some_packet():
    types = [packets.OWN, packets.OWN ^ 1 << random.randrange(16), 0xB588, 0x0800]
    sizes = [13, 14, 60, 64, 65, random.randrange(1, 300)]
    return packets.frame(random.choice(sizes), random.choice(types))


def is_own(octets):
    return len(octets) >= 14 and octets[12:14] == packets.OWN.to_bytes(2, "big")


@cocotb.test(timeout_time=10, timeout_unit="us")
async def what_lies_behind_the_end_is_no_type(dut):
    await start(dut)
    source, takers = AxiSource(dut, "mac"), [Taker(dut, f"o_{k}") for k in range(2)]
    for size in (12, 13, 14):
        octets = packets.frame(60, packets.OWN)
        (beat,) = beats_of(octets)
        await source.send_all([beat | {"tkeep": (1 << size) - 1}])
    await edges(dut.clk, 3)
    assert [len(taker.packets()) for taker in takers] == [1, 2]


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_reset_forgets_the_packet(dut):
    await start(dut)
    source, takers = AxiSource(dut, "mac"), [Taker(dut, f"o_{k}") for k in range(2)]
    for size in (300, 60):
        source.extend([*beats_of(packets.frame(size))] * 4)
        await edges(dut.clk, 1)
        await reset_at_once(dut, source)
        assert not any(int(getattr(dut, n).value) for n in ("o_0_tvalid", "o_1_tvalid", "foreign"))
        count = len(takers[0].beats)
        await source.send_all([*beats_of(packets.frame(60, packets.OWN))])
        await edges(dut.clk, 3)
        assert len(takers[0].beats) == count + 1


@crossed(stall=[never, often], us=100)
async def packets_of_the_type_leave_apart_from_all_others(dut, stall):
    await start(dut)
    sent = [some_packet() for _ in range(300)]
    takers, foreign = [Taker(dut, f"o_{k}") for k in range(2)], Recorder(dut, "foreign", {})
    broken = set(random.sample(range(300), 30))
    await send(dut, "mac", sent, stall=stall, broken=broken, waits=False)
    await edges(dut.clk, 3)
    for k, taker in enumerate(takers):
        ends = [bool(beat["tuser"]) for beat in taker.beats if beat["tlast"]]
        assert [*zip(taker.packets(), ends, strict=True)] == [
            (octets, number in broken)
            for number, octets in enumerate(sent)
            if is_own(octets) == (k == OWN)
        ]
    assert len(foreign.cycles) == sum(not is_own(octets) for octets in sent)
