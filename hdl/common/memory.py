"""Wraps memories of two ports, for the whole project."""

from amaranth.hdl import Cat, Module, Value, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.params import choice, whole
from hdl.common.shaped import ShapedParams

STYLES = ("auto", "distributed", "block", "ultra")
COLUMN_BITS = 72  #: width of an UltraRAM
#: widths and depths of a primitive of a kind in UltraScale+ (UG573)
PRIMITIVES = {
    "ultra": [(COLUMN_BITS, 4096)],
    "block": [(72, 512), (36, 1024), (18, 2048), (9, 4096), (4, 8192), (2, 16384), (1, 32768)],
}
LEAST_BITS = 4_096  #: from which on a memory is worth a block RAM


def primitives(kind: str, width: int, depth: int) -> int:
    """Return how many primitives of a kind a memory of this size takes."""
    return min(-(-width // bits) * -(-depth // words) for bits, words in PRIMITIVES[kind])


def ram_style(style: str, width: int, depth: int) -> dict[str, str]:
    """Return the attributes that let Vivado take memories of ``style`` for one of this size.

    What needs no fewer UltraRAMs than block RAMs becomes block RAM, which other families have too;
    of what is too small for that, Vivado decides.
    """
    if style == "ultra" and primitives("ultra", width, depth) >= primitives("block", width, depth):
        style = "block" if width * depth >= LEAST_BITS else "auto"
    return {} if style == "auto" else {"ram_style": style}


def parts_of(style: str, width: int, depth: int, mixed: bool) -> list[tuple[slice, str]]:
    """Return the bits of an entry that are in a memory of their own, and its style.

    If it is ``mixed``, the bits that would begin another column of UltraRAM are in block RAM, of
    which a device has more. (With UG901's ``ram_style`` mixed the tool would choose.)
    """
    whole = width // COLUMN_BITS * COLUMN_BITS
    ultra = ram_style(style, width, depth) == {"ram_style": "ultra"}
    if not mixed or not ultra or whole in (0, width):
        return [(slice(0, width), style)]
    return [(slice(0, whole), style), (slice(whole, width), "block")]


class MemoryParams(ShapedParams):
    """Sets an entry's shape, depth and style of a simple dual-port memory."""

    depth: int = whole(2)  #: number of entries
    style: str = choice(*STYLES, default="auto")  #: kind of memory in Vivado
    output_registers: int = whole(0, 4, default=1)  #: registers after the memory's own
    mixed: bool = False  #: bits beyond whole columns of UltraRAM are in block RAM

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: entries, width, and unusual settings."""
        style = f"_{self.style}" if self.style != "auto" else ""
        registers = {0: "_early", 1: ""}.get(self.output_registers, f"_r{self.output_registers}")
        return f"{self.depth}x{self.width}{style}{'_mixed' * self.mixed}{registers}"

    @property
    def latency(self) -> int:
        """Return the cycles from an address to its entry."""
        return 1 + self.output_registers

    @property
    def address_bits(self) -> int:
        """Return the width of an entry's index."""
        return ceil_log2(self.depth)


class DualPortMemory(Component):
    """Holds ``depth`` entries, with one read and one write a cycle; contents survive a reset.

    ``read_data`` is the entry of ``read_address`` :attr:`latency` cycles later: after the memory's
    own register and ``params.output_registers``. Block RAM and UltraRAM have one output register
    built in; without it the path from the memory is slower. More of them are for cascades of
    UltraRAM, into which synthesis moves them. A read in the cycle of a write to the same entry
    returns the old contents.
    """

    latency = 2  #: with one output register

    def __init__(self, params: MemoryParams) -> None:
        self.latency = params.latency
        super().__init__(
            params,
            read_address=In(params.address_bits),
            read_data=Out(params.shape),
            write=In(1),
            write_address=In(params.address_bits),
            write_data=In(params.shape),
        )

    def build(self, m: Module) -> None:
        params, depth, fresh = self.params, self.params.depth, []
        parts = parts_of(params.style, params.width, depth, params.mixed)
        for name, (bits, style) in zip(("memory", "rest"), parts, strict=False):
            width = bits.stop - bits.start
            attrs = ram_style(style, width, depth)
            memory = Memory(shape=unsigned(width), depth=depth, init=[], attrs=attrs)
            m.submodules[name] = memory
            read, write = memory.read_port(), memory.write_port()
            m.d.comb += [
                read.addr.eq(self.read_address),
                write.addr.eq(self.write_address),
                write.data.eq(Value.cast(self.write_data)[bits]),
                write.en.eq(self.write),
            ]
            fresh.append(read.data)
        output = delay(m, Cat(fresh), self.params.output_registers, "output")
        m.d.comb += Value.cast(self.read_data).eq(output)


class TrueDualPortMemory(Component):
    """Holds ``depth`` entries, with a port ``a`` that reads and a port ``b`` that reads or writes.

    ``a_data`` is the entry of ``a_address`` :attr:`latency` cycles later. ``b_data`` is that of
    ``b_address`` as many cycles after ``b_read``, and stays until the next one's. ``b_write``
    stores ``b_write_data``, and then ``b_read`` does nothing. Contents survive a reset. A read of
    ``a`` in the cycle of a write to the same entry returns the old contents, which UltraRAM does
    where it is its own port A, the first of a cycle (UG573, "UltraRAM"); no design needs them.
    """

    def __init__(self, params: MemoryParams) -> None:
        self.latency = params.latency
        super().__init__(
            params,
            a_address=In(params.address_bits),
            a_data=Out(params.shape),
            b_address=In(params.address_bits),
            b_read=In(1),
            b_data=Out(params.shape),
            b_write=In(1),
            b_write_data=In(params.shape),
        )

    def build(self, m: Module) -> None:
        params = self.params
        parts = parts_of(params.style, params.width, params.depth, params.mixed)
        fresh_a, fresh_b = [], []
        for name, (bits, style) in zip(("memory", "rest"), parts, strict=False):
            width = bits.stop - bits.start
            attrs = ram_style(style, width, params.depth)
            memory = Memory(shape=unsigned(width), depth=params.depth, init=[], attrs=attrs)
            m.submodules[name] = memory
            a, b, write = memory.read_port(), memory.read_port(), memory.write_port()
            m.d.comb += [
                a.addr.eq(self.a_address),
                b.addr.eq(self.b_address),
                b.en.eq(self.b_read & ~self.b_write),
                write.addr.eq(self.b_address),
                write.data.eq(Value.cast(self.b_write_data)[bits]),
                write.en.eq(self.b_write),
            ]
            fresh_a.append(a.data)
            fresh_b.append(b.data)
        steps = params.output_registers
        m.d.comb += [
            Value.cast(self.a_data).eq(delay(m, Cat(fresh_a), steps, "a_output")),
            Value.cast(self.b_data).eq(delay(m, Cat(fresh_b), steps, "b_output")),
        ]
