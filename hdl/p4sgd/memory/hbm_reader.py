"""Reads an engine's words from several memory ports side by side (P4SGD, section 4.1.1)."""

from amaranth.hdl import Cat, Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import low_bits
from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.read_master import ReadMaster
from hdl.common.read_plan import ReadMasterParams
from hdl.p4sgd.engine.params import BURST_BEATS, PORT_BITS
from hdl.p4sgd.worker_params import WorkerParams


def port_reader(params: WorkerParams) -> ReadMasterParams:
    """Return the sizes of the reader of one memory port of a worker."""
    return ReadMasterParams(
        address_bits=params.address_bits,
        data_bits=PORT_BITS,
        burst_beats=BURST_BEATS,
        prefetch_beats=params.prefetch_beats,
    )


class HbmReader(Component):
    """Reads ``plan`` from every port at once; a word is one beat of each.

    Port p carries bits [256 p, 256 p + 256) of a word, so a word has the same beat address on every
    port; bits of the last port's beat beyond the word are ignored. A plan is taken when ``busy`` is
    low, by all ports together. ``halt`` and ``busy`` are those of ``ReadMaster``; ``failed`` is
    high for one cycle when a beat of at least one port did not answer OKAY. ``bus`` of each port is
    ``ReadMaster``'s.

    Throughput: one word a cycle. Latency: that of the ``ReadMaster`` of the slowest port. Stalls:
    each port reads ahead into its own buffer, so stalls of ports at different times do not add up.
    """

    plan_latency = ReadMaster.plan_latency

    def __init__(self, params: WorkerParams) -> None:
        self.reader = port_reader(params)
        super().__init__(
            params,
            plan=In(stream.Signature(self.reader.plan)),
            words=Out(stream.Signature(params.engine.word)),
            m_axi=Out(self.reader.port.read_bus).array(params.ports),
            halt=In(1),
            watch=In(WATCH),
            bus=Out(BUS).array(params.ports),
            busy=Out(1),
            failed=Out(1),
        )

    def build(self, m: Module) -> None:
        readers = [ReadMaster(self.reader) for _ in range(self.params.ports)]
        taken = Cat(reader.plan.ready for reader in readers).all()
        complete = Cat(reader.o.valid for reader in readers).all()
        payload = Cat(reader.o.payload for reader in readers)
        for index, reader in enumerate(readers):
            m.submodules[f"reader_{index}"] = reader
            connect(m, reader.axi, flipped(self.m_axi[index]))
            m.d.comb += [
                reader.plan.payload.eq(self.plan.payload),
                reader.plan.valid.eq(self.plan.valid & taken),
                reader.o.ready.eq(self.words.ready & complete),
                reader.halt.eq(self.halt),
                reader.watch.eq(self.watch),
                self.bus[index].eq(reader.bus),
            ]
        m.d.comb += [
            self.plan.ready.eq(taken),
            self.words.valid.eq(complete),
            self.words.payload.eq(low_bits(payload, self.params.engine.word_bits)),
            self.busy.eq(Cat(reader.busy for reader in readers).any()),
            self.failed.eq(Cat(reader.failed for reader in readers).any()),
        ]
