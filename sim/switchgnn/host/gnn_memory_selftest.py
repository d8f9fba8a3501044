"""Tests a card with a SwitchGNN switch whose tables are in the card's memory."""

from functools import partial
from typing import Any

from sim.host.selftest.checks import Check
from sim.host.selftest.memory_test import memory_checks
from sim.host.selftest.program import run_program
from sim.switchgnn.host.gnn_selftest import ABOUT, NAMES
from sim.switchgnn.host.gnn_selftest import checks_of as checks_of_gnn
from sim.switchgnn.host.gnn_switch import GnnSwitch


def checks_of(switch: GnnSwitch, size: int, mode: str) -> dict[str, Check]:
    """Return the checks of a switch's card by name; ``size`` bytes of its memory are tested."""
    device: Any = switch.device
    return memory_checks(device, size) | checks_of_gnn(switch, mode)


main = partial(
    run_program,
    f"{ABOUT}, write and read its memory by DMA, measure DMA",
    (*NAMES, "memory", "dma"),
    ("bytes", "loopback"),
    checks_of,
)
