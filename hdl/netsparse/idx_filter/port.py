"""Connects a RIG unit to the Idx Filter, through its LSQ."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.checks import check_range
from hdl.common.component import Component
from hdl.common.params import Params, whole
from hdl.common.streams import StreamRegister, forward
from hdl.netsparse.idx_filter.params import answer_layout, answer_signature, request_layout
from hdl.netsparse.idx_filter.slot_ring import SlotRing, SlotRingParams


class FilterPortParams(Params, suffix="{lsq_entries}_{reserved}_{idx_bits}_{entry_bits}"):
    """Sets the sizes of a unit's LSQ."""

    lsq_entries: int = whole(4, 1024, default=64)  #: number of slots in all
    reserved: int = 8  #: slots for sets only, at least 2; at least 2 others are left for lookups
    idx_bits: int = whole(1, 64, default=40)  #: width of a column's number
    entry_bits: int = whole(1)  #: width of the number of a pending PR, which belongs to an idx

    def __post_init__(self) -> None:
        super().__post_init__()
        why = ", which leaves 2 slots of the LSQ for lookups"
        check_range("reserved", self.reserved, 2, self.lsq_entries - 2, why)

    @property
    def lookup_slots(self) -> int:
        """Return the number of slots of lookups, which are numbered from 0."""
        return self.lsq_entries - self.reserved

    @property
    def lookup(self) -> data.StructLayout:
        """Describe a lookup of the bit of ``idx``."""
        return data.StructLayout({"idx": self.idx_bits, "entry": self.entry_bits})

    @property
    def result(self) -> data.StructLayout:
        """Describe a lookup with its answer; ``bit`` is undefined if it has ``failed``."""
        return data.StructLayout(
            {"idx": self.idx_bits, "entry": self.entry_bits, "bit": 1, "failed": 1}
        )

    @property
    def setting(self) -> data.StructLayout:
        """Describe a request to set the bit of ``idx``."""
        return data.StructLayout({"entry": self.entry_bits, "idx": self.idx_bits})

    @property
    def set_result(self) -> data.StructLayout:
        """Describe the result of a set: later lookups see the bit, unless it has ``failed``."""
        return data.StructLayout({"entry": self.entry_bits, "failed": 1})

    @property
    def lookup_ring(self) -> SlotRingParams:
        """Return the sizes of the ring of slots of lookups."""
        return SlotRingParams(
            first=0,
            count=self.lookup_slots,
            lsq_entries=self.lsq_entries,
            width=self.lookup.size,
        )

    @property
    def set_ring(self) -> SlotRingParams:
        """Return the sizes of the ring of slots of sets."""
        return SlotRingParams(
            first=self.lookup_slots,
            count=self.reserved,
            lsq_entries=self.lsq_entries,
            width=self.entry_bits,
        )


class FilterPort(Component):
    """Keeps lookups and sets of a unit, each in a slot of the LSQ (NetSparse, section 5.3).

    ``results`` come in the order of ``lookups``, ``set_done`` in the order of ``sets``; there is no
    order between the two. Sets have their own slots and priority over lookups, so a stalled lookup
    never blocks a set: a unit whose ``results`` are stalled can still set bits. (Sets cannot starve
    lookups, because each set follows from a lookup.)

    Throughput: one request a cycle, if a slot is free: lookups of :attr:`cycles` each in flight.
    Latency: :attr:`request_latency` to ``requests``, :attr:`answer_latency` from an answer to its
    result. Full: ``lookups`` or ``sets`` wait until the oldest of their slots is free.

    Without ``enable`` the filter is not used: a request taken then is answered with 0, in order,
    :attr:`answer_latency` cycles later, and is not sent to the cache. ``idle``: no request or
    result is inside.
    """

    request_latency = StreamRegister.latency
    answer_latency = SlotRing.latency

    def __init__(self, params: FilterPortParams) -> None:
        super().__init__(
            params,
            enable=In(1),
            lookups=In(stream.Signature(params.lookup)),
            results=Out(stream.Signature(params.result)),
            sets=In(stream.Signature(params.setting)),
            set_done=Out(stream.Signature(params.set_result)),
            requests=Out(stream.Signature(request_layout(params.idx_bits, params.lsq_entries))),
            answers=In(answer_signature(answer_layout(params.lsq_entries))),
            idle=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.lookup_slots = lookup_slots = SlotRing(params.lookup_ring)
        m.submodules.set_slots = set_slots = SlotRing(params.set_ring)
        m.submodules.output = output = StreamRegister.sized(shape=self.requests.payload.shape())
        request = output.i.payload
        setting = Signal()  # a set has a slot, and has priority
        looking = Signal()
        passes = Signal()
        m.d.comb += [
            passes.eq(output.i.ready | ~self.enable),
            setting.eq(self.sets.valid & set_slots.i.ready),
            looking.eq(self.lookups.valid & lookup_slots.i.ready & ~(setting & self.enable)),
            self.sets.ready.eq(set_slots.i.ready & passes),
            self.lookups.ready.eq(lookup_slots.i.ready & passes & ~(setting & self.enable)),
            set_slots.i.valid.eq(self.sets.valid & passes),
            set_slots.i.payload.stored.eq(self.sets.payload.entry),
            set_slots.i.payload.done.eq(~self.enable),
            lookup_slots.i.valid.eq(looking & passes),
            lookup_slots.i.payload.stored.eq(self.lookups.payload),
            lookup_slots.i.payload.done.eq(~self.enable),
            output.i.valid.eq((setting | looking) & self.enable),
            request.set.eq(setting),
            request.idx.eq(self.lookups.payload.idx),
            request.slot.eq(lookup_slots.slot),
        ]
        with m.If(setting):
            m.d.comb += [request.idx.eq(self.sets.payload.idx), request.slot.eq(set_slots.slot)]
        looked, done = lookup_slots.o.payload, set_slots.o.payload
        connect(m, output.o, flipped(self.requests))
        m.d.comb += [
            *forward(lookup_slots.o, self.results),
            self.results.payload.eq(looked),
            *forward(set_slots.o, self.set_done, entry=done.stored, failed=done.failed),
            self.idle.eq(lookup_slots.empty & set_slots.empty),
        ]
        for ring in (lookup_slots, set_slots):
            m.d.comb += [
                ring.answers.valid.eq(self.answers.valid),
                ring.answers.payload.eq(self.answers.payload),
            ]
