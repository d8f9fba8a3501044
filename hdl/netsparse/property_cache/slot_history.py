"""Keeps the preceding slots, and compares their rows and tags with those of a slot."""

from amaranth.hdl import Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.netsparse.property_cache.params import REACH, Operation, PropertyCacheParams


class SlotHistory(Component):
    """Keeps past slots: ``past[k]`` is the slot of k + 1 cycles ago.

    :attr:`latency` cycles after a slot, bit k of ``same_row`` says that the slot k + 1 cycles
    before it was a lookup or an insert in the same row, and bit k of ``same_line`` that it had the
    same tag as well.
    """

    latency = 1

    def __init__(self, params: PropertyCacheParams) -> None:
        super().__init__(
            params,
            slot=In(params.slot),
            past=Out(data.ArrayLayout(params.slot, REACH)),
            same_row=Out(REACH),
            same_line=Out(REACH),
        )

    def build(self, m: Module) -> None:
        operation, row, tag = self.slot.operation, self.slot.row, self.slot.tag
        for k in range(REACH):
            operation = delay(m, operation, 1, f"operation_{k}", reset_less=False)
            row = delay(m, row, 1, f"row_{k}")
            tag = delay(m, tag, 1, f"tag_{k}")
            past = self.past[k]
            m.d.comb += [past.operation.eq(operation), past.row.eq(row), past.tag.eq(tag)]
            access = (operation == Operation.LOOKUP) | (operation == Operation.INSERT)
            same = access & (row == self.slot.row)
            m.d.sync += [
                self.same_row[k].eq(same),
                self.same_line[k].eq(same & (tag == self.slot.tag)),
            ]
