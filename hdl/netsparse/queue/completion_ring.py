"""Writes completions to a ring in host memory."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.rings import INDEX_BITS, RING, Fault, misplaced
from hdl.netsparse.params import SnicParams
from hdl.netsparse.queue.params import ENTRY, ENTRY_BYTES

OFFSET_BITS = ENTRY_BYTES.bit_length() - 1


class CompletionRing(Component):
    """Writes every completion as an entry of ``ring``, in order (NetSparse, section 5.4).

    The ``phase`` of an entry, its last bit, is 1 in the first round of the ring and toggles with
    every round, so that the host finds new entries by reading its own memory, as in NVM Express
    (base specification, phase tag). ``written`` is the number of entries in host memory. An entry
    also has ``consumer``, the value of the request ring when the entry leaves.

    ``irq`` is high while the host has not read all entries that are ``written``, or there is a
    ``fault``. It falls for a cycle whenever the host writes how many it has read: if edges of
    ``irq`` are sent as messages, entries that were written since the host's last read cause another
    message.

    A full ring takes no completion until the host writes the number of entries that it has read to
    ``ring.index``; completions then wait, and units with theirs. After a ``fault`` no completion is
    taken, either, until ``ring.enable`` falls; an entry that could not be written is lost. No
    completion is taken while the ring is disabled. ``busy`` is high while entries are under way;
    when it is low and the ring is disabled, indices are zero, and the ring may be enabled again.

    Throughput: an entry every 3 cycles while the host's memory takes them. Latency:
    :attr:`latency` cycles from a completion to ``writes``.
    """

    latency = 1

    def __init__(self, params: SnicParams) -> None:
        super().__init__(
            params,
            ring=In(RING),
            completions=In(stream.Signature(params.completed)),
            consumer=In(INDEX_BITS),
            writes=Out(stream.Signature(params.rig.host_write)),
            done=In(1),
            write_failed=In(1),
            written=Out(INDEX_BITS),
            irq=Out(1),
            full=Out(1),
            busy=Out(1),
            fault=Out(Fault),
        )

    def build(self, m: Module) -> None:
        ring = self.ring
        is_open = Signal()
        sent = Signal(INDEX_BITS)
        written_index = Signal(INDEX_BITS)  # the host's index, a cycle ago
        settled = Signal()  # ``unread`` is up to date with ``sent``
        unread = Signal(INDEX_BITS)  # entries that were sent, and not read by the host
        mask = Signal(INDEX_BITS)
        under_way = Signal(INDEX_BITS)
        take = self.completions.valid & self.completions.ready
        gone = self.writes.valid & self.writes.ready
        place = Signal(INDEX_BITS + OFFSET_BITS)
        entry = Signal(ENTRY)
        waiting = Signal()
        address = Signal(self.params.rig.address_bits, reset_less=True)
        stored = Signal(ENTRY, reset_less=True)
        completed = self.completions.payload
        m.d.comb += [
            place.eq((sent & mask) << OFFSET_BITS),
            self.full.eq(is_open & settled & (unread == mask + 1)),
            self.completions.ready.eq(
                is_open
                & settled
                & ~waiting
                & (self.fault == Fault.NONE)
                & (unread & ~mask == 0)
                & ~misplaced(ring.address, mask, ENTRY_BYTES, self.params.rig.address_bits)
            ),
            entry.tag.eq(completed.completion.tag),
            entry.unit.eq(completed.unit),
            entry.cause.eq(completed.completion.cause),
            entry.consumer.eq(self.consumer),
            entry.phase.eq((sent & (mask + 1)) == 0),
            self.writes.valid.eq(waiting),
            self.writes.payload.address.eq(address),
            self.writes.payload.bytes.eq(ENTRY_BYTES),
            self.writes.payload.last.eq(1),
            self.writes.payload.data.eq(stored),
            self.busy.eq(is_open | waiting | under_way.any()),
        ]
        m.d.sync += [
            unread.eq(sent - ring.index),
            settled.eq(is_open & ~take),
            under_way.eq(under_way + take - self.done),
            self.written.eq(
                self.written + (self.done & ~self.write_failed & (self.fault == Fault.NONE))
            ),
            written_index.eq(ring.index),
            self.irq.eq(
                is_open
                & (written_index == ring.index)
                & ((self.written != ring.index) | (self.fault != Fault.NONE))
            ),
        ]
        with m.If(gone):
            m.d.sync += waiting.eq(0)
        with m.If(take):
            m.d.sync += [
                waiting.eq(1),
                sent.eq(sent + 1),
                address.eq((ring.address | place)[: self.params.rig.address_bits]),
                stored.eq(entry),
            ]
        with m.If(is_open):
            with m.If(self.done & self.write_failed):
                m.d.sync += self.fault.eq(Fault.WRITE)
            with m.Elif(self.fault == Fault.NONE):
                with m.If(misplaced(ring.address, mask, ENTRY_BYTES, self.params.rig.address_bits)):
                    m.d.sync += self.fault.eq(Fault.ADDRESS)
                with m.Elif(settled & ((unread - 1)[:INDEX_BITS] & ~mask).any() & unread.any()):
                    m.d.sync += self.fault.eq(Fault.OVERRUN)
            with m.If(~ring.enable):
                m.d.sync += is_open.eq(0)
        with m.Else():
            m.d.sync += [mask.eq((1 << ring.size) - 1), self.fault.eq(Fault.NONE)]
            with m.If(ring.enable & ~waiting & ~under_way.any()):
                m.d.sync += [is_open.eq(1), sent.eq(0), self.written.eq(0)]
