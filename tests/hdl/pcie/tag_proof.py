"""What is proven of tags: none is given while something may still come for it, or is to be read."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In

from hdl.common.component import Component
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.read_sender import ReadSender
from hdl.pcie.tag_table import TagTable
from tests.formal.claims import check, claim, granted, reach


class TagProof(Component):
    """A sender and its tags, with a block that ends reads at any time and in any order.

    Of each tag it is known what the block owes, what may come late since the block has given a
    read up, and whether the place in the buffer is somebody's. Pieces, RQ, ticks and who reads the
    buffer do what they like.
    """

    def __init__(self, params: ReadRequesterParams) -> None:
        tags = params.tags
        hidden = {
            "turn": (params.tag_bits, "sender.tag"),
            "behind": (params.tag_bits, "sender.after"),
            "free": (1, "sender.free"),
            "places": (range(tags + 1), "sender.places"),
            "resting": (tags, "table.resting"),
            "rested": (tags, "table.rested"),
        }
        self.peeks = {name: source for name, (_, source) in hidden.items()}
        super().__init__(
            params,
            {
                "asked": In(1),
                "hold": In(1),
                "rq_ready": In(1),
                "left": In(1),
                "tick": In(1),
                "ends": In(params.ends),
                "failed": In(params.of_tag),
                **{name: In(shape) for name, (shape, _) in hidden.items()},
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params, tags = self.params, self.params.tags
        m.submodules.sender = sender = granted(ReadSender(params))
        m.submodules.table = table = granted(TagTable(params))
        m.d.comb += [
            sender.pieces.valid.eq(self.asked),
            sender.pieces.payload.bytes.eq(4),
            sender.hold.eq(self.hold),
            sender.rq.tready.eq(self.rq_ready),
            sender.order.ready.eq(1),
            sender.left.eq(self.left),
            sender.taken.eq(table.taken),
            table.given.eq(sender.given),
            table.tick.eq(self.tick),
            table.ends.eq(self.ends),
            table.failed.eq(self.failed),
        ]
        owed, late, old = Signal(tags), Signal(tags), Signal(tags)
        read = Signal(tags)  # places that are somebody's
        first = Signal(params.tag_bits)  # the oldest of them
        given, ended, gone = bit(sender.given, tags), Signal(tags), Signal(tags)
        each = [bit(end, tags) for end in self.ends]
        m.d.comb += [
            ended.eq(each[0] | each[1]),
            gone.eq(Mux(self.ends[0].rests, each[0], 0) | Mux(self.ends[1].rests, each[1], 0)),
        ]
        entered = bit_of(sender.order.payload.tag, tags)
        m.d.sync += [
            owed.eq((owed | given) & ~ended),
            # Until the second tick: behind a whole time-out.
            late.eq((late | gone) & ~Mux(self.tick, old, 0)),
            read.eq(
                (read | Mux(sender.order.valid, entered, 0))
                & ~Mux(self.left, bit_of(first, tags), 0)
            ),
            first.eq(first + self.left),
        ]
        with m.If(self.tick):
            m.d.sync += old.eq(late & ~old)
        with m.If(sender.given.valid):
            claim(m, "nothing_is_owed_for_it", (given & owed) == 0)
            claim(m, "nothing_may_come_late", (given & late) == 0)
            claim(m, "its_data_has_been_read", (given & read) == 0)
        with m.If(sender.order.valid):
            claim(m, "in_turn", (entered & read) == 0)
        # What makes it so.
        check(m, "taken_as_long", table.taken == owed | late)
        check(m, "rests_as_long", (self.resting == late) & (self.rested == old))
        check(m, "old_ones_are_late", (old & ~late) == 0)
        check(m, "owed_or_late", (owed & late) == 0)
        check(m, "not_taken_if_free", ~self.free | ~Array(table.taken)[self.turn])
        check(m, "after_turn", self.behind == (self.turn + 1)[: params.tag_bits])
        check(m, "oldest", first == (self.turn - self.places)[: params.tag_bits])
        check(m, "no_more_places", self.places <= tags)
        inside = Cat((k - first)[: params.tag_bits] < self.places for k in range(tags))
        check(m, "places_in_turn", read == inside)
        reach(m, "all_owed", owed.all())
        reach(m, "one_skipped", sender.order.valid & sender.order.payload.skipped)
        reach(m, "given_again_behind_a_rest", self.again(m, late, given))
        return m

    def again(self, m: Module, late: Value, given: Value) -> Value:
        """Whether a tag is given that has rested."""
        were = Signal(self.params.tags)
        m.d.sync += were.eq(were | late)
        return (were & given).any()


def bit_of(tag: Value, tags: int) -> Value:
    """The bit of a tag."""
    return (Const(1, tags) << tag)[:tags]


def bit(happens, tags: int) -> Value:
    """The bit of the tag of what happens, or none."""
    return Mux(happens.valid, bit_of(happens.tag, tags), 0)
