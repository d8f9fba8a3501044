"""Keeps the upper lanes of all aggregators, in another die."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.switchgnn.switch.banks.sum_choice import chosen_sums
from hdl.switchgnn.switch.banks.sum_memory import SumMemory
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import READ_CYCLES


class LaneSums(Component):
    """Adds ``payload`` to the sums of each bank by its ``commands``, in a :class:`SumMemory` each.

    ``number`` is the number of the bank that had a READ :attr:`ahead` cycles before;
    :attr:`latency` cycles later ``sums`` are the sums that it read, from logic after registers.
    Throughput: an addition a cycle in every bank, and the sums of one.
    """

    ahead = READ_CYCLES - 1
    latency = 2

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            commands=In(params.sum_command).array(params.banks),
            payload=In(params.bank_sums),
            number=In(params.bank_bits),
            sums=Out(params.bank_sums),
        )

    def build(self, m: Module) -> None:
        stored = []
        for k, command in enumerate(self.commands):
            m.submodules[f"bank_{k}"] = memory = SumMemory(self.params)
            m.d.comb += memory.payload.eq(self.payload)
            m.d.comb += [
                getattr(memory, name).eq(command[name]) for name in self.params.sum_command.members
            ]
            stored.append(memory.stored)
        # These have resets, so that they are no LUT shift registers: each has a load in every bit
        # of a sum.
        number = delay(m, self.number, 1, "number", reset_less=False)
        bank = delay(m, number, 1, "bank", reset_less=False)
        m.d.comb += self.sums.as_value().eq(chosen_sums(m, stored, number, bank))
