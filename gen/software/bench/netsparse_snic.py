"""Gathers rows on the simulated SNIC through its host package, as a program on a card would.

``python bench/run.py`` builds the Verilog and runs this. Copy it for tests of your own.
"""

from importlib import import_module
from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge
from netsparse_snic_host import BUILD, Device, Table, attach
from netsparse_snic_host.simulated_snic import SimulatedSnic

SEED = 1
COLUMNS, OWN = 200, 100  #: rows of the cluster; node 0 owns the first of them, node 1 the rest
ROW_BYTES, COUNT, MEMORY_BYTES = 24, 60, 1 << 16
TABLE, IDX_ADDRESS, RINGS = Table(address=0x4000, row_bytes=ROW_BYTES), 0x1000, 0x8000
ROWS = np.random.default_rng(SEED).integers(0, 256, (COLUMNS, ROW_BYTES), dtype=np.uint8)


@cocotb.test()
async def brings_each_row_of_the_other_node(dut: Any) -> None:
    """Gather on the RTL; compare the table in host memory with the rows that node 1 has."""
    host = None
    if hasattr(dut, "rq_tvalid"):
        memory = import_module("netsparse_snic_host.host_memory").HostMemory
        host = memory(dut, ("rq", "rc"), MEMORY_BYTES)
    device = SimulatedSnic(dut, BUILD, 1, lambda idx: ROWS[idx].tobytes(), host)
    await device.start()
    await bridge(program)(device)


def program(device: Device) -> None:
    """Do what a program does on a card: nothing here knows that ``device`` is simulated."""
    idxs = np.random.default_rng(SEED).integers(0, COLUMNS, COUNT)
    snic = attach(device)
    snic.set_up(0, [0, OWN, COLUMNS], servers=[BUILD.fixed["units"] - 1])
    snic.gather(idxs[: COUNT // 2], TABLE, idx_address=IDX_ADDRESS)
    snic.use_rings(RINGS, places=2)
    snic.gather(idxs[COUNT // 2 :], TABLE, idx_address=IDX_ADDRESS)
    requested = np.isin(np.arange(COLUMNS), idxs[idxs >= OWN])
    result = snic.rows(np.arange(COLUMNS), TABLE)
    assert (result == np.where(requested[:, None], ROWS, 0)).all()  # and no other byte is written
    counts = snic.unit_counters(0)
    assert counts["consumed"] == COUNT
    assert counts["prs"] >= requested.sum()
    print(f"all {requested.sum()} rows of the other node are there; {counts['prs']} were asked for")
