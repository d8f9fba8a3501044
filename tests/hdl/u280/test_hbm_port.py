import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from hdl.u280.hbm_port import HbmPort, HbmPortParams
from sim.streams import STALLS, never
from sim.verilator import params_in_simulator, simulate
from tests.hdl.common.crossing.clocks import start
from tests.hdl.u280.axi_bench import master, memory

BASE_BITS = 20  #: the addresses of the core's in these tests
CHANNEL = 3 << BASE_BITS


def test_reads_and_writes():
    simulate(HbmPort(HbmPortParams(address_bits=BASE_BITS, writes=True)), __name__)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"address_bits": 34}, "address_bits must be from 16 to 33, all of HBM: 34"),
        ({"reads": False}, "a port reads, or writes, or both"),
    ],
)
def test_rejects(sizes, message):
    with pytest.raises(ValueError, match=message):
        HbmPortParams(**sizes)


def test_a_port_that_only_reads():
    port = HbmPort(HbmPortParams())
    assert {crossing.path.partition("/")[0] for crossing in port.crossings} == {"ar", "r"}
    assert not any(name.startswith(("aw", "w", "b")) for name in port.axi.signature.members)


def test_crossings_know_their_clocks():
    crossings = HbmPort(HbmPortParams(writes=True)).crossings
    ways = {c.path: (c.source, c.target) for c in crossings if c.constraint == "stream_crossing"}
    assert ways == {
        "ar": ("sync", "hbm"),
        "r": ("hbm", "sync"),
        "aw": ("sync", "hbm"),
        "w": ("sync", "hbm"),
        "b": ("hbm", "sync"),
    }


async def begin(dut, stalls=(never, never)):
    dut.base.value = CHANNEL
    core, hbm = await start(dut, sync=4000, hbm=2222)
    axi = master(core, "axi", stalls[0], max_burst_len=16)
    ram = memory(hbm, "hbm", stalls[1], 4 << BASE_BITS)
    await core.edges(20)
    return core, axi, ram


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def bursts_of_all_lengths_reach_their_channel(dut, stalls):
    _, axi, ram = await begin(dut, stalls.value)
    assert params_in_simulator().writes
    blocks = [(4096 * k, random.randbytes(32 * (k + 1))) for k in range(16)]
    random.shuffle(blocks)
    writes = [axi.init_write(address, block, awid=0) for address, block in blocks]
    for write in writes:
        await write.wait()
    for address, block in blocks:
        assert ram.read(CHANNEL + address, len(block)) == block
    reads = [axi.init_read(address, len(block), arid=0) for address, block in blocks]
    for (_, block), read in zip(blocks, reads, strict=True):
        await read.wait()
        assert bytes(read.data.data) == block


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_beat_every_cycle_of_the_core(dut):
    core, axi, ram = await begin(dut)
    ram.write(CHANNEL, random.randbytes(64 * 512))
    reads = [axi.init_read(512 * k, 512, arid=0) for k in range(64)]
    beats = []

    async def watch():
        while True:
            await RisingEdge(core.clk)
            if dut.axi_rvalid.value and dut.axi_rready.value:
                beats.append(get_sim_time("ps"))

    watching = cocotb.start_soon(watch())
    for read in reads:
        await read.wait()
    watching.cancel()
    assert len(beats) == 64 * 16
    # The model behind takes a few cycles of its own for every burst.
    cycles = (beats[-1] - beats[0]) / 4000 + 1
    assert cycles <= 1.05 * len(beats), cycles
