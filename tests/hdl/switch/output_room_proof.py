"""States what is proven of a port's room: users who keep to it never take more than there is."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib.wiring import In
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.switch.output_room import SETTLING, OutputRoom, OutputRoomParams
from tests.formal.claims import assume, check, claim, granted, reach


class OutputRoomProof(Component):
    """Holds the room of one port beside a plain count of its beats.

    Packets come whenever they may, items whenever they may and of any size, and what was taken is
    given back at any time in any parts.
    """

    peeks = {
        "seen": "dut.free_0",
        "under_way": "dut.change_0",
        "give": "dut.give_0_1",
        "went": "dut.left_1",
        "came": "dut.recent_0",
        "took": "dut.item_beats_1",
    }

    def __init__(self, params: OutputRoomParams) -> None:
        bits = bits_for(params.beats)
        super().__init__(
            params,
            packet=In(1),
            item=In(params.item_claim),
            provided=In(bits_for(params.packet)),
            left=In(1),
            seen=In(bits),
            under_way=In(signed(bits + 1)),
            give=In(params.give),
            went=In(1),
            came=In(SETTLING - 1),
            took=In(params.item_claim["beats"].shape),
        )

    def build(self, m: Module) -> None:
        params, item = self.params, self.item
        m.submodules.dut = dut = granted(OutputRoom(params))
        free = Signal(signed(bits_for(params.beats) + 2), init=params.beats)
        taken, back = Signal(range(2 * params.packet)), Signal(range(2 * params.packet + 2))
        m.d.comb += [
            dut.packets.eq(self.packet),
            dut.item.eq(item),
            dut.gives[0].beats.eq(self.provided),
            dut.left.eq(self.left),
            taken.eq((self.packet * params.packet) + (item.valid * item.beats)),
            back.eq(self.provided + self.left),
        ]
        assume(m, back <= params.beats - free)
        m.d.sync += free.eq((free - taken + back)[: len(free)].as_signed())
        claim(m, "never_more_than_there_is", free >= 0)
        noted = self.give.beats + self.went - self.took - Mux(self.came[0], params.packet, 0)
        claim(m, "counts_every_beat", self.seen + self.under_way + noted == free)
        check(m, "never_more_than_the_queue", free <= params.beats)
        settled = Signal()  # ``open`` was written since a reset
        other = Signal()  # something else than an item happened
        m.d.sync += [settled.eq(1), other.eq(other | self.packet | (back != 0))]
        with m.If(~other):
            check(m, "items_leave_two_packets", free >= 2 * params.packet)
            claim(m, "packets_never_wait_for_items", dut.open | ~settled)
        reach(m, "closed", ~dut.open & ~dut.open_items & (free == params.packet))
        reach(m, "items_stop", ~other & ~dut.open_items & settled & (free < params.items_from))
        reach(m, "open_again", other & dut.open_items & (free == params.beats))
