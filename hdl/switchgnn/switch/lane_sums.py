"""Keeps the upper lanes of all aggregators, in a die of their own."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import READ_CYCLES
from hdl.switchgnn.switch.sum_choice import chosen_sums
from hdl.switchgnn.switch.sum_memory import SumMemory


class LaneSums(Component):
    """Adds ``payload`` to sums of every bank as its ``commands`` say: a :class:`SumMemory` of each.

    ``number`` is that of the bank that was given a READ :attr:`ahead` cycles before;
    :attr:`latency` cycles later ``sums`` are what it read, from logic behind registers. Throughput:
    an addition a cycle in every bank, and the sums of one.
    """

    ahead = READ_CYCLES - 1
    latency = 2

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            {
                "commands": In(params.sum_command).array(params.banks),
                "payload": In(params.bank_sums),
                "number": In(params.bank_bits),
                "sums": Out(params.bank_sums),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        stored = []
        for k, command in enumerate(self.commands):
            m.submodules[f"bank_{k}"] = memory = SumMemory(self.params)
            m.d.comb += memory.payload.eq(self.payload)
            m.d.comb += [
                getattr(memory, name).eq(command[name]) for name in self.params.sum_command.members
            ]
            stored.append(memory.stored)
        # With resets, as shift registers of LUTs have none: every bit of a sum looks at them.
        number = delay(m, self.number, 1, "number", reset_less=False)
        bank = delay(m, number, 1, "bank", reset_less=False)
        m.d.comb += self.sums.as_value().eq(chosen_sums(m, stored, number, bank))
        return m
