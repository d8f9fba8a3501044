import random

import cocotb
from cocotbext.axi import AxiMasterRead, AxiRamRead, AxiReadBus

from hdl.common.axi_read_arbiter import AxiReadArbiter, AxiReadArbiterParams
from sim.harness.streams import STALLS, Stalls, cycle, start
from sim.harness.verilator import params_in_simulator
from tests.simulated import simulated

SIZES = [AxiReadArbiterParams(address_bits=16), AxiReadArbiterParams(masters=3, address_bits=18)]

test_axi_read_arbiter = simulated(AxiReadArbiter, SIZES, __name__)


def attached(model, dut, prefix, stall, **options):
    """Return a model of cocotbext-axi on a bus, whose channels pause when ``stall`` says so."""
    built = model(AxiReadBus.from_prefix(dut, prefix), dut.clk, dut.rst, **options)
    built.log.setLevel("WARNING")
    for name in ("ar", "r"):
        getattr(built, f"{name}_channel").set_pause_generator(iter(stall, None))
    return built


async def begin(dut, stalls):
    """Return the masters, and what the memory behind them has."""
    params = params_in_simulator(AxiReadArbiterParams)
    await start(dut)
    size = 1 << params.address_bits
    data = random.randbytes(size)
    attached(AxiRamRead, dut, "o", stalls[1], size=size).write(0, data)
    masters = range(params.masters)
    return [attached(AxiMasterRead, dut, f"i_{k}", stalls[0]) for k in masters], data


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def every_master_reads_what_it_requested(dut, stalls):
    masters, data = await begin(dut, stalls.value)
    reads = []
    for _ in range(60):
        beats = random.randint(1, 16)
        address = 4096 * random.randrange(len(data) // 4096) + 32 * random.randrange(16)
        axi = random.choice(masters)
        reads.append((address, 32 * beats, axi.init_read(address, 32 * beats, arid=0)))
    for address, length, read in reads:
        await read.wait()
        assert bytes(read.data.data) == data[address : address + length]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_burst_goes_to_memory_in_time(dut):
    """Two masters take turns, and a burst is not held for longer than the arbiter takes."""
    masters, _ = await begin(dut, Stalls.NONE.value)
    for axi in masters:
        first = cycle()
        await axi.read(0, 32, arid=0)
        dut._log.info("a beat came after %d cycles", cycle() - first)
        assert cycle() - first <= AxiReadArbiter.latency + 12
