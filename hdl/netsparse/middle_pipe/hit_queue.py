"""Queues properties that were found in the cache, until they have left as responses."""

from typing import Any, cast

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import looked_up
from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.common.reserved_fifo import ReservedFifo
from hdl.netsparse.middle_pipe.group_marks import GroupMarks
from hdl.netsparse.switch.params import NetSparseSwitchParams


class HitQueue(Component):
    """Builds a response for each read that was found in the cache (section 6.2.1).

    ``reserve``, allowed while ``room`` is high, reserves a place for a lookup: later ``entry`` and
    ``property`` come with ``push``, or ``cancel`` returns the place. The response goes to the
    read's src, has the idx's owner as its src, and the read's tid, idx and id. It leaves ``o`` in
    beats of 64 bytes, one a cycle.

    ``comes`` reports every read, found or not, that was looked up or passed, and ``ends`` whether
    it is its packet's last. The responses to reads of one packet are a group, and ``starts`` and
    ``ends`` mark its ends. A group does not wait for reads after its first beat is at ``o``: it is
    offered when its last response is there, or when the queue is full. The arbiter may ``turn`` to
    other inputs at the end of the offered responses. With ``cut`` a group ends with the responses
    that are there.

    Latency: :attr:`latency` from ``push`` of its last one to a group's first beat.
    """

    latency = ReservedFifo.latency

    def __init__(self, params: NetSparseSwitchParams) -> None:
        super().__init__(
            params,
            reserve=In(1),
            room=Out(1),
            cancel=In(1),
            push=In(1),
            entry=In(params.read_entry),
            property=In(params.cache.property_layout),
            comes=In(1),
            ends=In(1),
            cut=In(1),
            o=Out(stream.Signature(params.response_entry)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        hit = data.StructLayout(
            {"entry": params.read_entry, "property": params.cache.property_layout}
        )
        places = params.entries(hit)
        m.submodules.hits = hits = ReservedFifo(places)
        m.submodules.marks = marks = GroupMarks.sized(depth=places.depth)
        m.d.comb += [
            hits.reserve.eq(self.reserve),
            self.room.eq(hits.room),
            hits.cancel.eq(self.cancel),
            hits.push.eq(self.push),
            hits.payload.entry.eq(self.entry),
            hits.payload.property.eq(self.property),
        ]
        oldest = hits.o.payload
        read, whole = oldest.entry.read, Value.cast(oldest.property)
        size = 8 * BEAT_BYTES
        parts = [whole[k : k + size] for k in range(0, len(whole), size)]
        index = Signal(range(max(2, len(parts))))  # number of the beat
        last_index = Signal.like(index)  # a found property is not longer than the cache can hold
        last = Signal()
        beat_bits = ceil_log2(BEAT_BYTES)
        m.d.comb += [
            # The count of responses that left follows this value, so a sum would be a second carry
            # chain.
            last_index.eq(
                looked_up(
                    lambda beats, more: beats - 1 + more,
                    read.length[beat_bits:][: len(index)],
                    read.length[:beat_bits].any(),
                    bits=len(index),
                )
            ),
            last.eq(index == last_index),
            hits.o.ready.eq(self.o.valid & self.o.ready & last),
        ]
        beat = cast(Any, self.o.payload.beat)
        m.d.comb += [
            beat.dest.eq(read.pr.src),
            beat.length.eq(read.length),
            beat.pr.eq(read.pr),
            beat.pr.src.eq(read.dest),
            beat.last.eq(last),
            beat.data.eq(Array(parts)[index]),
            beat.label.eq(oldest.entry.home),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += index.eq(Mux(last, 0, index + 1))
        self.offer(m, marks, last)

    def offer(self, m: Module, marks: GroupMarks, last: Signal) -> None:
        """Offer complete groups; mark where they start and end, and where the arbiter may turn."""
        most = marks.params.depth - 1  # most responses offered at a time, if no group ends before
        inside = Signal()  # the offered responses have begun to leave
        count = Signal(range(most))  # offered responses that have left
        starts = Signal(init=1)
        ends = marks.o.payload
        m.d.comb += [
            marks.comes.eq(self.comes),
            marks.takes.eq(self.push),
            marks.ends.eq(self.ends),
            marks.cut.eq(self.cut),
            self.o.valid.eq(inside | marks.whole),
            marks.o.ready.eq(self.o.valid & self.o.ready & last),
            self.o.payload.beat.starts.eq(starts),
            self.o.payload.beat.ends.eq(last & ends),
            self.o.payload.turn.eq(last & (ends | (count == most - 1))),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += inside.eq(~self.o.payload.turn)
            with m.If(last):
                m.d.sync += [
                    starts.eq(ends),
                    count.eq(Mux(self.o.payload.turn, 0, count + 1)),
                ]
