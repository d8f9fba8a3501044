"""What is proven of the lines that a concatenator stores packets in."""

from dataclasses import dataclass

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In
from amaranth.utils import bits_for

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.concat.line_pool import LinePool
from sim.formal.claims import assume, claim, reach


@dataclass(frozen=True, kw_only=True)
class SmallParams(ConcatenatorParams):
    """So few lines and packets that both run out within a few cycles."""

    few_lines: int  #: in place of what the form would have
    few_packets: int  #: likewise

    @property
    def lines(self) -> int:
        return self.few_lines

    @property
    def packets(self) -> int:
        return self.few_packets


class LinePoolProof(Component):
    """A :class:`LinePool` whose lines are taken and returned as one likes: for all time.

    No line is in two places, and none is lost: those that can be taken are all that have entered
    and are not taken. Assumed is that none is taken while there is none, and that what is returned
    was taken.
    """

    #: Inputs that are wired to what is inside instead.
    peeks = {
        "words": "dut.fifo.words[*]",
        "entered": "dut.entered",
        "read_at": "dut.fifo.read_at",
        "write_at": "dut.fifo.write_at",
        "stored": "dut.fifo.stored",
        "filled": "dut.fifo.filled",
        "full": "dut.fifo.full",
    }

    def __init__(self, params: SmallParams) -> None:
        super().__init__(
            params,
            {
                "takes": In(1),
                "returns": In(1),
                "returned": In(params.line_bits),
                "words": In(data.ArrayLayout(params.line_bits, params.lines)),
                "entered": In(bits_for(params.lines)),
                "read_at": In(params.line_bits),
                "write_at": In(params.line_bits),
                "stored": In(bits_for(params.lines)),
                "filled": In(1),
                "full": In(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        lines = self.params.lines
        m.submodules.dut = dut = LinePool(self.params)
        taken = Signal(lines)
        m.d.comb += [
            dut.takes.eq(self.takes),
            dut.returns.eq(self.returns),
            dut.returned.eq(self.returned),
        ]
        assume(m, ~self.takes | (dut.free != 0))
        assume(m, ~self.returns | ((self.returned < lines) & Array(taken)[self.returned]))
        for k in range(lines):
            with m.If(self.takes & (dut.line == k)):
                m.d.sync += taken[k].eq(1)
            with m.If(self.returns & (self.returned == k)):
                m.d.sync += taken[k].eq(0)
        with m.If(self.takes):
            claim(m, "taken_once", (dut.line < lines) & ~Array(taken)[dut.line])
        ones = count_ones(list(taken))
        claim(m, "none_lost", dut.free + ones == self.entered)
        # What induction needs: every line is taken, listed or has not entered.
        claim(m, "entered_in_range", self.entered <= lines)
        claim(m, "list_is_sound", (self.read_at < lines) & (dut.free == self.stored))
        behind = self.read_at + self.stored
        claim(m, "list_has_an_end", self.write_at == Mux(behind < lines, behind, behind - lines))
        claim(
            m, "list_knows", (self.filled == (dut.free != 0)) & (self.full == (dut.free == lines))
        )
        for k in range(lines):
            place = [
                (n < dut.free) & (Array(self.words)[(self.read_at + n) % lines] == k)
                for n in range(lines)
            ]
            found = taken[k] + count_ones(place)
            claim(m, "in_one_place", found == (k < self.entered))
        reach(m, "all_taken_and_returned", (ones == 0) & (dut.free == lines) & self.was_used(m))
        return m

    def was_used(self, m: Module) -> Signal:
        """Whether any line has been returned."""
        used = Signal()
        with m.If(self.returns):
            m.d.sync += used.eq(1)
        return used
