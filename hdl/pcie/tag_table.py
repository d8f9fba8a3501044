"""Keeps the state of each tag: whether its read is under way, done or failed, and if it is free."""

from typing import Any

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.pcie.params import ReadRequesterParams


class TagTable(Component):
    """Keeps status bits of each tag, which change a cycle after the event that they report.

    ``taken`` is set from ``provided`` until the last completion of the tag (``ends``). If the block
    has timed the read out (``rests``), a completion may still be on its way and would be mistaken
    for one of a later read; so the tag stays taken until a whole time-out, from one ``tick`` to the
    next, has passed. ``done``: the read has ended. ``open``: it has neither failed (``failed``) nor
    been given up (``abandoned``). ``done`` and ``open`` of a free tag are undefined.

    ``freed`` has each tag once when it may be used again: it is not ``taken``, and its data has
    been handed on (``left``). That is two cycles after ``left``; if the tag is taken in the cycle
    of ``left``, a scan finds it later, which checks one tag in every cycle but those after
    ``left``. So after a reset all tags are freed in a cycle more than there are tags.
    """

    latency = 1

    def __init__(self, params: ReadRequesterParams) -> None:
        super().__init__(
            params,
            tick=In(1),
            provided=In(params.of_tag),
            failed=In(params.of_tag),
            abandoned=In(params.of_tag),
            ends=In(params.ends),
            left=In(params.of_tag),
            freed=Out(params.of_tag),
            taken=Out(params.tags),
            done=Out(params.tags),
            open=Out(params.tags),
        )

    def build(self, m: Module) -> None:
        tags, provided = self.params.tags, self.code(m, "provided_code", self.provided)
        failed = self.code(m, "failed_code", self.failed)
        abandoned = self.code(m, "abandoned_code", self.abandoned)
        end, rests = Signal(tags), Signal(tags)
        ended = [self.code(m, f"end_code_{k}", item) for k, item in enumerate(self.ends)]
        resting_now = [Mux(item.rests, bit, 0) for item, bit in zip(self.ends, ended, strict=True)]
        m.d.comb += [end.eq(ended[0] | ended[1]), rests.eq(resting_now[0] | resting_now[1])]
        resting = Signal(self.params.tags)  # the block has timed their reads out
        rested = Signal(self.params.tags)  # of these, those since before the last tick
        over = Mux(self.tick, rested, 0)
        m.d.sync += [
            self.taken.eq((self.taken | provided) & ~(end & ~rests) & ~over),
            self.done.eq((self.done | end) & ~provided),
            self.open.eq((self.open | provided) & ~failed & ~abandoned),
            resting.eq((resting | rests) & ~over),
        ]
        with m.If(self.tick):
            m.d.sync += rested.eq(resting & ~rested)
        leaving = Signal(self.params.of_tag)  # registered, since it is late and drives many loads
        m.d.sync += leaving.eq(self.left)
        away = self.free(m, leaving)
        expect(
            m,
            self,
            leaves_once=lambda: ~leaving.valid | ~Array(away)[leaving.tag],
            ends_what_the_block_owes=lambda: (end & ~(self.taken & ~resting)) == 0,
        )

    def free(self, m: Module, leaving: Any) -> Signal:
        """Report tags that are free again; return those that were handed on, but not reported."""
        at = Signal(self.params.tag_bits)  # the tag that the scan checks
        checked = Signal(self.params.tag_bits)  # the tag before
        idle = Signal()  # it is to be freed
        away = Signal(self.params.tags, init=-1)
        owed = Signal()  # the leaving tag was taken a cycle ago
        straight, result = Signal(), Signal()
        m.d.comb += [
            straight.eq(leaving.valid & ~owed),
            result.eq(~leaving.valid & idle),
        ]
        stays = Mux(owed, self.code(m, "left_code", leaving), 0)
        shown = Mux(result, Const(1, self.params.tags) << checked, 0)
        m.d.sync += [
            owed.eq(Array(self.taken)[self.left.tag]),
            away.eq((away | stays) & ~shown),
            self.freed.valid.eq(straight | result),
            self.freed.tag.eq(Mux(leaving.valid, leaving.tag, checked)),
        ]
        with m.If(~leaving.valid):
            m.d.sync += [at.eq(at + 1), checked.eq(at), idle.eq(Array(away & ~self.taken)[at])]
        return away

    def code(self, m: Module, name: str, happens: Value) -> Signal:
        """Return the one-hot code of the tag of an event, 0 if there is none."""
        code = Signal(self.params.tags, name=name)
        m.d.comb += code.eq(Mux(happens.valid, Const(1, self.params.tags) << happens.tag, 0))
        return code
