"""Cuts a simulated system into parts, each in a process of its own, and lets them meet.

What goes over a wire is exchanged by the simulators themselves (``exchange.cpp``), a record a
cycle, once in an epoch; so the part at its other end sees it an epoch and a cycle later.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Signal, Value, ValueLike

from sim.harness.host import EXCHANGE

MODULE = Path(__file__).with_name("exchange.sv")  #: Verilog that simulations of parts need
FUNCTIONS = Path(__file__).with_name("exchange.cpp")  #: C++ of what it imports
WORD_BITS = 32


def epoch_of(delay: int) -> int:
    """Return the cycles that parts run without each other where wires take ``delay`` cycles."""
    return max(1, delay - 1)


def add_exchange(
    m: Module,
    channel: ValueLike,
    sent: tuple[ValueLike, ValueLike, ValueLike],
    come: tuple[ValueLike, ValueLike],
) -> None:
    """Add an end of cut wires, which is number ``channel`` of the part.

    ``sent`` and ``come`` are flags, at most 7, and a payload; ``sent`` also says if it has one.
    """
    flags, payload, carries = map(Value.cast, sent)
    words = -(-len(payload) // WORD_BITS)
    flags_come, payload_come = Signal(7), Signal(WORD_BITS * words)
    m.submodules.exchange = Instance(
        "exchange",
        p_WORDS=words,
        i_clk=ClockSignal(),
        i_channel=channel,
        i_carries=carries,
        i_flags=Cat(flags, Const(0, 7 - len(flags))),
        i_payload=Cat(payload, Const(0, WORD_BITS * words - len(payload))),
        o_carries_come=Signal(),
        o_flags_come=flags_come,
        o_payload_come=payload_come,
    )
    for target, source in zip(map(Value.cast, come), (flags_come, payload_come), strict=True):
        m.d.comb += target.eq(source[: len(target)])


class Barrier:
    """Lets all parts of a system go on in the same cycle; used inside the simulator.

    That cycle depends only on when the last of them came, and is the same if the system is not cut:
    ``delay`` is that of the wires between parts, ``distance`` the most wires between two of them.
    """

    def __init__(self, delay: int, distance: int) -> None:
        self.epoch, self.distance = epoch_of(delay), distance

    async def meet(self, dut: Any, *, says: int = 0, last: bool = False) -> int:
        """Wait until all parts have come; this one has come now, and says up to 7 bits.

        Returns every bit that a part has said. Behind the ``last`` barrier parts no longer hear of
        each other.
        """
        from cocotb.triggers import ClockCycles

        from sim.harness.clock import cycle

        cut, arrived = EXCHANGE in os.environ, cycle()
        if cut:
            functions().ingather_arrive(arrived, says)
            while not (arrived := functions().ingather_arrived()):
                await ClockCycles(dut.clk, self.epoch)
        # A message takes an epoch for each wire; one more is there for a part that looks only then.
        end = (arrived // self.epoch + self.distance + 2) * self.epoch
        if end > cycle():
            await ClockCycles(dut.clk, end - cycle())
        if cut:
            says = functions().ingather_said()
            functions().ingather_pass(int(last))
        return says


@contextmanager
def waiting_elsewhere() -> Iterator[None]:
    """Let other parts work while this one waits for something that is not simulated."""
    cut = EXCHANGE in os.environ
    if cut:
        functions().ingather_work(0)
    yield
    if cut:
        functions().ingather_work(1)


@cache
def functions() -> Any:
    """Return the functions of ``exchange.cpp`` in this simulator."""
    library = ctypes.CDLL(None)
    library.ingather_arrive.argtypes = [ctypes.c_uint64, ctypes.c_int]
    library.ingather_arrived.restype = ctypes.c_uint64
    return library
