"""Draws random numbers inside a simulated design."""

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike

from hdl.common.arithmetic import low_bits

SHIFTS = {32: (13, -17, 5), 64: (13, -7, 17)}  #: left, right, left


def random_bits(m: Module, start: ValueLike, *, bits: int = 32, name: str = "chance") -> Signal:
    """Return a random number every cycle (xorshift of Marsaglia, 2003).

    It begins with ``start``, which must not be zero, in the first cycle after reset in which it
    is read as such: a seed that arrives with the reset's end counts.
    """
    state = Signal(bits, name=name)
    step: Value = state
    for number, shift in enumerate(SHIFTS[bits]):
        moved = step << shift if shift > 0 else step >> -shift
        folded = Signal(bits, name=f"{name}_{number}")
        m.d.comb += folded.eq((step ^ moved)[:bits])
        step = folded
    m.d.sync += state.eq(Mux(state == 0, low_bits(start, bits), step))
    return state
