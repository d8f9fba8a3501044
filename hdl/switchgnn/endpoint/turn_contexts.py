"""Stores the records of the turns that are open or come next."""

from amaranth.hdl import Module
from amaranth.lib import memory
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switchgnn.endpoint.bundles import SLOT_BITS, SLOTS
from hdl.switchgnn.endpoint.params import EndpointParams

READERS = 3  #: the sender, the writer of sums, the lookup of sources


class TurnContexts(Component):
    """Reads ``contexts[k]`` of slot ``slots[k]`` in the same cycle; ``write`` replaces a context.

    A slot is a turn's number modulo the slots.
    """

    latency = 0

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            write=In(1),
            slot=In(SLOT_BITS),
            context=In(params.context),
            slots=In(SLOT_BITS).array(READERS),
            contexts=Out(params.context).array(READERS),
        )

    def build(self, m: Module) -> None:
        bits = self.params.context.size
        m.submodules.stored = stored = memory.Memory(
            shape=bits, depth=SLOTS, init=[], attrs={"ram_style": "distributed"}
        )
        write = stored.write_port()
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(self.slot),
            write.data.eq(self.context),
        ]
        for slot, context in zip(self.slots, self.contexts, strict=True):
            read = stored.read_port(domain="comb")
            m.d.comb += [read.addr.eq(slot), context.eq(read.data)]
