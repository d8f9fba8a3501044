"""Implements server mode of a RIG unit: answers reads of this node's properties."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.protocol import LENGTH_BITS, PR_LAYER, READ_PR, RESPONSE_BEAT
from hdl.netsparse.rig.params import RigParams
from hdl.netsparse.rig.response_match import PROPERTY_BEAT

READS = 64  #: reads under way in a unit
SERVER_EVENTS = data.StructLayout({"served": 1, "out_of_bounds": 1, "read_error": 1})
HEAD = data.StructLayout({"error": 1, "length": LENGTH_BITS, "pr": PR_LAYER})


class Server(Component):
    """Answers read PRs with properties from host memory (NetSparse, section 5.3).

    A read is good if its idx belongs to this node (``first <= idx < end``), its length is the
    registered ``bytes``, and the registered array is ``legal``. It then leaves on ``demands``, for
    its address to be computed and read, when the property buffer has room for it; ``beats`` are the
    data, in order, and ``outcome`` comes with each property's last beat. ``responses`` have tid,
    idx and id of the reads and come in their order; ``src`` is ``node``. A read that is not good is
    answered with an error, without an access to memory; so is a read that host memory refuses. The
    data of an error are undefined, and may change while it waits.

    A property leaves when all of it is there, since an error must replace it, not follow it.
    Throughput: a property or a beat a cycle, whichever is slower, with as many properties of the
    registered size under way as the buffer holds, at most 64; then ``reads`` wait. A property's
    place is free two cycles after its last beat was taken. Latency: :attr:`request_latency` from a
    read to ``demands``. ``bytes`` must be stable while the unit is ``busy``.
    """

    request_latency = 2

    def __init__(self, params: RigParams) -> None:
        super().__init__(
            params,
            reads=In(stream.Signature(READ_PR)),
            partition=In(params.partition),
            bytes=In(LENGTH_BITS),
            legal=In(1),
            demands=Out(stream.Signature(params.idx_bits)),
            beats=In(stream.Signature(PROPERTY_BEAT)),
            outcome=In(1),
            outcome_failed=In(1),
            responses=Out(stream.Signature(RESPONSE_BEAT)),
            events=Out(SERVER_EVENTS),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.heads = heads = Fifo.sized(shape=HEAD, depth=READS)
        m.submodules.outcomes = outcomes = Fifo.sized(shape=1, depth=READS)
        waiting = self.judge(m, heads)
        self.respond(m, heads, outcomes)
        m.d.comb += [
            outcomes.i.payload.eq(self.outcome_failed),
            outcomes.i.valid.eq(self.outcome),  # never more outcomes than heads, so there is room
            self.busy.eq(waiting | heads.o.valid | self.demands.valid),
        ]

    def judge(self, m: Module, heads: Fifo) -> Value:
        """Put reads into heads, and good ones into ``demands``, while their beats have room."""
        params = self.params
        # A queue only so that ``reads.ready`` is a register: from it a server is chosen.
        m.submodules.arrivals = arrivals = Fifo.sized(shape=READ_PR, depth=2)
        read, waiting = arrivals.o.payload, arrivals.o.valid
        judged = Signal(HEAD, reset_less=True)
        judged_valid = Signal()
        room = Signal(range(params.property_beats + 1), init=params.property_beats)
        beats = Signal(range(params.max_beats + 1), reset_less=True)  # beats of a property
        enough = Signal()  # there is room for a property; beats that leave count a cycle later
        move = Signal()
        go = Signal()
        returned = Signal()
        connect(m, flipped(self.reads), arrivals.i)
        idx, partition = read.pr.idx, self.partition
        m.d.comb += [
            move.eq(
                ~judged_valid | (heads.i.ready & (judged.error | (self.demands.ready & enough)))
            ),
            arrivals.o.ready.eq(move),
            heads.i.payload.eq(judged),
            heads.i.valid.eq(judged_valid & (judged.error | (self.demands.ready & enough))),
            self.demands.payload.eq(judged.pr.idx[: params.idx_bits]),
            self.demands.valid.eq(judged_valid & ~judged.error & enough & heads.i.ready),
            go.eq(self.demands.valid & self.demands.ready),
            returned.eq(self.beats.valid & self.beats.ready),
        ]
        m.d.sync += [
            beats.eq(low_bits((self.bytes + BEAT_BYTES - 1) >> ceil_log2(BEAT_BYTES), len(beats))),
            room.eq(room + returned - Mux(go, beats, 0)),
            enough.eq(Mux(go, room >= beats << 1, room >= beats)),
        ]
        with m.If(move):
            m.d.sync += [
                judged_valid.eq(waiting),
                judged.pr.eq(read.pr),
                judged.length.eq(read.length),
                judged.error.eq(
                    (idx < partition.first)
                    | (idx >= partition.end)
                    | (read.length != self.bytes)
                    | ~self.legal
                ),
            ]
        m.d.comb += self.events.out_of_bounds.eq(heads.i.valid & heads.i.ready & judged.error)
        return waiting | judged_valid

    def respond(self, m: Module, heads: Fifo, outcomes: Fifo) -> None:
        """Build responses from heads and beats; drop the beats of a failed read."""
        head = heads.o.payload
        response = self.responses.payload
        error = Signal()
        discards = Signal()  # the beat is dropped
        ends = Signal()
        m.d.comb += [
            error.eq(head.error | outcomes.o.payload),
            discards.eq(
                heads.o.valid
                & ~head.error
                & outcomes.o.valid
                & outcomes.o.payload
                & ~self.beats.payload.last
            ),
            self.responses.valid.eq(
                heads.o.valid & (head.error | (outcomes.o.valid & self.beats.valid & ~discards))
            ),
            response.dest.eq(head.pr.src),
            response.length.eq(head.length),
            response.pr.eq(head.pr),
            response.pr.src.eq(self.partition.node),
            response.error.eq(error),
            response.last.eq(error | self.beats.payload.last),
            response.data.eq(self.beats.payload.data),
            ends.eq(self.responses.valid & self.responses.ready & response.last),
            self.beats.ready.eq(
                discards | (self.responses.valid & self.responses.ready & ~head.error)
            ),
            heads.o.ready.eq(ends),
            outcomes.o.ready.eq(ends & ~head.error),
            self.events.served.eq(ends & ~error),
            self.events.read_error.eq(ends & ~head.error & outcomes.o.payload),
        ]
