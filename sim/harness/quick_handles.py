"""Reads and writes signals with less work in Python than cocotb's own handles take.

A bench that reads a dozen signals a cycle spends more time in making :class:`Logic` and
:class:`LogicArray` than in all else, the design included. A bit is one of nine values, made once;
a number that fits is handed to the simulator without a detour. What is read is of cocotb's types,
and whatever is not plain goes cocotb's own way, with its errors.
"""

import gc
from functools import cache
from typing import Any

from cocotb import _gpi_triggers, handle
from cocotb.types import Logic, LogicArray, Range, _indexing

__all__ = ["install"]

BITS = {value: Logic(value) for value in "UX01ZWLH-"}
DEPOSIT = handle._GPISetAction.DEPOSIT.value
OWN: Any = handle.ValueObjectBase.value  #: cocotb's property
OWN_FIND = handle.HierarchyObject.__getattr__
WORD = 32  #: bits that the simulator takes as a number
READ_ONLY = type(_gpi_triggers.ReadOnly())

range_of = cache(lambda width: Range(width - 1, "downto", 0))


def install() -> None:
    """Use these for all signals of this simulation; a second time changes nothing.

    Garbage is looked for less often: what cocotb and a bench make each cycle has no circles.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    trusted = handle._trust_inertial  # as of Verilator; else writes would wait for their phase
    if trusted and not _indexing.do_indexing_changed_warning:
        handle.LogicObject.value = property(read_bit, write_bit)  # type: ignore[assignment]
        handle.HierarchyObject.__getattr__ = find  # type: ignore[method-assign]
        handle._LogicArrayObjectBase.value = property(read_bits, write_bits)  # type: ignore[assignment]


def find(scope: Any, name: str) -> Any:
    """Return a signal by its name, which from then on is an attribute of ``scope``."""
    result = OWN_FIND(scope, name)
    if not name.startswith("_"):
        scope.__dict__[name] = result
    return result


def read_bit(signal: Any) -> Logic:
    """Return the value of a signal of one bit."""
    return BITS[signal._handle.get_signal_val_binstr()]


def write_bit(signal: Any, value: Any) -> None:
    """Set a signal of one bit."""
    if value.__class__ in (bool, int) and value in (0, 1) and may_write():
        signal._handle.set_signal_val_int(DEPOSIT, int(value))
    else:
        OWN.fset(signal, value)


def read_bits(signal: Any) -> LogicArray:
    """Return the value of a signal of many bits."""
    text = signal._handle.get_signal_val_binstr()
    array = LogicArray.__new__(LogicArray)
    array._value_as_array = array._value_as_int = None
    array._value_as_str = text
    array._range = range_of(len(text))
    array._warn_indexing = False
    return array


def write_bits(signal: Any, value: Any) -> None:
    """Set a signal of many bits."""
    if value.__class__ is int and value >= 0 and may_write():
        width = len(signal)
        if not value >> width:
            if width <= WORD:
                signal._handle.set_signal_val_int(DEPOSIT, value)
            else:
                signal._handle.set_signal_val_binstr(DEPOSIT, f"{value:0{width}b}")
            return
    OWN.fset(signal, value)


def may_write() -> bool:
    """Return whether the simulator is in a phase in which it takes values."""
    return _gpi_triggers._current_gpi_trigger.__class__ is not READ_ONLY
