"""Counts classes, whose activations follow each other in the streams of a worker."""

from amaranth.hdl import Module, Mux, Signal, Value


def class_turn(m: Module, classes: int, step: Value, name: str) -> Signal:
    """Return the class of the next beat, a register called ``name``; ``step`` goes on to the next.

    The class after the last one is the first, of the next micro-batch.
    """
    turn = Signal(range(classes), name=name)
    with m.If(step):
        m.d.sync += turn.eq(Mux(turn == classes - 1, 0, turn + 1))
    return turn
