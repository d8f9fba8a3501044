"""Stores the command of each pending entry."""

from amaranth.hdl import Module
from amaranth.lib import memory
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.rig.params import RigParams

#: Lists the readers of the table: for answers of the filter, and its sets; for PRs; for a response
#: when it comes, and a cycle later; for properties that were written.
READERS = ("looked", "set", "sent", "answered", "response", "written")


class SlotTable(Component):
    """Reads ``slot[k]``, the slot of the command that took the entry ``read[k]``, combinationally.

    ``write`` stores the slot of ``entry``; it can be read from the next cycle on.
    """

    def __init__(self, params: RigParams) -> None:
        super().__init__(
            params,
            write=In(params.of_slot),
            entry=In(params.entry_bits),
            read=In(params.entry_bits).array(len(READERS)),
            slot=Out(params.slot_bits).array(len(READERS)),
        )

    def build(self, m: Module) -> None:
        m.submodules.memory = slots = memory.Memory(
            shape=self.params.slot_bits,
            depth=self.params.pending_entries,
            init=[],
            attrs={"ram_style": "distributed"},
        )
        write = slots.write_port()
        m.d.comb += [
            write.addr.eq(self.entry),
            write.data.eq(self.write.slot),
            write.en.eq(self.write.valid),
        ]
        for entry, slot in zip(self.read, self.slot, strict=True):
            read = slots.read_port(domain="comb")
            m.d.comb += [read.addr.eq(entry), slot.eq(read.data)]
