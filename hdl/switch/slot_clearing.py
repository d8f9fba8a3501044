"""Clears slots in cycles without a packet, one slot in a cycle."""

from typing import Any

from amaranth.hdl import Module, Signal, Value

TURNS = 4  #: under full load one cycle in so many is taken for clearing


def clear_slots(
    m: Module, control: Any, *, begin: Value, clearing: Value, base: Value, end: Value, ports: Value
) -> Value:
    """Clear the slots from ``base`` to before ``end``, one by one; return whether all are cleared.

    ``control`` is the component that has ``waiting``, ``hold``, ``clear``, ``slot`` and ``ports``.
    ``begin`` is high in the cycle before ``clearing``; ``base``, ``end`` and ``ports`` must be
    stable while ``clearing`` is high.
    """
    at = Signal(17)
    behind = Signal(17)
    turn = Signal(range(TURNS))
    m.d.comb += behind.eq((at + 1)[:17])
    m.d.comb += control.hold.eq(clearing & (~control.waiting | (turn == TURNS - 1)))
    m.d.sync += [
        control.clear.eq(control.hold),
        control.slot.eq(at[: len(control.slot)]),
        control.ports.eq(ports[: len(control.ports)]),
    ]
    with m.If(control.hold):
        m.d.sync += [turn.eq(0), at.eq(behind)]
    with m.Else():
        m.d.sync += turn.eq(turn + 1)
    with m.If(begin):
        m.d.sync += [at.eq(base), turn.eq(0)]
    return control.hold & (behind == end)
