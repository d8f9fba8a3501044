"""Measures rates of a read master on a memory with the latency of HBM."""

import cocotb
import numpy as np
import pytest
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.params import Params
from hdl.common.read_master import ReadMaster
from hdl.common.read_plan import ReadMasterParams
from sim.harness.payloads import pack
from sim.harness.streams import Sink, Source, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.axi_ram import RAM_ARRAY, AxiRam, AxiRamParams, ram_file
from tests.hdl.common.read_bench import beats_of, make_plan

BEATS = 1 << 13
LATENCY = 128  #: of HBM, in cycles
BURSTS = 64  #: that it takes ahead
BEAT_LATENCY = ReadMaster(ReadMasterParams(address_bits=28)).beat_latency
AROUND = 10  #: cycles that a beat spends in the reader itself, at most


class ReadPathParams(Params, suffix="{reader.suffix}"):
    reader: ReadMasterParams

    @property
    def memory(self):
        return AxiRamParams(
            address_bits=self.reader.address_bits,
            data_bits=self.reader.data_bits,
            read_only=True,
            bursts=BURSTS,
        )


class ReadPath(Component):
    """Connects a read master to a memory."""

    def __init__(self, params):
        super().__init__(
            params,
            plan=In(stream.Signature(params.reader.plan)),
            o=Out(stream.Signature(params.reader.data_bits)),
            settings=In(params.memory.settings),
            missing=Out(32),
        )

    def build(self, m):
        m.submodules.reader = reader = ReadMaster(self.params.reader)
        m.submodules.memory = memory = AxiRam(self.params.memory)
        connect(m, flipped(self.plan), reader.plan)
        connect(m, reader.o, flipped(self.o))
        connect(m, reader.axi, memory.axi)
        m.d.comb += [memory.settings.eq(self.settings), self.missing.eq(memory.missing)]


@pytest.mark.parametrize("prefetch", [128, 256])
def test_read_throughput(prefetch, tmp_path, rng):
    path = tmp_path / "memory.bin"
    path.write_bytes(rng.bytes(BEATS * 32))
    params = ReadPathParams(reader=ReadMasterParams(address_bits=28, prefetch_beats=prefetch))
    simulate(
        ReadPath(params),
        __name__,
        extra_sources=[RAM_ARRAY],
        plusargs=[ram_file(0, path)],
    )


async def read(dut, plan, **settings):
    """Return the cycles in which beats came, and the cycle in which the plan was taken."""
    params = params_in_simulator(ReadPathParams)
    dut.settings.value = pack(params.memory.settings, {"read_latency": LATENCY} | settings)
    await start(dut)
    sink, source = Sink(dut, "o"), Source(dut, "plan")
    await source.send_all([plan])
    indices = list(beats_of(plan, 32))
    await sink.wait_for(len(indices))
    words = np.fromfile(cocotb.plusargs["ram_0"], dtype=np.uint8).reshape(-1, 32)
    assert sink.beats == [int.from_bytes(words[index].tobytes(), "little") for index in indices]
    assert int(dut.missing.value) == 0
    return source.cycles[0], sink.cycles


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(
    latency=[20, LATENCY],
    shape=[
        {"beats": 4096},
        {"beats": 4096, "first": 5},
        {"beats": 16, "stride": 32, "runs": 128, "epochs": 2},
        {"beats": 4, "stride": 8, "runs": 512, "epochs": 2},
        {"beats": 2, "stride": 3, "runs": 1024, "epochs": 2},
        {"beats": 1, "stride": 5, "runs": 1024, "epochs": 2},
        {"beats": 3, "stride": 3, "runs": 1024, "epochs": 2, "first": 1},
    ],
)
async def reads_a_beat_every_cycle(dut, latency, shape):
    """It does as long as buffer and queue cover the memory's latency."""
    params = params_in_simulator(ReadPathParams)
    shape = {"first": 0} | shape
    taken, cycles = await read(dut, make_plan(32, **shape), read_latency=latency)
    assert cycles[0] == taken + ReadMaster.plan_latency + latency + BEAT_LATENCY
    spent = cycles[-1] - cycles[0] + 1
    rate = len(cycles) / spent
    cocotb.log.info("latency %d, %s: %.3f beats a cycle", latency, shape, rate)
    covered = min(params.reader.prefetch_beats - params.reader.burst_beats, BURSTS * shape["beats"])
    if covered > latency + AROUND:
        assert spent == len(cycles)
    else:
        assert rate < 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_memory_s_stalls_are_all_that_is_lost(dut):
    """If one of four beats stalls, the buffer keeps the rest of the bandwidth."""
    _, cycles = await read(dut, make_plan(32, 0, 4096), r_stall=64, seed=3)
    rate = len(cycles) / (cycles[-1] - cycles[0] + 1)
    cocotb.log.info("one cycle in four stalled: %.3f beats a cycle", rate)
    if params_in_simulator(ReadPathParams).reader.prefetch_beats >= 256:
        assert abs(rate - 0.75) < 0.03
