"""Prefetches beats of the memory of tables, and stores them until they are used."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hdl.common.axi_read_port import AxiReadPort
from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.reserved_fifo import ReservedFifo
from hdl.common.streams import forward
from hdl.switchgnn.switch.tables.table_memory_params import BEAT_BYTES, TableMemoryParams


class TablePort(Component):
    """Reads the beat ``line`` of its memory for each ``issue``, while ``room`` is high.

    ``beats`` come in the order of the requests; each has a place reserved from its request until it
    is taken, so the bus is never stalled. A beat whose response was not OKAY, and each that a
    broken bus does not deliver (:class:`hdl.common.axi_read_port.AxiReadPort`), is marked as
    failed: so every beat comes in the end, unless ``watch`` has no time-out. ``failed`` pulses for
    each of them.

    Throughput: a beat a cycle, while ``params.waiting`` beats cover the memory's latency and the
    time until they are used. Latency: :attr:`latency` from ``issue`` to ARVALID,
    :attr:`beat_latency` from R to ``beats``.
    """

    latency = 1 + AxiReadPort.latency
    beat_latency = ReservedFifo.latency

    def __init__(self, params: TableMemoryParams) -> None:
        super().__init__(
            params,
            issue=In(1),
            line=In(params.line_bits),
            room=Out(1),
            beats=Out(stream.Signature(params.beat)),
            axi=Out(params.axi),
            watch=In(WATCH),
            bus=Out(BUS),
            failed=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.lines = lines = Fifo.sized(
            shape=params.line_bits, depth=params.waiting, style="distributed", refuses=False
        )
        m.submodules.port = port = AxiReadPort(params.port)
        m.submodules.brought = brought = ReservedFifo.sized(shape=params.beat, depth=params.waiting)
        beat = brought.payload
        connect(m, port.axi, flipped(self.axi))
        connect(m, brought.o, flipped(self.beats))
        address = lines.o.payload << exact_log2(BEAT_BYTES)
        m.d.comb += [
            self.room.eq(brought.room),
            brought.reserve.eq(self.issue),
            lines.i.valid.eq(self.issue),
            lines.i.payload.eq(self.line),
            *forward(lines.o, port.bursts, address=address),
            beat.data.eq(port.beats.data),
            beat.failed.eq(port.beats.failed),
            brought.push.eq(port.beats.valid),
            port.watch.eq(self.watch),
            self.bus.eq(port.bus),
        ]
        m.d.sync += self.failed.eq(port.beats.valid & port.beats.failed)
