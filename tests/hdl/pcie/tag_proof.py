"""States what is proven of tags: none is given while anything may still come for it or be read."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In

from hdl.common.component import Component
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.read_sender import ReadSender
from hdl.pcie.tag_table import TagTable
from tests.formal.claims import assume, check, claim, granted, reach


class TagProof(Component):
    """A sender and its tags, with a block that ends reads at any time and in any order.

    That the block ends what it owes alone is :class:`tests.hdl.pcie.end_proof.EndProof`'s affair.
    Of each tag it is known what the block owes, what may come late since the block has given a
    read up, and whether the place in the buffer is somebody's. Pieces, RQ, ticks and who hands the
    data on do what they like, so what is proven is true of both orders. Of the queue of free tags
    it is used alone that each tag that goes in comes out once; here, in any order.
    """

    def __init__(self, params: ReadRequesterParams) -> None:
        tags = params.tags
        hidden = {
            "away": (tags, "table.away"),
            "resting": (tags, "table.resting"),
            "rested": (tags, "table.rested"),
            "leaving": (params.of_tag, "table.leaving"),
            "was_owed": (1, "table.owed"),
            "at": (params.tag_bits, "table.at"),
            "checked": (params.tag_bits, "table.checked"),
            "idle": (1, "table.idle"),
        }
        self.peeks = {name: source for name, (_, source) in hidden.items()}
        super().__init__(
            params,
            requested=In(1),
            hold=In(1),
            rq_ready=In(1),
            next=In(params.of_tag),
            left=In(params.of_tag),
            tick=In(1),
            ends=In(params.ends),
            failed=In(params.of_tag),
            **{name: In(shape) for name, (shape, _) in hidden.items()},
        )

    def build(self, m: Module) -> None:
        params, tags = self.params, self.params.tags
        m.submodules.sender = sender = granted(ReadSender(params))
        m.submodules.table = table = granted(TagTable(params))
        free = Signal(tags)  # in the queue
        held = Signal(tags)  # places in the buffer that are somebody's
        m.d.comb += [
            sender.pieces.valid.eq(self.requested),
            sender.pieces.payload.bytes.eq(4),
            sender.hold.eq(self.hold),
            sender.rq.tready.eq(self.rq_ready),
            sender.order.ready.eq(1),
            sender.tags.valid.eq(self.next.valid),
            sender.tags.payload.eq(self.next.tag),
            table.provided.eq(sender.provided),
            table.tick.eq(self.tick),
            table.ends.eq(self.ends),
            table.failed.eq(self.failed),
            table.left.eq(self.left),
        ]
        assume(m, (bit(self.next, tags) & ~free) == 0)
        assume(m, (bit(self.left, tags) & ~held) == 0)
        owed, late, old = Signal(tags), Signal(tags), Signal(tags)
        provided, ended, gone = bit(sender.provided, tags), Signal(tags), Signal(tags)
        freed, left = bit(table.freed, tags), bit(self.left, tags)
        each = [bit(end, tags) for end in self.ends]
        m.d.comb += [
            ended.eq(each[0] | each[1]),
            gone.eq(Mux(self.ends[0].rests, each[0], 0) | Mux(self.ends[1].rests, each[1], 0)),
        ]
        m.d.sync += [
            owed.eq((owed | provided) & ~ended),
            # Until the second tick: behind a whole time-out.
            late.eq((late | gone) & ~Mux(self.tick, old, 0)),
            held.eq((held | provided) & ~left),
            free.eq((free | freed) & ~provided),
        ]
        with m.If(self.tick):
            m.d.sync += old.eq(late & ~old)
        with m.If(sender.provided.valid):
            claim(m, "nothing_is_owed_for_it", (provided & owed) == 0)
            claim(m, "nothing_may_come_late", (provided & late) == 0)
            claim(m, "its_data_has_been_read", (provided & held) == 0)
        claim(m, "nothing_comes_for_what_is_freed", (freed & (owed | late)) == 0)
        claim(m, "free_once", (freed & free) == 0)
        entered = Mux(sender.order.valid, bit_of(sender.order.payload.tag, tags), 0)
        claim(m, "entered_as_provided", entered == provided)
        # What makes it so.
        check(m, "taken_as_long", table.taken == owed | late)
        check(m, "rests_as_long", (self.resting == late) & (self.rested == old))
        check(m, "old_ones_are_late", (old & ~late) == 0)
        check(m, "owed_or_late", (owed & late) == 0)
        leaving = bit(self.leaving, tags)
        somewhere = [free, freed, held, leaving, self.away]
        check(m, "somewhere", (free | freed | held | leaving | self.away).all())
        check(m, "owed_until_it_leaves", self.was_owed | ((leaving & table.taken) == 0))
        checked = bit_of(self.checked, tags)
        check(m, "idle_is_away", ~self.idle | (checked & self.away & ~table.taken).any())
        check(m, "scans_on", ~self.idle | (self.at == (self.checked + 1)[: len(self.at)]))
        for k, item in enumerate(somewhere):
            for other in somewhere[k + 1 :]:
                check(m, "in_one_place", (item & other) == 0)
        check(m, "free_if_not_taken", ((free | freed) & table.taken) == 0)
        reach(m, "all_owed", owed.all())
        reach(m, "provided_again_behind_a_rest", self.again(m, late, provided))

    def again(self, m: Module, late: Value, provided: Value) -> Value:
        """Whether a tag is given out that has rested."""
        were = Signal(self.params.tags)
        m.d.sync += were.eq(were | late)
        return (were & provided).any()


def bit_of(tag: Value, tags: int) -> Value:
    """Return the bit of a tag."""
    return (Const(1, tags) << tag)[:tags]


def bit(happens, tags: int) -> Value:
    """Return the bit of the tag of what happens, or none."""
    return Mux(happens.valid, bit_of(happens.tag, tags), 0)
