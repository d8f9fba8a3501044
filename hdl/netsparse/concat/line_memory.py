"""Stores the bytes of packets, in lines of 128."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.concat.concatenator_params import LINE_BYTES, ConcatenatorParams

PIECE_BYTES = 2  #: bytes that have a write enable
GROUP_BYTES = 8  #: bytes of an entry of one memory, which always belong to one line
PIECES = LINE_BYTES // PIECE_BYTES
GROUPS = LINE_BYTES // GROUP_BYTES
GROUP_PIECES = GROUP_BYTES // PIECE_BYTES


class LineMemory(Component):
    """Holds ``lines`` of 128 bytes; each group of eight bytes has its own write address.

    ``write`` enables pieces of two bytes. ``low`` and ``high`` are the halves of the line that was
    read :attr:`latency` cycles ago; only cycles with ``step`` count.
    """

    latency = 2

    def __init__(self, params: ConcatenatorParams) -> None:
        super().__init__(
            params,
            write=In(PIECES),
            lines=In(data.ArrayLayout(params.line_bits, GROUPS)),
            pieces=In(8 * LINE_BYTES),
            step=In(1),
            line=In(params.line_bits),
            low=Out(8 * BEAT_BYTES),
            high=Out(8 * BEAT_BYTES),
        )

    def build(self, m: Module) -> None:
        style = self.params.style
        attributes = {} if style == "auto" else {"ram_style": style}
        groups = []
        for k in range(GROUPS):
            m.submodules[f"group_{k}"] = group = Memory(
                shape=8 * GROUP_BYTES, depth=self.params.lines, init=[], attrs=attributes
            )
            write, read = group.write_port(granularity=8 * PIECE_BYTES), group.read_port()
            output = Signal(8 * GROUP_BYTES, name=f"output_{k}", reset_less=True)
            m.d.comb += [
                write.addr.eq(self.lines[k]),
                write.en.eq(self.write[GROUP_PIECES * k :][:GROUP_PIECES]),
                write.data.eq(self.pieces[8 * GROUP_BYTES * k :][: 8 * GROUP_BYTES]),
                read.addr.eq(self.line),
                read.en.eq(self.step),
            ]
            with m.If(self.step):
                m.d.sync += output.eq(read.data)
            groups.append(output)
        m.d.comb += Cat(self.low, self.high).eq(Cat(groups))
