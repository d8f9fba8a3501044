"""States what is proven of ends: one that the block reports ends one read that is under way."""

from functools import reduce
from operator import or_

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In

from hdl.common.component import Component
from hdl.pcie.completion_judge import CompletionJudge
from hdl.pcie.completion_placer import CompletionPlacer
from hdl.pcie.params import ReadRequesterParams
from tests.formal.claims import assume, check, claim, granted, reach
from tests.hdl.pcie.tag_proof import bit, bit_of


class EndProof(Component):
    """Gives a judge and a placer completions of any tag and code, of one step or of several.

    The proof assumes that no tag is given while its read is under way. The proof of tags
    (:class:`tests.hdl.pcie.tag_proof.TagProof`) shows this, if ends are as they are proven here.
    """

    def __init__(self, params: ReadRequesterParams) -> None:
        hidden = {
            "stored": (params.ends.elem_shape, "placer.stored"),
            "second": (1, "placer.second"),
            "inside": (1, "judge.inside"),
            "enters": (params.of_tag, "judge.enters"),
        }
        self.peeks = {name: source for name, (_, source) in hidden.items()}
        super().__init__(
            params,
            provided=In(params.of_tag),
            valid=In(1),
            step=In(params.step),
            open=In(params.tags),
            **{name: In(shape) for name, (shape, _) in hidden.items()},
        )

    def build(self, m: Module) -> None:
        params, tags = self.params, self.params.tags
        m.submodules.judge = judge = granted(CompletionJudge(params))
        m.submodules.placer = placer = CompletionPlacer(params)
        judged, taken = judge.judged, placer.judged
        m.d.comb += [
            judge.provided.eq(Mux(judge.ready, self.provided, 0)),
            judge.steps.valid.eq(self.valid),
            judge.steps.payload.eq(self.step),
            taken.valid.eq(judged.valid),
            taken.payload.eq(judged.payload),
            judged.ready.eq(taken.ready),
            placer.open.eq(self.open),
        ]
        provided, owed = bit(judge.provided, tags), Signal(tags)
        ends = [bit(end, tags) for end in placer.ends]
        assume(m, (provided & owed) == 0)
        m.d.sync += owed.eq((owed | provided) & ~ends[0] & ~ends[1])
        claim(m, "ends_what_is_under_way", ((ends[0] | ends[1]) & ~owed) == 0)
        claim(m, "ends_it_once", (ends[0] & ends[1]) == 0)
        reach(m, "two_end", placer.ends[0].valid & placer.ends[1].valid)
        reach(m, "provided_again", (provided & self.were(m, ends[0] | ends[1])).any())
        self.support(m, judge, placer, owed, ends)

    def were(self, m: Module, now: Value) -> Signal:
        """Return the tags whose bit of ``now`` has been 1 in an earlier cycle."""
        result = Signal(self.params.tags)
        m.d.sync += result.eq(result | now)
        return result

    def support(
        self,
        m: Module,
        judge: CompletionJudge,
        placer: CompletionPlacer,
        owed: Signal,
        ends: list[Value],
    ) -> None:
        """State that a read whose end has not been handed on is in exactly one place."""
        tags, judged = self.params.tags, placer.judged
        said = judged.payload.step
        tag = said.head.descriptor.tag[: self.params.tag_bits]
        near = judged.valid & said.head.valid & judged.payload.known
        last = Mux(near & said.head.descriptor.completed, bit_of(tag, tags), 0)
        tail_due = judged.valid & said.tail.valid & ~self.second
        # The completion that the placer has taken last goes on.
        goes_on = Mux(judged.valid, tail_due, self.inside)
        stored = Mux(goes_on & self.stored.valid, bit_of(self.stored.tag, tags), 0)
        where = [judge.expects, bit(self.enters, tags), last, stored, *ends]
        check(m, "owed_is_somewhere", owed == reduce(or_, where))
        for k, item in enumerate(where):
            for other in where[k + 1 :]:
                check(m, "in_one_place", (item & other) == 0)
        # Steps that the judge hands on obey the rules of the steps that it was given.
        with m.If(judged.valid):
            for part in (said.tail, said.head):
                check(m, "parts", part.valid | ~part.ends)
            both = said.tail.valid & said.head.valid
            tail_goes_on = said.tail.valid & ~said.tail.ends
            goes_on = Mux(said.head.valid, ~said.head.ends, tail_goes_on)
            check(m, "goes_on", self.inside == goes_on)
            check(m, "known_is_a_head", said.head.valid | ~judged.payload.known)
            check(m, "tail_ends_first", said.tail.ends | ~both)
            check(m, "apart_are_two", both | ~judged.payload.apart)
        check(m, "second_of_two", (judged.valid & judged.payload.apart) | ~self.second)
