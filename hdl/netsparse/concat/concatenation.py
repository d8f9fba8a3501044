"""Defines the rule of concatenation: how a beat changes its queue's packet."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import low_bits, over
from hdl.common.component import Component
from hdl.netsparse.concat.concatenator_params import LINE_BYTES, ConcatenatorParams


class Concatenation(Component):
    """Computes ``after``: packet ``before``, or a new one (``opens``), with the beat ``arrival``.

    With the last beat of a PR the packet closes if nothing may follow: the PR stands alone or ends
    its group, no other PR of its length fits, or the packet has expired (``late``). Both results
    are computed, because ``opens`` comes late: ``closes_new`` for a new packet, ``closes_joined``
    for ``before``. ``grows``: the bytes continue in ``free``, a new line, which follows the
    packet's line unless it is the first. ``offset`` is their first byte's place in a line. Latency:
    none.
    """

    latency = 0

    def __init__(self, params: ConcatenatorParams) -> None:
        super().__init__(
            params,
            arrival=In(params.arrival),
            demand=In(params.demand),
            before=In(params.state),
            opens=In(1),
            late=In(1),
            free=In(params.line_bits),
            after=Out(params.state),
            closes_new=Out(1),
            closes_joined=Out(1),
            grows=Out(1),
            offset=Out(ceil_log2(LINE_BYTES)),
        )

    def build(self, m: Module) -> None:
        arrival, before, after = self.arrival, self.before, self.after
        offset_bits = ceil_log2(LINE_BYTES)
        used = Signal(self.params.used_bits)  # bytes before the beat
        end = Signal(offset_bits + 1)
        grows = Signal()  # if the packet is not a new one
        ends = Signal()
        alone = arrival.ends if self.params.groups else arrival.alone
        m.d.comb += [
            ends.eq(alone | self.late),
            used.eq(Mux(self.opens, 0, before.mark.used)),
            self.offset.eq(low_bits(used, offset_bits)),
            # Both packets are computed in parallel, because ``opens`` comes late.
            end.eq(low_bits(before.mark.used, offset_bits) + arrival.bytes),
            grows.eq((before.mark.used[:offset_bits] == 0) | over(end, LINE_BYTES)),
            self.grows.eq(self.opens | grows),
            self.closes_new.eq(arrival.last & (ends | (self.demand.most < 0))),
            self.closes_joined.eq(arrival.last & (ends | (before.mark.used > self.demand.most))),
            after.mark.dest.eq(arrival.dest),
            after.mark.error.eq(arrival.error),
            after.mark.length.eq(arrival.length),
            *(after.mark[name].eq(arrival[name]) for name in self.params.label),
            after.mark.prs.eq(
                low_bits(Mux(self.opens, 1, before.mark.prs + arrival.first), len(after.mark.prs))
            ),
            after.mark.used.eq((used + arrival.bytes)[: self.params.used_bits]),
            after.mark.first.eq(Mux(self.opens, self.free, before.mark.first)),
            after.line.eq(Mux(self.grows, self.free, before.line)),
        ]
