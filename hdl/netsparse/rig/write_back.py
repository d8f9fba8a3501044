"""Writes properties to host memory, then sets their bits in the idx filter: the write-back DMA."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.netsparse.protocol import LENGTH_BITS
from hdl.netsparse.rig.params import RigParams
from hdl.netsparse.rig.property_address import PropertyAddressParams
from hdl.netsparse.rig.response_match import PROPERTY_BEAT


class WriteBack(Component):
    """Writes a property to its address; when host memory has it, emits ``sets``.

    ``result`` has an address and an entry for each property, in the order of their ``beats``.
    ``done`` comes once for each property written, in order, with ``write_failed`` if host memory
    refused it: then the event ``failed`` comes, and no set. So the bit of an idx is set only after
    its property can be read (NetSparse, section 5.2). With ``discard`` no set is emitted, either:
    properties that are done are dropped.

    Throughput: a beat a cycle. Latency: none to ``writes``; :attr:`set_latency` from ``done`` to
    ``sets``. Stalls: holds; there is room for all pending entries. ``busy``: a write is under way
    or a set waits. ``failed_entry`` is valid with ``failed``.
    """

    def __init__(self, params: RigParams) -> None:
        depth = max(2, params.pending_entries)
        self.written = FifoParams(shape=params.pending, depth=depth)
        self.outcomes = FifoParams(shape=1, depth=depth)
        self.set_latency = self.outcomes.latency
        result = PropertyAddressParams(
            idx_bits=params.idx_bits, address_bits=params.address_bits, tag_bits=params.pending.size
        ).result
        super().__init__(
            params,
            result=In(stream.Signature(result)),
            beats=In(stream.Signature(PROPERTY_BEAT)),
            bytes=In(LENGTH_BITS),
            writes=Out(stream.Signature(params.host_write)),
            done=In(1),
            write_failed=In(1),
            discard=In(1),
            sets=Out(stream.Signature(params.pending)),
            failed=Out(1),
            failed_entry=Out(params.entry_bits),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.written = written = Fifo(self.written)
        m.submodules.outcomes = outcomes = Fifo(self.outcomes)
        ends = Signal()
        taken = Signal()
        m.d.comb += [
            self.writes.valid.eq(self.result.valid & self.beats.valid),
            self.writes.payload.address.eq(self.result.payload.address),
            self.writes.payload.bytes.eq(self.bytes),
            self.writes.payload.last.eq(self.beats.payload.last),
            self.writes.payload.data.eq(self.beats.payload.data),
            ends.eq(self.writes.valid & self.writes.ready & self.beats.payload.last),
            self.beats.ready.eq(self.writes.ready & self.result.valid),
            self.result.ready.eq(ends),
            # These are as deep as the table of entries, so they always have room.
            written.i.payload.eq(self.result.payload.tag),
            written.i.valid.eq(ends),
            outcomes.i.payload.eq(self.write_failed),
            outcomes.i.valid.eq(self.done),
        ]
        good = Signal()
        ready = Signal()
        m.d.comb += [
            ready.eq(outcomes.o.valid & written.o.valid),
            good.eq(~outcomes.o.payload & ~self.discard),
            self.sets.valid.eq(ready & good),
            self.sets.payload.eq(written.o.payload),
            taken.eq(ready & (self.sets.ready | ~good)),
            written.o.ready.eq(taken),
            outcomes.o.ready.eq(taken),
            self.failed.eq(taken & outcomes.o.payload),
            self.failed_entry.eq(self.sets.payload.entry),
            self.busy.eq(Cat(self.result.valid, self.beats.valid, written.level != 0).any()),
        ]
