"""Silences models of buses, which log every access otherwise."""

from logging import WARNING, getLogger
from typing import Any


def quiet(dut: Any, bus: str) -> None:
    """Let the log of ``bus`` show only warnings and errors."""
    getLogger(f"cocotb.{dut._name}.{bus}").setLevel(WARNING)
