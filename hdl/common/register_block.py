"""Implements a register map: an AXI4-Lite slave between software and the design."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.axi import AxiLiteSignature, Response
from hdl.common.component import Component
from hdl.common.registers import WORD_BITS, WORD_BYTES, RegisterMap

GROUP_WORDS = 8  #: words at the inputs of each multiplexer in front of a register


class RegisterBlock(Component):
    """Shows in ``control`` what software writes; software reads ``control`` and ``status``.

    A pulse field has the value written for one cycle, otherwise 0, and reads as 0. Byte strobes
    apply to each byte. A read of the low word of a two-word register captures the high word of that
    cycle for the next read of the high word, so a running counter is read consistently, low word
    first.

    An access to an address that is not a multiple of 4 or is beyond the map, and a write to a word
    without an rw or pulse field, are refused with SLVERR and have no effect. A refused read returns
    0.

    AW and W may come in any order. Latency: ``control`` changes, and B is valid, ``write_latency``
    cycles after the later of AW and W was taken; R is valid ``read_latency`` cycles after AR was
    taken. Throughput: one write in 2 cycles, one read in 4. Back-pressure: an answer waits for the
    master; at most one more write waits behind it, and takes effect after the answer was taken.
    """

    write_latency = 2
    read_latency = 3

    def __init__(self, params: RegisterMap) -> None:
        super().__init__(
            params,
            axil=In(AxiLiteSignature(address_bits=params.address_bits)),
            control=Out(params.control),
            status=In(params.status),
        )

    def build(self, m: Module) -> None:
        values = {
            field.name: Signal(field.bits, name=field.name, init=field.init)
            for register in self.params.registers
            for field in register.fields
            if field.access != "ro"
        }
        m.d.comb += [self.control[name].eq(value) for name, value in values.items()]
        self.write(m, values)
        self.read(m, self.words(m, values))

    def write(self, m: Module, values: dict[str, Signal]) -> None:
        """Take AW and W into registers, write the fields from there, and answer with B."""
        bus = self.axil
        write_address = Signal(self.params.address_bits, reset_less=True)
        data = Signal(WORD_BITS, reset_less=True)
        strobes = Signal(WORD_BYTES, reset_less=True)
        addressed = Signal()
        provided = Signal()
        commit = Signal()
        m.d.comb += [
            bus.awready.eq(~addressed),
            bus.wready.eq(~provided),
            commit.eq(addressed & provided & (~bus.bvalid | bus.bready)),
        ]
        with m.If(~addressed):
            m.d.sync += [write_address.eq(bus.awaddr), addressed.eq(bus.awvalid)]
        with m.If(~provided):
            m.d.sync += [data.eq(bus.wdata), strobes.eq(bus.wstrb), provided.eq(bus.wvalid)]
        with m.If(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(commit):
            m.d.sync += [addressed.eq(0), provided.eq(0), bus.bvalid.eq(1)]
            m.d.sync += bus.bresp.eq(Response.SLVERR)
        for place, register in self.params.placed:
            for field in register.fields:
                if field.access == "pulse":
                    m.d.sync += values[field.name].eq(0)
            if register.read_only:
                continue
            with m.If(commit & (write_address == place)):
                m.d.sync += bus.bresp.eq(Response.OKAY)
                for field, offset in zip(register.fields, register.offsets, strict=True):
                    if field.access != "ro":
                        self.write_field(m, values[field.name], offset, data, strobes)

    def write_field(
        self, m: Module, value: Signal, offset: int, data: Value, strobes: Value
    ) -> None:
        """Write the bytes of ``data`` that have a strobe into a field at bit ``offset``."""
        for byte in range(WORD_BYTES):
            low, high = max(offset, 8 * byte), min(offset + len(value), 8 * byte + 8)
            if low < high:
                with m.If(strobes[byte]):
                    m.d.sync += value[low - offset : high - offset].eq(data[low:high])

    def words(self, m: Module, values: dict[str, Signal]) -> list[tuple[Value, Signal | None]]:
        """Return the value that each word reads as; add the registers that capture high words."""
        words: list[tuple[Value, Signal | None]] = []
        for _, register in self.params.placed:
            parts = [
                values[field.name]
                if field.access == "rw"
                else self.status[field.name]
                if field.access == "ro"
                else Const(0, field.bits)
                for field in register.fields
            ]
            whole = Cat(parts)
            if register.words == 1:
                words.append((whole, None))
            else:
                high = Signal(len(whole) - WORD_BITS, name=f"{register.name}_high", reset_less=True)
                words += [(whole, high), (high, None)]
        return words

    def read(self, m: Module, words: list[tuple[Value, Signal | None]]) -> None:
        """Answer AR with R, through a register after the multiplexer of each group of words."""
        bus = self.axil
        read_address = Signal(self.params.address_bits, reset_less=True)
        chosen = Signal()  # first step of a read: a word of each group is selected
        joined = Signal()  # second step: one of the groups is selected
        busy = Signal()
        groups = [words[k : k + GROUP_WORDS] for k in range(0, len(words), GROUP_WORDS)]
        group_bits, word_bits = ceil_log2(len(groups)), ceil_log2(GROUP_WORDS)
        word = read_address[2:]
        mapped = Signal()
        result = Signal(WORD_BITS, reset_less=True)
        m.d.comb += bus.rdata.eq(result)
        m.d.comb += bus.arready.eq(~busy)
        m.d.sync += [chosen.eq(bus.arvalid & ~busy), joined.eq(chosen)]
        with m.If(~busy):
            m.d.sync += [read_address.eq(bus.araddr), busy.eq(bus.arvalid)]
        m.d.sync += mapped.eq(~read_address[:2].any() & (word < len(words)))
        outputs = []
        for k, group in enumerate(groups):
            output = Signal(WORD_BITS, name=f"group_{k}", reset_less=True)
            choices = Array([value[:WORD_BITS] for value, _ in group])
            m.d.sync += output.eq(choices[word[:word_bits]])
            outputs.append(output)
        for index, (value, high) in enumerate(words):
            if high is not None:
                with m.If(chosen & (read_address == WORD_BYTES * index)):
                    m.d.sync += high.eq(value[WORD_BITS:])
        with m.If(joined):
            group = word[word_bits:][:group_bits]
            m.d.sync += [
                bus.rvalid.eq(1),
                result.eq(Mux(mapped, Array(outputs)[group], 0)),
                bus.rresp.eq(Mux(mapped, Response.OKAY, Response.SLVERR)),
            ]
        with m.If(bus.rvalid & bus.rready):
            m.d.sync += [bus.rvalid.eq(0), busy.eq(0)]
