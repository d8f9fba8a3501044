"""Gathers rows on the simulated engine through its host package, as a program on a card would.

``python bench/run.py`` builds the Verilog and runs this, in a slot of the root complex of
cocotbext-pcie. Copy it for tests of your own.
"""

from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge
from gather_engine_host import BUILD, Device, GatherFailed, Request, Ring, Table, attach
from gather_engine_host.simulated_engine import SimulatedEngine

SEED = 1
ROWS, ROW_BYTES, STRIDE, COUNT = 500, 68, 72, 60
RING, IDXS, COMPLETIONS = 0, 0x1000, 0x3000
TABLE = Table(address=0x4000, rows=ROWS, row_bytes=ROW_BYTES, stride=STRIDE)
MEMORY_BYTES = 1 << 16
DESTINATIONS = (4, 0x4000)


@cocotb.test()
async def brings_each_row(dut: Any) -> None:
    """Gather on the RTL; compare device memory, or the rows of the stream, with the table."""
    device = SimulatedEngine(dut, BUILD, MEMORY_BYTES)
    await device.start()
    await bridge(program)(device)


def program(device: Device) -> None:
    """Do what a program does on a card, and then look at the rows, as no program on a card can."""
    rng = np.random.default_rng(SEED)
    table = rng.integers(0, 256, (ROWS, STRIDE), dtype=np.uint8)
    device.write_memory(TABLE.address, table.tobytes())
    idxs = rng.integers(0, ROWS, (len(DESTINATIONS), COUNT))
    idxs[:, COUNT // 2] = ROWS  # which is not in the table
    engine = attach(device)
    engine.clear_counters()
    requests = [
        Request(
            table=TABLE,
            idx_address=IDXS + 0x800 * k,
            count=engine.put_idxs(idxs[k], IDXS + 0x800 * k, 8),
            completion=COMPLETIONS + 16 * k,
            destination=place,
            idx_bytes=8,
            tag=k,
            streamed=not BUILD.fixed["to_memory"],
        )
        for k, place in enumerate(DESTINATIONS)
    ]
    if BUILD.fixed["descriptors"]:
        ring = Ring(engine, RING, len(requests))
        ring.open()
        ring.submit(*requests)
    else:
        for request in requests:
            engine.submit(request)
    expected = np.where((idxs < ROWS)[..., None], table[idxs % ROWS, :ROW_BYTES], 0)
    for request, which in zip(requests, idxs, strict=True):
        result = engine.wait(request, interrupt=request is requests[0])
        assert (result.cause, result.beyond, result.failed) == ("NONE", (which == ROWS).sum(), 0)
    counts = engine.counters()
    assert counts["work_requests"] == len(requests)
    assert counts["rows"] == idxs.size
    if BUILD.fixed["to_memory"]:
        assert all((engine.rows(r) == w).all() for r, w in zip(requests, expected, strict=True))
        before = device.read_card(0, DESTINATIONS[0])
        assert not any(before)  # no other byte is written
    else:
        assert b"".join(row for row, _ in device.packets) == expected.tobytes()
    stopped(engine, requests[0])
    print(f"all {idxs.size} rows are there; {counts['reads']} reads brought them")


def stopped(engine: Any, request: Request) -> None:
    """Stop a request that takes long, and see it told; another one is then as always."""
    engine.limit_reads(1)
    engine.submit(request)
    engine.stop()
    outcome = "DONE"
    try:
        engine.wait(request)
    except GatherFailed as failed:
        outcome = failed.completion.outcome
    assert outcome == "STOPPED"
    engine.submit(request)
    engine.wait(request)
