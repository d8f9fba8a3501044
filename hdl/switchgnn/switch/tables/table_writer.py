"""Writes the switch's tables from the host's words."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.registers import WORD_BITS
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.registers import Table
from hdl.switchgnn.switch.sizes import COUNT_BITS

STEP_WORDS = 3  #: first row of descriptors, rows, turns
ROW_BITS = 21


class TableWriter(Component):
    """Gathers words into rows of a table, and writes each with its last word.

    ``begin`` says that the next ``word`` with ``push`` is the first of row ``row`` of ``table``
    (:class:`hdl.switchgnn.switch.registers.Table`); the next rows are consecutive. A row beyond the
    table's end is not written. If lists and descriptors are in memory, only the turn programs are
    written here.
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            table=In(2),
            row=In(ROW_BITS),
            begin=In(1),
            word=In(WORD_BITS),
            push=In(1),
            at=Out(ROW_BITS),
            **({} if params.in_memory else rows_written(params)),
            write_step=Out(1),
            step=Out(params.step),
        )

    def build(self, m: Module) -> None:
        params = self.params
        sizes = {Table.PROGRAM: (STEP_WORDS, 256, self.write_step)}
        if not params.in_memory:
            sizes = {
                Table.LISTS: (-(-params.row.size // WORD_BITS), params.rows, self.write_list),
                Table.DESCRIPTORS: (params.banks, params.descriptor_rows, self.write_descriptors),
            } | sizes
        most = max(words for words, _, _ in sizes.values())
        gathered = Signal(WORD_BITS * most, reset_less=True)  # the newest word is the highest
        count = Signal(range(most + 1))
        at = Signal(ROW_BITS)
        whole = Signal()  # a row is complete
        m.d.sync += whole.eq(0)
        with m.If(self.begin):
            m.d.sync += [at.eq(self.row), count.eq(0)]
        with m.Elif(self.push):
            m.d.sync += [gathered.eq(Cat(gathered[WORD_BITS:], self.word)), count.eq(count + 1)]
            for table, (words, _, _) in sizes.items():
                with m.If((self.table == table) & (count == words - 1)):
                    m.d.sync += [count.eq(0), whole.eq(1)]
        with m.If(whole):
            m.d.sync += at.eq(at + 1)
        m.d.comb += self.at.eq(at)
        for table, (_, rows, write) in sizes.items():
            m.d.comb += write.eq(whole & (self.table == table) & (at < rows))
        self.lay_out(m, gathered, {table: words for table, (words, _, _) in sizes.items()})

    def lay_out(self, m: Module, gathered: Signal, words: dict[Table, int]) -> None:
        """Assemble rows from the gathered words."""
        params = self.params

        def word(table: Table, k: int):
            begin = len(gathered) - (words[table] - k) * WORD_BITS
            return gathered[begin : begin + WORD_BITS]

        if not params.in_memory:
            entries = Cat(word(Table.LISTS, k) for k in range(words[Table.LISTS]))
            m.d.comb += self.list_row.eq(params.row(entries[: params.row.size]))
            for k in range(params.banks):
                m.d.comb += descriptor_of(self.descriptor_row[k], word(Table.DESCRIPTORS, k))
        m.d.comb += [
            self.step.first.eq(low_bits(word(Table.PROGRAM, 0), params.descriptor_bits)),
            self.step.height.eq(low_bits(word(Table.PROGRAM, 1), params.count_bits)),
            self.step.turns.eq(word(Table.PROGRAM, 2)),
        ]


def rows_written(params: GnnSwitchParams) -> dict:
    """List the ports that write rows of lists and of descriptors on chip."""
    return {
        "write_list": Out(1),
        "list_row": Out(params.row),
        "write_descriptors": Out(1),
        "descriptor_row": Out(params.descriptor_row),
    }


def descriptor_of(descriptor: Any, word: Value) -> list:
    """Fill a descriptor from a word of a table."""
    return [
        descriptor.expected.eq(word[:COUNT_BITS]),
        descriptor.port.eq(low_bits(word[COUNT_BITS:], len(descriptor.port))),
    ]
