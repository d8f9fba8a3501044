"""Finds idxs whose row was requested a short while ago."""

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.lib import data, memory, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.gather.params import SLOT_BITS, SLOTS, GatherParams


class RepeatFinder(Component):
    """Adds to each of ``idxs`` the ``slot`` in which its row is kept, and whether it ``repeats``.

    Rows that are fetched get the slots in cyclic order. An idx ``repeats`` if a slot holds its row,
    and then has that slot; else it gets the next one. So a row is found again until as many rows as
    there are slots have been fetched after it, unless an idx of the same hash has come meanwhile.
    An idx equal to one of the two before it may be fetched again, because those are still in the
    pipeline. ``slots`` is the number of slots, a power of two, less one. Without ``coalesce`` no
    idx repeats. ``clear`` empties all slots, and is allowed when no idx is inside.

    A Pending PR Table (NetSparse, 5.2) would not do here: it drops requests for an equal idx, since
    one property in the host's memory serves all of them. Here each row must come, in its place.

    Throughput: an idx a cycle. Latency: :attr:`latency`. Stalls: all wait.
    """

    latency = 3

    def __init__(self, params: GatherParams) -> None:
        super().__init__(
            params,
            coalesce=In(1),
            slots=In(SLOT_BITS),
            clear=In(1),
            idxs=In(stream.Signature(params.idx)),
            result=Out(stream.Signature(params.result)),
        )

    def build(self, m: Module) -> None:
        result, goes = self.result.payload, Signal()
        looked = data.StructLayout({"idx": self.params.idx, "slot": SLOT_BITS})
        named, owned = Signal(looked, reset_less=True), Signal(looked, reset_less=True)
        owner, known = Signal(self.params.idx_bits, reset_less=True), Signal(reset_less=True)
        valid = Signal(2)  # of the two pipeline stages, ``named`` and ``owned``
        next_slot, placed = Signal(SLOT_BITS), Signal()
        again, places = Signal(), Signal()
        provided = self.idxs.payload
        m.d.comb += [
            goes.eq(~self.result.valid | self.result.ready),
            self.idxs.ready.eq(goes),
            again.eq(
                self.coalesce
                & known
                & (owner == owned.idx.idx)
                & ~(placed & (owned.slot == result.slot))  # overwritten after the look-up
            ),
            places.eq(goes & valid[1] & ~again),
        ]
        slot_of, owner_of = self.remember(m, owned.idx.idx, next_slot, places)
        m.d.comb += [slot_of.addr.eq(hashed(provided.idx)), owner_of.addr.eq(named.slot)]
        with m.If(goes):
            m.d.sync += [
                valid.eq((valid << 1 | self.idxs.valid)[:2]),
                named.idx.eq(provided),
                named.slot.eq(slot_of.data),
                owned.eq(named),
                owner.eq(owner_of.data),
                known.eq(Array(self.held(m, next_slot, places))[named.slot]),
                self.result.valid.eq(valid[1]),
                result.idx.eq(owned.idx.idx),
                result.final.eq(owned.idx.final),
                result.repeats.eq(again),
                result.slot.eq(next_slot),
                placed.eq(places),
            ]
            with m.If(again):
                m.d.sync += result.slot.eq(owned.slot)
        with m.If(places):
            m.d.sync += next_slot.eq((next_slot + 1)[:SLOT_BITS] & self.slots)
        with m.If(self.clear):
            m.d.sync += next_slot.eq(0)

    def held(self, m: Module, slot: Signal, places: Signal) -> Signal:
        """Return which slots hold rows of this array."""
        held = Signal(SLOTS)
        with m.If(self.clear):
            m.d.sync += held.eq(0)
        with m.Elif(places):
            m.d.sync += held.bit_select(slot, 1).eq(1)
        return held

    def remember(self, m: Module, idx: Signal, slot: Signal, places: Signal):
        """Add memories for the slot of a hash and the idx of a slot; return their read ports."""
        reads = []
        for name, shape, at, what in (
            ("slots_of", SLOT_BITS, hashed(idx), slot),
            ("owners", self.params.idx_bits, slot, idx),
        ):
            words = memory.Memory(
                shape=shape, depth=SLOTS, init=[], attrs={"ram_style": "distributed"}
            )
            m.submodules[name] = words
            write = words.write_port()
            reads.append(words.read_port(domain="comb"))
            m.d.comb += [write.addr.eq(at), write.data.eq(what), write.en.eq(places)]
        return reads


def hashed(idx: Value) -> Value:
    """Return the hash of an idx."""
    rest = idx[SLOT_BITS : 2 * SLOT_BITS]
    return idx[:SLOT_BITS] ^ rest
