"""States what is proven of the lines that a concatenator stores packets in."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In
from amaranth.utils import bits_for

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.concat.line_pool import LinePool
from tests.formal.claims import check, claim, granted, reach


class SmallParams(ConcatenatorParams):
    """Has so few lines and packets that both run out within a few cycles."""

    few_lines: int  #: in place of what the form would have
    few_packets: int  #: likewise

    @property
    def lines(self) -> int:
        return self.few_lines

    @property
    def packets(self) -> int:
        return self.few_packets


class LinePoolProof(Component):
    """Has a :class:`LinePool` whose lines are taken and returned freely, for all time.

    No line is in two places, and none is lost: those that can be taken are all that have entered
    and are not taken. The follower of any one line, the ``watched`` one, is the line that was
    linked behind it last. Assumed is that none is taken while there is none, and that what is
    returned was taken.
    """

    #: Inputs that are wired to what is inside instead.
    peeks = {
        "words": "dut.fifo.words[*]",
        "entered": "dut.entered",
        "count": "dut.count",
        "read_at": "dut.fifo.read_at",
        "write_at": "dut.fifo.write_at",
        "stored": "dut.fifo.stored",
        "filled": "dut.fifo.filled",
        "free": "dut.fifo.free",
        "followers": "dut.followers[*]",
        "taken": "dut.taken",
    }

    def __init__(self, params: SmallParams) -> None:
        super().__init__(
            params,
            takes=In(1),
            returns=In(1),
            returned=In(params.line_bits),
            links=In(1),
            behind=In(params.line_bits),
            step=In(1),
            leader=In(params.line_bits),
            followers=In(data.ArrayLayout(params.line_bits, params.lines)),
            words=In(data.ArrayLayout(params.line_bits, params.lines)),
            entered=In(bits_for(params.lines)),
            count=In(bits_for(params.lines)),
            read_at=In(params.line_bits),
            write_at=In(params.line_bits),
            stored=In(bits_for(params.lines)),
            filled=In(1),
            free=In(1),
            taken=In(params.lines),
        )

    def build(self, m: Module) -> None:
        lines = self.params.lines
        m.submodules.dut = dut = granted(LinePool(self.params))
        taken = self.taken
        m.d.comb += [
            dut.takes.eq(self.takes),
            dut.returns.eq(self.returns),
            dut.returned.eq(self.returned),
            dut.links.eq(self.links),
            dut.behind.eq(self.behind),
            dut.step.eq(self.step),
            dut.leader.eq(self.leader),
        ]
        with m.If(self.takes):
            claim(m, "taken_once", (dut.line < lines) & ~Array(taken)[dut.line])
        ones = count_ones(list(taken))
        claim(m, "none_lost", self.count + ones == self.entered)
        most = self.params.pr_lines
        claim(m, "enough_is_reported", dut.free == Mux(self.count < most, self.count, most))
        # What induction needs: every line is taken, listed or has not entered.
        check(m, "entered_in_range", self.entered <= lines)
        check(m, "list_is_sound", (self.read_at < lines) & (self.count == self.stored))
        behind = self.read_at + self.stored
        check(m, "list_has_an_end", self.write_at == Mux(behind < lines, behind, behind - lines))
        check(m, "list_knows_if_empty", self.filled == (self.count != 0))
        check(m, "list_knows_if_full", self.free == (self.count != lines))
        for k in range(lines):
            place = [
                (n < self.count) & (Array(self.words)[(self.read_at + n) % lines] == k)
                for n in range(lines)
            ]
            result = taken[k] + count_ones(place)
            claim(m, "in_one_place", result == (k < self.entered))
        self.links_of(m, dut)
        used = Signal()  # a line has been returned
        with m.If(self.returns):
            m.d.sync += used.eq(1)
        reach(m, "all_taken_and_returned", (ones == 0) & (self.count == lines) & used)
        reach(m, "all_taken", (ones == lines) & (self.count == 0))
        reach(m, "last_one_taken_beside_a_return", self.takes & self.returns & (self.count == 1))
        reach(m, "list_wrapped", used & (self.read_at == 0) & (self.count == lines - 1))

    def links_of(self, m: Module, dut: LinePool) -> None:
        """Return the line after the watched one, as linked, read a cycle after it was asked."""
        bits = self.params.line_bits
        watched = AnyConst(bits)
        linked = Signal()
        link = Signal(bits)
        requested = Signal()  # for the watched one, which has a follower
        answer = Signal(bits)
        held = Signal()  # nobody asked
        before = Signal(bits)
        m.d.sync += [
            requested.eq(self.step & (self.leader == watched) & linked),
            answer.eq(link),
            held.eq(~self.step),
            before.eq(dut.follower),
        ]
        with m.If(self.takes & self.links & (self.behind == watched)):
            m.d.sync += [linked.eq(1), link.eq(dut.line)]
        with m.If(linked):
            check(m, "link_is_stored", Array(self.followers)[watched] == link)
        with m.If(requested):
            claim(m, "follower_as_linked", dut.follower == answer)
        with m.If(held):
            claim(m, "follower_stays", dut.follower == before)
        again = requested & self.takes & self.links & (self.behind == watched)
        reach(m, "linked_again_while_it_is_read", again & (dut.line != link))
