"""Keeps what is known of each tag: who waits for it, and whether it may be given again."""

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.pcie.params import ReadRequesterParams


class TagTable(Component):
    """Has bits for each tag, which change a cycle after what they are told.

    ``taken``: from ``given`` on until the block expects no completion for the tag any more
    (``ends``). If it has given the read up (``rests``), a completion may still be on its way
    and would be taken for that of a later read; so the tag is taken until a whole time-out from
    ``tick`` to ``tick`` has passed. ``done``: the read has ended. ``open``: it has not failed
    (``failed``), and nobody has given it up (``abandoned``). Those of a tag that is not taken, and
    not the user's, mean nothing.

    ``freed`` shows, once, each tag that may be given again: nobody has taken it, and its data has
    been handed on (``left``). That is in the cycle behind ``left``, or, if the block still expects
    something then, when it is that tag's turn to be looked at, one in every cycle without ``left``.
    So after a reset all tags are shown in as many cycles.
    """

    latency = 1

    def __init__(self, params: ReadRequesterParams) -> None:
        super().__init__(
            params,
            {
                "tick": In(1),
                "given": In(params.of_tag),
                "failed": In(params.of_tag),
                "abandoned": In(params.of_tag),
                "ends": In(params.ends),
                "left": In(params.of_tag),
                "freed": Out(params.of_tag),
                "taken": Out(params.tags),
                "done": Out(params.tags),
                "open": Out(params.tags),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        tags, given = self.params.tags, self.bit(self.given)
        end, rests = Signal(tags), Signal(tags)
        ended = [self.bit(one) for one in self.ends]
        resting_now = [Mux(one.rests, bit, 0) for one, bit in zip(self.ends, ended, strict=True)]
        m.d.comb += [end.eq(ended[0] | ended[1]), rests.eq(resting_now[0] | resting_now[1])]
        resting = Signal(self.params.tags)  # the block has given their reads up
        rested = Signal(self.params.tags)  # since before the last tick
        over = Mux(self.tick, rested, 0)
        m.d.sync += [
            self.taken.eq((self.taken | given) & ~(end & ~rests) & ~over),
            self.done.eq((self.done | end) & ~given),
            self.open.eq((self.open | given) & ~self.bit(self.failed) & ~self.bit(self.abandoned)),
            resting.eq((resting | rests) & ~over),
        ]
        with m.If(self.tick):
            m.d.sync += rested.eq(resting & ~rested)
        away = self.free(m)
        expect(
            m,
            self,
            leaves_once=lambda: ~self.left.valid | ~Array(away)[self.left.tag],
            ends_what_the_block_owes=lambda: (end & ~(self.taken & ~resting)) == 0,
        )
        return m

    def free(self, m: Module) -> Signal:
        """Show tags that may be given again; return those whose data is nobody's any more, and
        which have not been shown.
        """
        at = Signal(self.params.tag_bits)  # the tag that is looked at
        away = Signal(self.params.tags, init=-1)
        owed, straight, found = Signal(), Signal(), Signal()
        m.d.comb += [
            owed.eq(Array(self.taken)[self.left.tag]),
            straight.eq(self.left.valid & ~owed),
            found.eq(~self.left.valid & Array(away & ~self.taken)[at]),
        ]
        stays = Mux(owed, self.bit(self.left), 0)
        shown = Mux(found, Const(1, self.params.tags) << at, 0)
        m.d.sync += [
            away.eq((away | stays) & ~shown),
            at.eq(at + ~self.left.valid),
            self.freed.valid.eq(straight | found),
            self.freed.tag.eq(Mux(self.left.valid, self.left.tag, at)),
        ]
        return away

    def bit(self, happens: Value) -> Value:
        """Return the bit of the tag of what happens, or none."""
        return Mux(happens.valid, Const(1, self.params.tags) << happens.tag, 0)
