import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from gen.base.emission.emit import emit
from gen.synth.limits import most_levels
from gen.synth.synthesis import synthesise
from hdl.common.axi import Burst
from hdl.u280.clock_ip import HBM_MHZ
from hdl.u280.hbm_ip import BYTES_SIZE
from hdl.u280.hbm_port import HbmPort, HbmPortParams
from sim.harness.cache import cached_folder
from sim.harness.streams import STALLS, mostly, never, often
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.crossing.clocks import start
from tests.hdl.u280.axi_bench import give, master, memory, take
from tests.rejects import rejects

BASE_BITS = 20  #: the addresses of the core's in these tests
CHANNEL = 3 << BASE_BITS


@pytest.mark.parametrize("lines", [False, True])
def test_reads_and_writes(lines):
    params = HbmPortParams(address_bits=BASE_BITS, writes=True, lines=lines)
    item = "bursts_of_all_lengths|a_beat_every_cycle" if lines else None
    simulate(HbmPort(params), __name__, test_filter=item)


test_rejects = rejects(HbmPortParams, ({"reads": False}, "a port needs reads, writes or both"))


def test_a_port_that_only_reads():
    port = HbmPort(HbmPortParams())
    assert {crossing.path.partition("/")[0] for crossing in port.crossings} == {"ar", "r"}
    assert not any(name.startswith(("aw", "w", "b")) for name in port.axi.signature.members)


def test_crossings_know_their_clocks():
    crossings = HbmPort(HbmPortParams(writes=True)).crossings
    ways = {c.path: (c.source, c.target) for c in crossings if c.constraint == "async_fifo"}
    assert ways == {
        "ar": ("sync", "hbm"),
        "r": ("hbm", "sync"),
        "aw": ("sync", "hbm"),
        "w": ("sync", "hbm"),
        "b": ("hbm", "sync"),
    }


def test_paths_have_time_at_the_clock_of_hbm():
    port = HbmPort(HbmPortParams(lines=True))
    (clock,) = [c for c in synthesise(emit(port), cached_folder).clocks if c.name == "hbm"]
    assert 0 < clock.depth.most_levels <= most_levels(HBM_MHZ), clock.path


async def begin(dut, stalls=(never, never)):
    dut.base.value = CHANNEL
    core, hbm = await start(dut, sync=4000, hbm=2222)
    most = 8 if params_in_simulator().lines else 16
    axi = master(core, "axi", stalls[0], max_burst_len=most)
    ram = memory(hbm, "hbm", stalls[1], 4 << BASE_BITS)
    await core.edges(20)
    return core, axi, ram


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def bursts_of_all_lengths_reach_their_channel(dut, stalls):
    """They change nothing else there."""
    _, axi, ram = await begin(dut, stalls.value)
    assert params_in_simulator().writes
    # Odd ones begin on 4 KiB, even ones end there; of the others, strobes tell each byte of a beat.
    lines = params_in_simulator().lines
    sizes = [64 * (k // 2 + 1) if lines else 32 * (k + 1) for k in range(16)]
    blocks = [
        (4096 * k if k % 2 else 4096 * (k + 1) - size, random.randbytes(size))
        for k, size in enumerate(sizes)
    ]
    if not lines:  # which are whole and begin at multiples of 64
        blocks.append((4096 * 20 + 7, random.randbytes(50)))
        blocks += [(4096 * 21 + 33 * k, random.randbytes(1)) for k in range(32)]
    random.shuffle(blocks)
    memory = bytearray(random.randbytes(4096 * 22))
    ram.write(CHANNEL, bytes(memory))
    writes = [axi.init_write(address, block, awid=0) for address, block in blocks]
    for write in writes:
        await write.wait()
    for address, block in blocks:
        memory[address : address + len(block)] = block
    assert ram.read(CHANNEL, len(memory)) == memory
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
    assert len(beats) == 64 * (8 if params_in_simulator().lines else 16)
    cycles = (beats[-1] - beats[0]) / 4000 + 1
    if params_in_simulator().lines:  # HBM has 14.4 GB/s for the 16 that the core could take
        assert cycles <= 1.15 * len(beats) * 250 / 225, cycles
    else:  # The model behind takes a few cycles of its own for every burst.
        assert cycles <= 1.05 * len(beats), cycles


@cocotb.test(timeout_time=50, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def every_kind_of_answer_comes_back(dut, stalls):
    core, hbm = await start(dut, sync=4000, hbm=2222)
    source, sink = stalls.value
    names = {"r": ("data", "resp", "last"), "b": ("resp",)}
    result = {channel: [] for channel in names}
    for channel, fields in names.items():
        cocotb.start_soon(take(core, f"axi_{channel}", fields, sink, result[channel]))
    beats = [(random.getrandbits(256), k % 4, random.getrandbits(1)) for k in range(60)]
    await hbm.edges(20)

    async def answer(channel, values):
        for value in values:
            await give(hbm, f"hbm_{channel}", **dict(zip(names[channel], value, strict=True)))
            while source():
                await hbm.edges()

    answers = cocotb.start_soon(answer("b", [beat[1:2] for beat in beats]))
    await answer("r", beats)
    await answers
    for _ in range(1000):  # a sink that stalls takes long for what waits
        if all(len(result[channel]) >= len(beats) for channel in names):
            break
        await core.edges()
    await core.edges(60)
    assert result["r"] == beats
    assert result["b"] == [beat[1:2] for beat in beats]


@cocotb.test(timeout_time=50, timeout_unit="us")
async def bursts_wait_for_a_busy_memory(dut):
    """More come than queues hold, then as fast as they can. Any bit of an address counts."""
    core, hbm = await start(dut, sync=4000, hbm=2222)
    await core.edges(20)

    async def issue(channel, base, bursts):
        for address in (0, *(random.getrandbits(BASE_BITS) for _ in range(80))):
            length = random.getrandbits(4)
            kind = {"size": BYTES_SIZE, "burst": Burst.INCR.value}
            await give(core, f"axi_{channel}", addr=address, len=length, **kind)
            bursts.append((base + address, length))

    highest = 1 << len(dut.base) - 1
    for stall, base in ((mostly, CHANNEL), (often, 0), (never, highest)):
        dut.base.value = base
        await core.edges(4)
        result, provided, tasks = {"ar": [], "aw": []}, {"ar": [], "aw": []}, []
        for channel, beats in result.items():
            tasks.append(
                cocotb.start_soon(take(hbm, f"hbm_{channel}", ["addr", "len"], stall, beats))
            )
        requesting = [
            cocotb.start_soon(issue(channel, base, bursts)) for channel, bursts in provided.items()
        ]
        for task in requesting:
            await task
        await core.edges(200)
        assert result == provided
        for task in tasks:
            task.cancel()
