import random

import cocotb
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiLiteRam, AxiResp

from hdl.common.axi_lite_decoder import AxiLiteDecoder, AxiLiteDecoderParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed, start
from sim.harness.verilator import params_in_simulator
from tests.hdl.u280.axi_bench import pause
from tests.simulated import simulated

SIZES = [AxiLiteDecoderParams(), AxiLiteDecoderParams(count=4, address_bits=8)]
SIZES += [AxiLiteDecoderParams(count=5, address_bits=8)]

CHANNELS = ("ar", "r", "aw", "w", "b")

test_axi_lite_decoder = simulated(AxiLiteDecoder, SIZES, __name__)


@crossed(stalls=STALLS, us=400)
async def each_subordinate_has_its_own_addresses(dut, stalls):
    """Reads and writes are under way at once; models that others have made keep the rules."""
    params = params_in_simulator()
    manager = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "i"), dut.clk, dut.rst)
    buses = [AxiLiteBus.from_prefix(dut, f"o_{k}") for k in range(params.count)]
    memories = [AxiLiteRam(bus, dut.clk, dut.rst, size=1 << params.address_bits) for bus in buses]
    pause(manager, stalls.value[0])
    for memory in memories:
        pause(memory, stalls.value[1])
    await start(dut)
    places = random.sample(range(0, params.count << params.address_bits, 4), 60)
    nowhere = [*range(params.count << params.address_bits, 1 << params.all_bits, 4)]
    lost = [manager.init_write(place, random.randbytes(4)) for place in nowhere[:5]]
    held = {place: random.randbytes(4) for place in places}
    writes = [manager.init_write(place, data) for place, data in held.items()]
    for write in writes:
        await write.wait()
    for read, data in [(manager.init_read(place, 4), data) for place, data in held.items()]:
        await read.wait()
        assert read.data.data == data
    for place, data in held.items():
        index, at = place >> params.address_bits, place % (1 << params.address_bits)
        assert memories[index].read(at, 4) == data
    for place, write in zip(nowhere, lost, strict=False):
        await write.wait()
        read = await manager.read(place, 4)
        assert write.data.resp == read.resp == AxiResp.DECERR
        assert read.data == bytes(4)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def responses_come_from_the_addressed_subordinate(dut):
    """Nothing passes to another one, and a response that another one has ready waits."""
    bench = await Bench(dut).begin(after_anything=True)
    count, bits = bench.params.count, bench.params.address_bits
    names = [f"{bus}_{c}" for bus in ("i", *(f"o_{k}" for k in range(count))) for c in CHANNELS]
    ends = {name: getattr(bench, name) for name in names}
    reads, writes = ([random.randrange(count) for _ in range(60)] for _ in range(2))
    answers = {"r": [], "b": []}
    data = [{"data": random.getrandbits(32), "strb": random.getrandbits(4)} for _ in writes]
    for channel, accesses in (("r", reads), ("b", writes)):
        for k in accesses:
            answers[channel].append({"resp": random.randrange(4)})
            if channel == "r":
                answers[channel][-1]["data"] = random.getrandbits(32)
            ends[f"o_{k}_{channel}"].append(answers[channel][-1])
    requested = {"ar": reads, "aw": writes}
    for channel, accesses in requested.items():
        ends[f"i_{channel}"].extend([{"addr": k << bits | 4 * n} for n, k in enumerate(accesses)])
    ends["i_w"].extend(data)
    await bench.i_r.wait_for(len(reads))
    await bench.i_b.wait_for(len(writes))
    for channel, expected in answers.items():
        assert ends[f"i_{channel}"].beats == expected
    for k in range(count):
        for channel, accesses in requested.items():
            taken = [beat["addr"] for beat in ends[f"o_{k}_{channel}"].beats]
            assert taken == [4 * n for n, to in enumerate(accesses) if to == k]
        assert ends[f"o_{k}_w"].beats == [d for d, to in zip(data, writes, strict=True) if to == k]
    assert bench.i_w.cycles[0] == bench.i_aw.cycles[0] + 1 == bench.i_ar.cycles[0] + 1


@cocotb.test(timeout_time=10, timeout_unit="us")
async def no_access_is_taken_in_a_reset(dut):
    bench = await Bench(dut).begin()
    for name in ("i_arvalid", "i_awvalid", "o_0_arready", "o_0_awready"):
        getattr(dut, name).value = 1
    dut.rst.value = 1
    for _ in range(4):
        await bench.wait()
        assert not dut.i_arready.value | dut.i_awready.value
    dut.rst.value = 0
    await bench.wait()
    assert dut.i_arready.value & dut.i_awready.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_ready_waits_for_its_valid(dut):
    """What an idle manager drives as its address, which may be unknown, is not looked at."""
    bench = await Bench(dut).begin()
    for name in ("o_0_arready", "o_0_awready"):
        getattr(dut, name).value = 1
    await bench.wait()
    assert not dut.i_arready.value | dut.i_awready.value
