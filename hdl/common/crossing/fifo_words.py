"""Holds the words of an asynchronous FIFO, which its two clocks write and read."""

from amaranth.hdl import Module, Signal
from amaranth.lib import memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.component import Component
from hdl.common.params import Params, whole


class FifoWordsParams(Params, suffix="{width}x{depth}"):
    """Sets the width and the number of the words."""

    width: int = whole(1)
    depth: int = whole(4, 64, power_of_two=True)  #: words; a LUT holds a bit of each


class FifoWords(Component):
    """Writes ``word`` to ``written`` if it is ``valid`` and there was ``room`` in the cycle before.

    ``o`` is the word at ``taken``, combinationally: who registers it chooses the clock. The
    register of ``room`` is a second one beside that of the FIFO: this one's enables have many
    loads, and a boundary keeps the two from being merged.
    """

    domains = ("write",)
    keeps_boundary = True

    def __init__(self, params: FifoWordsParams) -> None:
        bits = exact_log2(params.depth)
        super().__init__(
            params,
            valid=In(1),
            room=In(1),
            word=In(params.width),
            written=In(bits),
            taken=In(bits),
            o=Out(params.width),
        )

    def build(self, m: Module) -> None:
        m.submodules.memory = words = memory.Memory(
            shape=self.params.width,
            depth=self.params.depth,
            init=[],
            attrs={"ram_style": "distributed"},
        )
        write, read = words.write_port(domain="write"), words.read_port(domain="comb")
        ready = Signal()
        m.d.write += ready.eq(self.room)
        m.d.comb += [
            write.en.eq(self.valid & ready),
            write.addr.eq(self.written),
            write.data.eq(self.word),
            read.addr.eq(self.taken),
            self.o.eq(read.data),
        ]
