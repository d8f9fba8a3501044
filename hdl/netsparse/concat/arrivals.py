"""Finds each beat's queue and the bytes that it adds there: the input of a concatenator."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.protocol import LENGTH_BITS, PR_BYTES


class Arrivals(Component):
    """Adds to each beat of PRs its queue, its bytes, and whether it may share a packet.

    The first beat of a PR adds the PR layer and up to 64 bytes of its property, each later one up
    to 64. ``chosen`` answers ``dest`` and ``error`` combinationally; while ``result`` is low, a
    first beat waits. ``valid`` and ``arrival`` take the next beat when ``advance`` is high.
    Latency: one cycle. Throughput: one beat a cycle.
    """

    latency = 1

    def __init__(self, params: ConcatenatorParams) -> None:
        super().__init__(
            params,
            prs=In(stream.Signature(params.pr)),
            concatenate=In(1),
            dest=Out(params.node_bits),
            error=Out(1),
            takes=Out(1),  # the answer is used
            chosen=In(params.queue_bits),
            result=In(1),
            valid=Out(1),
            arrival=Out(params.arrival),
            advance=In(1),
            holds=In(1),  # of the next component: ``advance`` is ~holds | moves
            moves=In(1),
        )

    def build(self, m: Module) -> None:
        pr = self.prs.payload
        first = Signal(init=1)
        last = Signal()
        added = Signal(len(self.arrival.bytes))
        moves = Signal()
        goes_on = Signal()  # ``advance``, whose own loads are too many for a path to go on
        same = Signal(self.params.queue_bits, reset_less=True)  # the queue of the PR under way
        queue = Signal(self.params.queue_bits)
        m.d.comb += [
            self.dest.eq(low_bits(pr.dest, len(self.dest))),
            goes_on.eq(~self.holds | self.moves),
            self.prs.ready.eq(goes_on & (self.result | ~first)),
            moves.eq(self.prs.valid & self.prs.ready),
            self.takes.eq(moves & first),
            queue.eq(Mux(first, self.chosen, same)),
        ]
        if self.params.payload:
            m.d.comb += [self.error.eq(pr.error), last.eq(pr.last)]
            self.count(m, first, moves, added)
        else:
            m.d.comb += [last.eq(1), added.eq(PR_BYTES)]
        with m.If(moves):
            m.d.sync += [first.eq(last), same.eq(queue)]
        valid = Signal()
        arrival = Signal(self.params.arrival, reset_less=True)
        m.d.comb += [self.valid.eq(valid), self.arrival.eq(arrival)]
        with m.If(self.advance):
            m.d.sync += [
                valid.eq(moves),
                arrival.first.eq(first),
                arrival.last.eq(last),
                arrival.alone.eq(self.separate(pr.starts if self.params.groups else None)),
                arrival.error.eq(self.error),
                arrival.queue.eq(queue),
                arrival.dest.eq(low_bits(pr.dest, len(arrival.dest))),
                arrival.length.eq(pr.length),
                arrival.bytes.eq(added),
                arrival.pr.eq(pr.pr),
                *(arrival[name].eq(pr[name]) for name in self.params.label),
            ]
            if self.params.payload:
                m.d.sync += arrival.data.eq(pr.data)
            if self.params.groups:
                m.d.sync += arrival.ends.eq(self.separate(pr.ends))

    def separate(self, edge: Value | None) -> Value:
        """Return whether a packet begins or ends here: an error, or a group without concatenation.

        ``edge`` marks the begin or the end of a group; without it each PR is a group.
        """
        apart = ~self.concatenate if edge is None else ~self.concatenate & edge
        return self.error | apart

    def count(self, m: Module, first, moves, added) -> None:
        """Compute the bytes of a beat from the bytes of the property that are still to come."""
        later = Signal(LENGTH_BITS, reset_less=True)
        rest = Signal(LENGTH_BITS)
        full = Signal()
        m.d.comb += [
            rest.eq(Mux(first, self.prs.payload.length, later)),
            full.eq(rest[ceil_log2(BEAT_BYTES) :].any()),
        ]
        with m.If(moves):
            m.d.sync += later.eq(rest - BEAT_BYTES)
        data = Mux(full, BEAT_BYTES, rest[: ceil_log2(BEAT_BYTES)])
        with m.If(self.error):
            m.d.comb += added.eq(PR_BYTES)
        with m.Elif(first):
            m.d.comb += added.eq(data + PR_BYTES)
        with m.Else():
            m.d.comb += added.eq(data)
