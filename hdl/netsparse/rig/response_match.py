"""Matches a response with its pending entry."""

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import BEAT_BYTES
from hdl.common.streams import StreamRegister, forward
from hdl.netsparse.protocol import LENGTH_BITS, PR_LAYER, RESPONSE_BEAT
from hdl.netsparse.rig.params import RigParams

MATCH_EVENTS = data.StructLayout({"response": 1, "stale": 1, "remote": 1})

#: Describes what is judged of a beat; its data wait in a queue meanwhile.
JUDGED = data.StructLayout(
    {
        **{name: RESPONSE_BEAT[name].shape for name in ("last", "error", "length")},
        **{name: PR_LAYER[name].shape for name in ("idx", "id")},
    }
)

#: Describes a beat of a property.
PROPERTY_BEAT = data.StructLayout({"last": 1, "data": 8 * BEAT_BYTES})


class ResponseMatch(Component):
    """Passes on the properties for which pending entries wait, and drops all other responses.

    An entry waits from ``issued`` until a response or an error with its number, ``generation`` and
    idx has come, which ``events`` report a cycle later, with the entry as ``ended_entry``.
    ``entry`` is looked up outside: ``known`` says that it is in use, for ``known_idx``. A response
    of ``bytes`` is passed on as ``heads``, with the first beat, and ``beats``. An error, or a
    response of another length, also ends the entry's wait, and raises the event ``remote``. A
    response for which no entry waits is ``stale``: one event each. ``clear`` ends all waiting; a
    response that has begun to pass is passed on to its end, and one that has not is dropped even if
    it was offered. A head is valid only while ``beats`` are taken, and the first beat only while
    ``heads`` are: the two move together. ``busy``: a response has begun to pass and has not ended.

    Throughput: a beat a cycle. Latency: ``latency`` to ``beats``. Stalls: holds;
    ``responses.ready`` is a register.
    """

    latency = StreamRegister.latency + 2

    def __init__(self, params: RigParams) -> None:
        super().__init__(
            params,
            responses=In(stream.Signature(RESPONSE_BEAT)),
            generation=In(params.generation_bits),
            bytes=In(LENGTH_BITS),
            issued=In(1),
            issued_entry=In(params.entry_bits),
            clear=In(1),
            entry=Out(params.entry_bits),
            known=In(1),
            known_idx=In(params.idx_bits),
            heads=Out(stream.Signature(params.pending)),
            beats=Out(stream.Signature(PROPERTY_BEAT)),
            events=Out(MATCH_EVENTS),
            ended_entry=Out(params.entry_bits),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        coming, queue = self.take(m)
        judged_valid = Signal()
        head = Signal(self.params.pending, reset_less=True)
        last = Signal(reset_less=True)
        fits = Signal(reset_less=True)  # it is no error, and has the right length
        first = Signal(init=1)  # the beat begins a response
        passing = Signal()  # the response that the beat continues passes
        result = Signal()
        answered = Signal()  # the beat belongs to a response for which its entry waits
        good = Signal()
        move = Signal()
        judged = (judged_valid, head, last, fits)
        m.d.comb += [
            result.eq(self.look_up(m, coming.o, move, judged, answered)),
            answered.eq(judged_valid & first & result),
            good.eq(Mux(first, result & fits & ~self.clear, passing)),
            self.heads.payload.eq(head),
            self.heads.valid.eq(judged_valid & first & good & self.beats.ready),
            self.beats.payload.last.eq(last),
            self.beats.payload.data.eq(queue.o.payload),
            self.beats.valid.eq(judged_valid & good & (~first | self.heads.ready)),
            move.eq(~judged_valid | ~good | (self.beats.ready & (~first | self.heads.ready))),
            queue.o.ready.eq(judged_valid & move),
            self.busy.eq(passing),
        ]
        m.d.sync += [
            self.ended_entry.eq(head.entry),
            self.events.response.eq(answered & move),
            self.events.stale.eq(judged_valid & move & first & ~result),
            self.events.remote.eq(answered & move & ~fits),
        ]
        with m.If(judged_valid & move):
            m.d.sync += [first.eq(last), passing.eq(good & ~last)]

    def take(self, m: Module) -> tuple[StreamRegister, Fifo]:
        """Take the beats of responses; return what is judged of them, and the queue of their data.

        The queue has a place for each beat: two in the register, and one in each stage behind it.
        """
        response = self.responses.payload
        m.submodules.coming = coming = StreamRegister.sized(shape=JUDGED)
        m.submodules.data = queue = Fifo.sized(
            shape=8 * BEAT_BYTES, depth=4, style="distributed", refuses=False
        )
        m.d.comb += [
            *forward(
                self.responses,
                coming.i,
                **{name: response[name] for name in ("last", "error", "length")},
                **{name: response.pr[name] for name in ("idx", "id")},
            ),
            queue.i.payload.eq(response.data),
            queue.i.valid.eq(self.responses.valid & coming.i.ready),
        ]
        return coming, queue

    def look_up(self, m: Module, coming, move, judged, answered) -> Value:
        """Look up the beat's entry, then judge it; return whether the entry waits for it."""
        params = self.params
        judged_valid, head, last, fits = judged
        looked = Signal(JUDGED, reset_less=True)
        looked_valid = Signal()
        known = Signal(reset_less=True)
        known_idx = Signal(params.idx_bits, reset_less=True)
        generation = Signal(params.generation_bits, reset_less=True)
        matches = Signal(reset_less=True)
        waits = Signal()  # the beat's entry has waited until now
        awaited = Signal(params.pending_entries)
        ended = self.events.response  # the wait of ``ended_entry`` has ended
        entry = looked.id[: params.entry_bits]
        m.d.comb += [
            coming.ready.eq(move),
            self.entry.eq(coming.payload.id[: params.entry_bits]),
        ]
        with m.If(move):
            m.d.sync += [
                looked_valid.eq(coming.valid),
                looked.eq(coming.payload),
                known.eq(self.known),
                known_idx.eq(self.known_idx),
                generation.eq(self.generation),
                judged_valid.eq(looked_valid),
                head.idx.eq(looked.idx[: params.idx_bits]),
                head.entry.eq(entry),
                last.eq(looked.last),
                matches.eq(
                    known
                    & (looked.id[params.entry_bits :] == generation)
                    & (looked.idx == known_idx)
                ),
                fits.eq((looked.length == self.bytes) & ~looked.error),
                waits.eq(
                    Array(awaited)[entry]
                    & ~(answered & (head.entry == entry))
                    & ~(ended & (self.ended_entry == entry))
                ),
            ]
        with m.If(ended):
            m.d.sync += awaited.bit_select(self.ended_entry, 1).eq(0)
        with m.If(self.issued):
            m.d.sync += awaited.bit_select(self.issued_entry, 1).eq(1)
        with m.If(self.clear):
            m.d.sync += [awaited.eq(0), waits.eq(0)]
        return matches & waits
