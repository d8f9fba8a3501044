"""Implements the AXI4 port by which the host loads and reads back the weights of all engines."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import Axi4Signature
from hdl.common.component import Component
from hdl.p4sgd.host.model_address import model_bus
from hdl.p4sgd.host.model_reader import ModelReader
from hdl.p4sgd.host.model_writer import ModelWriter
from hdl.p4sgd.worker_params import WorkerParams


class ModelPort(Component):
    """Presents the model as memory: every beat has eight 32-bit weights, little-endian.

    A byte address is, from the top, engine (4 bits), chunk (``chunk_bits``), lane, and two bits for
    the byte of a weight. Bursts must be INCR, of full width, of up to 256 beats, and writes need
    all strobes. Any other beat is refused with SLVERR and has no effect, and so is every beat while
    ``allow`` is low. An address of an engine or a chunk that does not exist is answered with
    DECERR. Bursts are answered in order, with their identifiers.

    A write is answered when the engine has taken its last weights, so a read that follows the
    answer sees them. ``busy`` is high while an engine is at work on a host's access.
    Throughput, latency and stalls: see ``ModelWriter`` and ``ModelReader``.
    """

    def __init__(self, params: WorkerParams) -> None:
        bus = model_bus(params)
        engine = params.engine
        super().__init__(
            params,
            s_axi=In(
                Axi4Signature(
                    address_bits=bus.address_bits,
                    data_bits=bus.data_bits,
                    id_bits=bus.id_bits,
                )
            ),
            allow=In(1),
            load=Out(stream.Signature(engine.model.load)).array(params.engines),
            peek=Out(stream.Signature(engine.model.address)).array(params.engines),
            peeked=In(stream.Signature(engine.model.group)).array(params.engines),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.writer = writer = ModelWriter(self.params)
        m.submodules.reader = reader = ModelReader(self.params)
        axi = self.s_axi
        for part, prefix in ((writer, "aw"), (reader, "ar")):
            bursts = part.bursts
            m.d.comb += part.allow.eq(self.allow)
            m.d.comb += [
                bursts.payload[name].eq(getattr(axi, prefix + name))
                for name in ("id", "addr", "len", "size", "burst")
            ]
            m.d.comb += bursts.valid.eq(getattr(axi, f"{prefix}valid"))
            m.d.comb += getattr(axi, f"{prefix}ready").eq(bursts.ready)
        m.d.comb += [
            self.busy.eq(writer.busy | reader.busy),
            writer.beats.payload.data.eq(axi.wdata),
            writer.beats.payload.strobes.eq(axi.wstrb),
            writer.beats.valid.eq(axi.wvalid),
            axi.wready.eq(writer.beats.ready),
            axi.bid.eq(writer.answers.payload.id),
            axi.bresp.eq(writer.answers.payload.response),
            axi.bvalid.eq(writer.answers.valid),
            writer.answers.ready.eq(axi.bready),
            axi.rid.eq(reader.beats.payload.id),
            axi.rdata.eq(reader.beats.payload.data),
            axi.rresp.eq(reader.beats.payload.response),
            axi.rlast.eq(reader.beats.payload.last),
            axi.rvalid.eq(reader.beats.valid),
            reader.beats.ready.eq(axi.rready),
        ]
        for engine in range(self.params.engines):
            connect(m, writer.load[engine], flipped(self.load[engine]))
            connect(m, reader.peek[engine], flipped(self.peek[engine]))
            connect(m, flipped(self.peeked[engine]), reader.peeked[engine])
