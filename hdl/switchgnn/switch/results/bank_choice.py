"""Chooses the bank from which a port's list is read, if the port is chosen."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.round_robin import first_of
from hdl.switchgnn.switch.results.read_schedule_params import ReadScheduleParams


def next_turn(turn: Signal, from_turn: Signal) -> list[Any]:
    """Return statements that move ``turn``, one-hot, to the next bit.

    ``from_turn`` has the bits from there to the highest, which have priority.
    """
    all_from = turn[-1].replicate(len(turn))  # wraps to bit 0
    return [
        turn.eq(turn.rotate_left(1)),
        from_turn.eq((from_turn << 1)[: len(turn)] | all_from),
    ]


class BankChoice(Component):
    """Chooses one of a port's lists in every cycle, among banks that are free for a READ.

    A cycle after ``ready`` and ``holes``, ``has`` says that a list is ready, and ``demands`` that
    one of them is in a bank with a hole. If the port is then chosen, ``chosen`` is high in the next
    cycle, in which ``bank`` has the bit of the bank that is read; without ``chosen``, ``bank`` is
    undefined. A list that was read counts as not ready in that cycle and ``params.settling`` - 1
    more.

    Fairness: the banks have the turn in cyclic order; a bank has it until its list was read or is
    not ready. Lists of other banks may be read before it, but at most ``params.passes`` times; then
    the port waits for a hole of the bank that has the turn.
    """

    def __init__(self, params: ReadScheduleParams) -> None:
        super().__init__(
            params,
            ready=In(params.banks),
            holes=In(params.banks),
            chosen=In(1),
            has=Out(1),
            demands=Out(1),
            bank=Out(params.banks),
        )

    def build(self, m: Module) -> None:
        banks = self.params.banks
        choice = Signal(banks, reset_less=True)
        read = Mux(self.chosen, self.bank, 0)
        settling = masked = read
        for k in range(self.params.settling - 1):
            settling = delay(m, settling, 1, f"read_{k}", reset_less=False)
            masked |= settling
        listed = Signal(banks)
        free = Signal(banks)
        turn = Signal(banks, init=1)
        from_turn = Signal(banks, init=(1 << banks) - 1)  # bank with the turn, and those above
        strict = Signal()  # only the bank that has the turn may be read
        m.d.comb += [
            listed.eq(self.ready & ~masked),
            free.eq(listed & self.holes & (turn | ~strict.replicate(banks))),
        ]
        m.d.sync += [
            choice.eq(first_of(free & from_turn, free)),
            self.bank.eq(choice),
            self.has.eq(listed.any()),
            self.demands.eq(free.any()),
        ]
        self.take_turns(m, (listed & turn).any(), turn, from_turn, strict)

    def take_turns(
        self, m: Module, waits: Value, turn: Signal, from_turn: Signal, strict: Signal
    ) -> None:
        """Pass the turn to the next bank, unless the list of the current one ``waits``."""
        passes = self.params.passes
        passed = Signal(bits_for(passes))
        with m.If(~waits):
            m.d.sync += [
                *next_turn(turn, from_turn),
                passed.eq(0),
                strict.eq(0),
            ]
        with m.Elif(self.chosen & ~strict):
            m.d.sync += [passed.eq(passed + 1), strict.eq(passed == passes - 1)]
