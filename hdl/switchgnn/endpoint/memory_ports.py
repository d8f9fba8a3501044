"""Connects the endpoint's three buses: tables and payloads are read, sums are written."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi_read_port import AxiReadPort
from hdl.common.axi_write_port import AxiWritePort
from hdl.common.bus_watch import BUS, BusTimer
from hdl.common.component import Component
from hdl.switchgnn.endpoint.bundles import SLOT_BITS
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.sum_writer import SumWriter

BUSES = ("tables", "features", "sums")
COUNT_BITS = 12  #: width of the number of beats that a bus has to deliver


class MemoryPorts(Component):
    """Connects the bursts of a :class:`JobRunner` to the buses, and returns their answers.

    It is not reset with a job, because buses may owe answers. While ``stop`` is high no read
    begins. ``quiet``: all beats and answers that were requested have come. ``failed`` has a bit for
    each of :data:`BUSES`, which pulses when the bus answered with an error, or not in time; every
    wait for a bus is bounded, unless ``timeout`` is 0. ``buses`` is the state of each bus.
    """

    def __init__(self, params: EndpointParams) -> None:
        writer = SumWriter(params).signature.members
        super().__init__(
            params,
            table_bursts=In(stream.Signature(params.table_port.burst)),
            table_provided=Out(params.table_port_beat),
            payload_bursts=In(stream.Signature(params.payload_port.burst)),
            payload_provided=Out(params.payload_port_beat),
            sum_bursts=writer["bursts"].flip(),
            sum_beats=writer["beats"].flip(),
            sum_answered=Out(1),
            sum_answered_slot=Out(SLOT_BITS),
            m_axi_tables=Out(params.table_port.read_bus),
            m_axi_features=Out(params.payload_port.read_bus),
            m_axi_sums=Out(params.write_port.write_bus),
            stop=In(1),
            timeout=In(32),
            revive=In(1),
            buses=Out(data.StructLayout(dict.fromkeys(BUSES, BUS))),
            failed=Out(len(BUSES)),
            quiet=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.timer = timer = BusTimer.sized()
        m.submodules.tables = tables = AxiReadPort(params.table_port)
        m.submodules.features = features = AxiReadPort(params.payload_port)
        m.submodules.sums = sums = AxiWritePort(params.write_port)
        connect(m, tables.axi, flipped(self.m_axi_tables))
        connect(m, features.axi, flipped(self.m_axi_features))
        connect(m, sums.axi, flipped(self.m_axi_sums))
        connect(m, flipped(self.sum_bursts), sums.bursts)
        connect(m, flipped(self.sum_beats), sums.beats)
        m.d.comb += [
            timer.limit.eq(self.timeout),
            self.table_provided.eq(tables.beats),
            self.payload_provided.eq(features.beats),
            self.sum_answered.eq(sums.answers.valid),
            self.sum_answered_slot.eq(sums.answers.tag),
        ]
        for name, port in zip(BUSES, (tables, features, sums), strict=True):
            m.d.comb += [
                port.watch.tick.eq(timer.tick),
                port.watch.revive.eq(self.revive),
                self.buses[name].eq(port.bus),
            ]
        for provided, port in ((self.table_bursts, tables), (self.payload_bursts, features)):
            m.d.comb += [
                port.bursts.payload.eq(provided.payload),
                port.bursts.valid.eq(provided.valid & ~self.stop),
                provided.ready.eq(port.bursts.ready & ~self.stop),
            ]
        answered = (tables.beats, features.beats, sums.answers)
        for k, answer in enumerate(answered):
            m.d.sync += self.failed[k].eq(answer.valid & answer.failed)
        quiet = self.count(m, tables.bursts, 1, tables.beats.valid, "tables_owed")
        length = features.bursts.payload.length + 1
        quiet &= self.count(m, features.bursts, length, features.beats.valid, "features_owed")
        quiet &= self.count(m, sums.bursts, 1, sums.answers.valid, "sums_owed")
        m.d.comb += self.quiet.eq(quiet)

    def count(self, m: Module, bursts, more, came, name: str):
        """Return whether all beats and answers that were requested have come."""
        owed = Signal(COUNT_BITS, name=name)
        requested = Signal(Value.cast(more).shape(), name=f"{name}_more")
        m.d.sync += [
            requested.eq(Mux(bursts.valid & bursts.ready, more, 0)),
            owed.eq((owed + requested - came)[:COUNT_BITS]),
        ]
        return ~(owed | requested).any()
