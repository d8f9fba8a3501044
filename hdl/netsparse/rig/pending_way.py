"""Implements a way of the Pending PR Table: rows of idxs, one of which is compared in a cycle."""

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib import data, memory
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.params import Params, whole

RELEASES = 2  #: entries of the table that can be released in a cycle


class PendingWayParams(Params, suffix="{rows}x{idx_bits}"):
    """Sets the number of rows of a :class:`PendingWay` and the width of an idx."""

    rows: int = whole(1, 16, power_of_two=True)  #: number of rows
    idx_bits: int = whole(8, 64)  #: width of an idx

    @property
    def row_bits(self) -> int:
        """Return the width of a row's number, at least one bit."""
        return max(1, self.rows.bit_length() - 1)

    @property
    def release(self) -> data.StructLayout:
        """Describe a row that is released."""
        return data.StructLayout({"valid": 1, "row": self.row_bits})

    @property
    def placed(self) -> data.StructLayout:
        """Describe an idx that is written into a row."""
        return data.StructLayout({"valid": 1, "row": self.row_bits, "idx": self.idx_bits})


class PendingWay(Component):
    """Keeps an idx in each row that is ``valid``: a way of the Pending PR Table (section 5.3).

    In each cycle one idx, ``requested``, is compared in one row, ``requested_row``. With
    ``advance`` its result is there from the next cycle on: ``result`` says whether it was in its
    row, ``row`` is the number of the row, and ``open`` becomes high when the row is free.

    An idx that is ``placed`` is found from this cycle on; ``same`` says that it equals
    ``requested``, and its row is valid from the next cycle on. A row that is placed must not be
    valid before; a row that is ``released`` must be valid, can still be found in that cycle, and is
    open two cycles later. The row of the previous result may be placed only in the first cycle of
    the next result. ``clear`` makes all rows invalid.

    Latency: ``latency`` from ``requested`` to its result. Throughput: one comparison, one idx
    placed and two rows released in every cycle.
    """

    latency = 1

    def __init__(self, params: PendingWayParams) -> None:
        super().__init__(
            params,
            requested=In(params.idx_bits),
            requested_row=In(params.row_bits),
            same=In(1),
            advance=In(1),
            placed=In(params.placed),
            released=In(params.release).array(RELEASES),
            clear=In(1),
            result=Out(1),
            open=Out(1),
            row=Out(params.row_bits),
            valid=Out(params.rows),
        )

    def build(self, m: Module) -> None:
        placed = self.placed
        stored = self.add_idxs(m)
        used = Signal()
        free = Signal(reset_less=True)  # its row is free, unless the previous idx takes it
        clash = Signal(reset_less=True)  # the previous idx has the same row
        returned = [delay(m, gone, 1, f"returned_{k}") for k, gone in enumerate(self.released)]
        own = Cat(gone.valid & (gone.row == self.row) for gone in returned)
        m.d.comb += [
            used.eq(Array(self.valid)[self.requested_row]),
            self.open.eq(free & ~(placed.valid & clash)),
        ]
        m.d.sync += free.eq(self.open | own.any())
        with m.If(self.advance):
            m.d.sync += [
                self.row.eq(self.requested_row),
                self.result.eq((used & (stored == self.requested)) | (placed.valid & self.same)),
                free.eq(~used & ~(placed.valid & (placed.row == self.requested_row))),
                clash.eq(self.requested_row == self.row),
            ]
        for row in range(self.params.rows):
            enter = placed.valid & (placed.row == row)
            leave = Cat(gone.valid & (gone.row == row) for gone in self.released).any()
            m.d.sync += self.valid[row].eq((self.valid[row] | enter) & ~leave & ~self.clear)

    def add_idxs(self, m: Module) -> Value:
        """Add the memory of idxs; return the idx in ``requested_row``."""
        m.submodules.idxs = idxs = memory.Memory(
            shape=self.params.idx_bits,
            depth=max(self.params.rows, 2),
            init=[],
            attrs={"ram_style": "distributed"},
        )
        write, read = idxs.write_port(), idxs.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.placed.row),
            write.data.eq(self.placed.idx),
            write.en.eq(self.placed.valid),
            read.addr.eq(self.requested_row),
        ]
        return read.data
