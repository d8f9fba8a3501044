"""Wraps memories with a read and a write port: the only place in the project that does."""

from dataclasses import dataclass

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component

STYLES = ("auto", "distributed", "block", "ultra")


@dataclass(frozen=True, kw_only=True)
class MemoryParams:
    """Sets width, depth and style of a simple dual-port memory."""

    bits: int  #: width of an entry
    depth: int  #: number of entries, at least 2
    style: str = "auto"  #: what Vivado builds it from: auto, distributed, block, ultra
    output_register: bool = True  #: there is a register behind the memory's own

    def __post_init__(self) -> None:
        if self.bits < 1 or self.depth < 2:
            raise ValueError(f"a memory has at least one bit and two entries: {self}")
        if self.style not in STYLES:
            raise ValueError(f"style must be one of {', '.join(STYLES)}: {self.style!r}")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: entries, width, and a style that was asked for."""
        style = f"_{self.style}" if self.style != "auto" else ""
        return f"{self.depth}x{self.bits}{style}" + "_early" * (not self.output_register)

    @property
    def latency(self) -> int:
        """Return the cycles from an address to its entry."""
        return 1 + self.output_register

    @property
    def address_bits(self) -> int:
        """Return the width of an entry's index."""
        return ceil_log2(self.depth)


class DualPortMemory(Component):
    """Holds ``depth`` entries, with one read and one write a cycle; contents survive a reset.

    ``read_data`` is the entry of ``read_address`` :attr:`latency` cycles later: the memory's own
    register and one behind it, which block and UltraRAM have built in. Without
    ``params.output_register`` it is a cycle less, and the way from the memory is longer. A read in
    the cycle of a write to the same entry gives the old contents.
    """

    latency = 2  #: with an output register

    def __init__(self, params: MemoryParams) -> None:
        self.latency = params.latency
        super().__init__(
            params,
            {
                "read_address": In(params.address_bits),
                "read_data": Out(params.bits),
                "write": In(1),
                "write_address": In(params.address_bits),
                "write_data": In(params.bits),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        attributes = {} if self.params.style == "auto" else {"ram_style": self.params.style}
        m.submodules.memory = memory = Memory(
            shape=unsigned(self.params.bits), depth=self.params.depth, init=[], attrs=attributes
        )
        read, write = memory.read_port(), memory.write_port()
        output = Signal(self.params.bits, reset_less=True)
        m.d.comb += [
            read.addr.eq(self.read_address),
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
            write.en.eq(self.write),
            self.read_data.eq(output if self.params.output_register else read.data),
        ]
        if self.params.output_register:
            m.d.sync += output.eq(read.data)
        return m
