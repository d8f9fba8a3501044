"""Silences models of buses, which would show every access."""

from logging import WARNING, getLogger
from typing import Any


def quiet(dut: Any, bus: str) -> None:
    """Show of the log of ``bus`` only warnings and errors."""
    getLogger(f"cocotb.{dut._name}.{bus}").setLevel(WARNING)
