"""Prefetches the rows of tables on chip, one a cycle."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay, low_bits
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.common.params import Params, same_as, whole
from hdl.common.reserved_fifo import ReservedFifo

AHEAD = 8  #: rows that can wait: more than the cycles from the request of a row to its leaving
COUNT_BITS = 16  #: width of the number of rows in a request


class RowReaderParams(Params, suffix="{memory.suffix}"):
    """Sets width, number of rows and memory of a table."""

    bits: int = whole(1)  #: width of a row
    rows: int = whole(2)  #: number of rows
    style: str = same_as(MemoryParams, "style", default="block")  #: kind of memory of the rows

    @property
    def memory(self) -> MemoryParams:
        """Return the sizes of the table's memory."""
        return MemoryParams(shape=self.bits, depth=self.rows, style=self.style)

    @property
    def request(self) -> data.StructLayout:
        """Describe a request for ``count`` rows, at least 1, of which ``present`` exist."""
        return data.StructLayout(
            {"first": self.memory.address_bits, "count": COUNT_BITS, "present": COUNT_BITS}
        )

    @property
    def result(self) -> data.StructLayout:
        """Describe a row of a request."""
        return data.StructLayout({"row": self.bits, "missing": 1, "last": 1})


class RowReader(Component):
    """Emits the rows of each of ``requests``, in order; ``last`` marks the last one of a request.

    The rows of a request are consecutive, from ``first`` on. Rows after the ones that are
    ``present`` are ``missing``, and their contents are undefined. The table is filled with ``row``
    at ``address`` in cycles with ``write``.

    Throughput: a row a cycle, also from request to request. Latency: :attr:`latency` from a request
    to its first row. Stalls: holds, :data:`AHEAD` rows ahead.
    """

    latency = DualPortMemory.latency

    def __init__(self, params: RowReaderParams) -> None:
        super().__init__(
            params,
            requests=In(stream.Signature(params.request)),
            rows=Out(stream.Signature(params.result)),
            write=In(1),
            address=In(params.memory.address_bits),
            row=In(params.bits),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.table = memory = DualPortMemory(params.memory)
        m.submodules.result = result = ReservedFifo.sized(
            shape=params.result, depth=AHEAD, passes=True
        )
        requested = self.requests.payload
        done = Signal(COUNT_BITS)  # rows of the request that were read
        step = Signal()
        last = Signal()
        m.d.comb += [
            last.eq(done == (requested.count - 1)[:COUNT_BITS]),
            step.eq(self.requests.valid & result.room),
            self.requests.ready.eq(result.room & last),
            result.reserve.eq(step),
        ]
        with m.If(step):
            m.d.sync += done.eq(Mux(last, 0, done + 1))
        arrived = params.result(result.payload)
        connect(m, result.o, flipped(self.rows))
        m.d.comb += [
            memory.read_address.eq(low_bits(requested.first + done, params.memory.address_bits)),
            memory.write_address.eq(self.address),
            memory.write_data.eq(self.row),
            memory.write.eq(self.write),
            result.push.eq(delay(m, step, self.latency, "requested", reset_less=False)),
            arrived.row.eq(memory.read_data),
            arrived.missing.eq(delay(m, done >= requested.present, self.latency, "missing")),
            arrived.last.eq(delay(m, last, self.latency, "last")),
        ]
