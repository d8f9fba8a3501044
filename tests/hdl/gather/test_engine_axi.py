"""Gathers rows by an engine whose host is behind AXI, and stops it in the midst of it."""

from dataclasses import replace

import cocotb
import numpy as np
from cocotb.task import bridge

from gen.base.registers.python_driver import driver_of
from hdl.gather.engine import GatherEngine
from hdl.gather.engine_params import GatherEngineParams
from hdl.gather.params import ReadOrder
from sim.gather.engine_side import engine_side
from sim.gather.host.gather_engine import GatherFailed
from sim.gather.host.request import Request, Table
from sim.harness.verilator import params_in_simulator
from sim.host.memory_port import memory_behind
from sim.host.simulated import SimulatedRegisters
from tests.simulated import simulated

OUTLIVES_RESET = "the host's software runs in a thread, which goes on when its test is cancelled"
TINY = GatherEngineParams(
    data_bits=256, tags=4, max_read=128, idx_bits=20, address_bits=20, idx_chunks=2, host_bus="axi"
)
SIZES = [TINY, replace(TINY, data_bits=512, tags=16, max_read=512, descriptors=2)]
ROWS, PLACE, IDXS, COMPLETIONS = 300, 0x10004, 0x400, 0x100

test_engine_axi = simulated(GatherEngine, SIZES, __name__, short=SIZES[1:])


class Card(SimulatedRegisters):
    """Has the memories of host and card beside the registers."""

    def __init__(self, dut):
        super().__init__(dut)
        host = memory_behind(dut, "m_axi_host")
        self.read_memory, self.write_memory = host.read, host.write
        self.read_card = memory_behind(dut, "m_axi_device").read


async def begin(dut):
    """Return what drives an engine, a generator of numbers, and a table of rows."""
    card, side = Card(dut), engine_side(params_in_simulator())
    await card.start()
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    engine = await bridge(side.program)(card, driver_of(side.map, card))
    return engine, rng, rng.integers(0, 256, (ROWS, 1024), np.uint8)


def request_of(engine, rng, content, count, order):
    """Write the table and idxs of a request; return it, and the rows that it must bring."""
    size, gap = 4 * int(rng.integers(1, 64)), 4 * int(rng.integers(0, 8))
    place = PLACE + 4 * int(rng.integers(0, 16))
    table = Table(address=place, rows=ROWS, row_bytes=size, stride=size + gap)
    engine.device.write_memory(place, content[:, : size + gap].tobytes())
    idxs = rng.integers(0, ROWS + 9, count)
    at = IDXS + 4 * int(rng.integers(0, 64))
    request = Request(
        table=table,
        idx_address=at,
        count=engine.put_idxs(idxs, at),
        completion=COMPLETIONS + 16 * int(rng.integers(0, 8)),
        destination=4 * int(rng.integers(0, 999)),
        order=order.name,
        tag=int(rng.integers(0, 1 << 16)),
    )
    return request, np.where((idxs < ROWS)[:, None], content[idxs % ROWS, :size], 0)


def gather(engine, rng, content):
    """Gather in each order, and compare every byte."""
    for order in ReadOrder:
        request, rows = request_of(engine, rng, content, int(rng.integers(1, 200)), order)
        engine.submit(request)
        assert engine.wait(request).beyond == (~rows.any(axis=1)).sum()
        assert (engine.rows(request) == rows).all()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def every_byte_of_each_order_comes(dut):
    engine, rng, content = await begin(dut)
    await bridge(gather)(engine, rng, content + (content == 0))
    assert not dut.busy.value


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_stop_leaves_nothing_behind(dut):
    engine, rng, content = await begin(dut)
    outcomes = set()

    def stopped():
        for pauses in range(8):
            request, _ = request_of(engine, rng, content, 400, ReadOrder.MERGED)
            engine.submit(request)
            for _ in range(pauses):
                engine.device.pause()
            engine.stop()
            try:
                engine.wait(request)
            except GatherFailed as failed:
                outcomes.add(failed.completion.outcome)
            gather(engine, rng, content + (content == 0))

    await bridge(stopped)()
    assert outcomes == {"STOPPED"}
