"""Sends reads and responses of two nodes through the simulated switch, set up as on a card.

``python bench/run.py`` builds the Verilog and runs this. Copy it for tests of your own.
"""

from typing import Any

import cocotb
from cocotb.task import bridge
from netsparse_switch_host import BUILD, attach
from netsparse_switch_host.simulated_nodes import SimulatedNodes

ROW_BYTES = 8
FIRST, THEN = [130, 105, 144], [105, 199, 130]  #: idxs that node 0 asks node 1 for, in turn
SWITCH = 1_000_000  #: its number


@cocotb.test()
async def answers_what_it_has_seen(dut: Any) -> None:
    """Let node 0 ask node 1, behind an uplink, twice; what came the first time is answered here."""
    device = SimulatedNodes(dut, BUILD)
    await device.start()
    await bridge(program)(device)


def program(device: SimulatedNodes) -> None:
    """Set the switch up as a program does on a card, and be its nodes."""
    switch = attach(device)
    switch.set_routes({0: 0, 1: 1}, uplinks=[1])
    switch.set_addresses(SWITCH)
    switch.configure(ROW_BYTES if BUILD.fixed["pipes"] else 0)
    switch.clear_counters()
    requested = [gather(device, idxs) for idxs in (FIRST, THEN)]
    hits = sum(counts["cache_hit"] for counts in switch.pipe_counters().values())
    known = len({*FIRST} & {*THEN}) if BUILD.fixed["pipes"] else 0
    assert requested == [len(FIRST), len(THEN) - known]
    assert hits == known
    assert not switch.faults(), switch.faults()
    device.ask(0, 0, 2, FIRST, ROW_BYTES)  # there is no route to node 2
    assert [fault.name for fault in switch.faults()] == ["reads_no_route"]
    print(f"node 0 has all rows; the switch has answered {hits} of {len(FIRST) + len(THEN)} reads")


def gather(device: SimulatedNodes, idxs: list[int]) -> int:
    """Let node 0 ask for rows and node 1 answer; return how many reads came to node 1."""
    device.ask(0, 0, 1, idxs, ROW_BYTES)
    requested = device.answer(1, 1, row_of)
    assert device.rows(0) == {idx: row_of(idx) for idx in idxs}
    return requested


def row_of(idx: int) -> bytes:
    """Return the row of an idx."""
    return idx.to_bytes(4, "little") + (2 * idx).to_bytes(4, "little")
