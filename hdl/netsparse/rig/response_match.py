"""Matches a response with its pending entry."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.protocol import LENGTH_BITS, RESPONSE_BEAT
from hdl.netsparse.rig.params import RigParams

MATCH_EVENTS = data.StructLayout({"response": 1, "stale": 1, "remote": 1})

#: Describes a beat of a property.
PROPERTY_BEAT = data.StructLayout({"last": 1, "data": 8 * BEAT_BYTES})


class ResponseMatch(Component):
    """Passes on the properties for which pending entries wait, and drops all other responses.

    An entry waits from ``issued`` until a response or an error with its number, ``generation`` and
    idx has come. ``entry`` is looked up outside: ``known`` says that it is in use, for
    ``known_idx``. A response of ``bytes`` is passed on as ``heads``, with the first beat, and
    ``beats``. An error, or a response of another length, also ends the entry's wait, and raises the
    event ``remote``. A response for which no entry waits is ``stale``: one event each. ``clear``
    ends all waiting; a response that has begun to pass is passed on to its end, and one that has
    not is dropped even if it was offered. A head is valid only while ``beats`` are taken, and the
    first beat only while ``heads`` are: the two move together. ``busy``: a response has begun to
    pass and has not ended.

    Throughput: a beat a cycle. Latency: ``latency`` to ``beats``. Stalls: holds.
    """

    latency = 2

    def __init__(self, params: RigParams) -> None:
        super().__init__(
            params,
            {
                "responses": In(stream.Signature(RESPONSE_BEAT)),
                "generation": In(params.generation_bits),
                "bytes": In(LENGTH_BITS),
                "issued": In(1),
                "issued_entry": In(params.entry_bits),
                "clear": In(1),
                "entry": Out(params.entry_bits),
                "known": In(1),
                "known_idx": In(params.idx_bits),
                "heads": Out(stream.Signature(params.pending)),
                "beats": Out(stream.Signature(PROPERTY_BEAT)),
                "events": Out(MATCH_EVENTS),
                "busy": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        beat = Signal(RESPONSE_BEAT, reset_less=True)
        waiting = Signal()
        judged = Signal(RESPONSE_BEAT, reset_less=True)
        judged_valid = Signal()
        matches = Signal(reset_less=True)
        waits = Signal()  # the beat's entry has waited until now
        fits = Signal(reset_less=True)
        first = Signal(init=1)  # the beat begins a response
        passing = Signal()  # the response that the beat continues passes
        awaited = Signal(params.pending_entries)
        entry = judged.pr.id[: params.entry_bits]
        result = Signal()
        answered = Signal()  # the beat belongs to a response for which its entry waits
        ends = Signal()  # the beat ends the entry's wait
        good = Signal()
        move = Signal()
        m.d.comb += [
            self.entry.eq(beat.pr.id[: params.entry_bits]),
            result.eq(matches & waits),
            answered.eq(judged_valid & first & result),
            ends.eq(answered & move),
            good.eq(Mux(first, result & fits & ~judged.error & ~self.clear, passing)),
            self.heads.payload.idx.eq(judged.pr.idx[: params.idx_bits]),
            self.heads.payload.entry.eq(entry),
            self.heads.valid.eq(judged_valid & first & good & self.beats.ready),
            self.beats.payload.last.eq(judged.last),
            self.beats.payload.data.eq(judged.data),
            self.beats.valid.eq(judged_valid & good & (~first | self.heads.ready)),
            move.eq(~judged_valid | ~good | (self.beats.ready & (~first | self.heads.ready))),
            self.responses.ready.eq(~waiting | move),
            self.events.response.eq(ends),
            self.events.stale.eq(judged_valid & move & first & ~result),
            self.events.remote.eq(ends & (judged.error | ~fits)),
            self.busy.eq(passing),
        ]
        with m.If(self.responses.ready):
            m.d.sync += [waiting.eq(self.responses.valid), beat.eq(self.responses.payload)]
        with m.If(move):
            m.d.sync += [
                judged_valid.eq(waiting),
                judged.eq(beat),
                matches.eq(
                    self.known
                    & (beat.pr.id[params.entry_bits :] == self.generation)
                    & (beat.pr.idx == self.known_idx)
                ),
                fits.eq(beat.length == self.bytes),
                waits.eq(Array(awaited)[self.entry] & ~(answered & (entry == self.entry))),
            ]
        with m.If(self.issued):
            m.d.sync += awaited.bit_select(self.issued_entry, 1).eq(1)
        with m.If(judged_valid & move):
            m.d.sync += [first.eq(judged.last), passing.eq(good & ~judged.last)]
        with m.If(ends):
            m.d.sync += awaited.bit_select(entry, 1).eq(0)
        with m.If(self.clear):
            m.d.sync += [awaited.eq(0), waits.eq(0)]
        return m
