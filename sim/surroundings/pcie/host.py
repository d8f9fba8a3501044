"""Simulates AMD's block for PCI Express, a link and a host with memory, inside the design."""

from amaranth.hdl import ClockSignal, Const, Instance, Module, Mux, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.streams import connect_by
from hdl.pcie.axis import PcieStreamSignature, rc_user, rq_user
from hdl.pcie.descriptors import Status
from hdl.pcie.write_fence import NUMBERS
from sim.surroundings.chance import random_bits
from sim.surroundings.pcie.completion_cutter import CompletionCutter
from sim.surroundings.pcie.completion_faults import CompletionFaults
from sim.surroundings.pcie.completion_packer import CompletionPacker
from sim.surroundings.pcie.params import COUNTS, READ_DEPTH, TIME_BITS, Fault, PcieHostParams
from sim.surroundings.pcie.request_taker import RequestTaker

BUFFER = 16  #: completions that the block holds while RC waits
PASSING = 16  #: cycles from a packet's first beat until nothing can pass it inside the block


class PcieHost(Component):
    """Shows a card, by RQ and RC, a host that answers reads from its memory and takes writes.

    Host memory is what the file that ``host_file(index, ...)`` names held at first, from address 0
    on; ``index`` must be constant. The link carries ``settings.rate`` in each direction, of which
    packets take their data, headers and framing (:mod:`sim.golden.pcie_link`); what keeps a link
    up, which is about one percent, is not counted. Completions are divided and ordered as
    ``settings`` say, and straddle on RC. ``counts`` say what there was (:data:`COUNTS`).

    With a chance of ``settings.faults`` a completion has one of :class:`Fault`, each as often, as
    the block hands it on; while ``resets`` is high it ends all reads because of a reset of the
    function. ``traffic`` shows each read, and what the block hands on, in order.

    ``numbers`` tell of each packet that nothing can pass it any more. A processor beside the card
    has an ``access`` a cycle, ``accessed`` is what the beat held. When ``dump`` rises, the contents
    go to the file that ``host_dump(index, ...)`` names.

    Latency: ``settings.latency`` cycles, at least :attr:`least_latency`, from a read on RQ to its
    first beat of RC, and those in which the link carries its bytes. Throughput: a read and a beat
    a cycle. Stalls: while RC waits, so do completions, in front of the link too.
    """

    least_latency = (
        1 + CompletionCutter.latency + CompletionFaults.latency + 1 + CompletionPacker.latency
    )

    def __init__(self, params: PcieHostParams) -> None:
        bits = params.data_bits
        super().__init__(
            params,
            rq=In(PcieStreamSignature(data_bits=bits, user=rq_user(bits))),
            rc=Out(PcieStreamSignature(data_bits=bits, user=rc_user(bits))),
            credits=Out(4),
            numbers=Out(NUMBERS),
            index=In(8),
            settings=In(params.settings),
            resets=In(1),
            traffic=Out(params.traffic),
            dump=In(1),
            counts=Out(COUNTS),
            access=In(params.access),
            accessed=Out(bits),
        )

    def build(self, m: Module) -> None:
        params, settings = self.params, self.settings
        m.submodules.taker = taker = RequestTaker(params)
        m.submodules.cutter = cutter = CompletionCutter(params)
        m.submodules.packer = packer = CompletionPacker(params)
        depth = FifoParams(shape=params.timed_read, depth=READ_DEPTH, style="distributed")
        connect_by(m, "path", Fifo(depth), taker.reads, cutter.reads)
        depth = FifoParams(shape=params.completion, depth=BUFFER, style="distributed")
        m.submodules.faults = faults = CompletionFaults(params)
        connect(m, cutter.completions, faults.completions)
        connect_by(m, "buffer", Fifo(depth), faults.handed, packer.completions)
        connect(m, flipped(self.rq), taker.rq)
        connect(m, packer.rc, flipped(self.rc))
        now = Signal(TIME_BITS)
        start = settings.seed ^ (self.index * Const(0x9E3779B9, 32)) | (1 << 40)
        chance = random_bits(m, start, bits=64)
        least = self.least_latency
        m.d.sync += now.eq(now + 1)
        m.d.comb += [
            taker.settings.eq(settings),
            taker.now.eq(now),
            taker.delay.eq(Mux(settings.latency < least, 0, settings.latency - least)),
            taker.stalls.eq(chance[:8] < settings.stall),
            taker.answered.eq(cutter.answered),
            self.credits.eq(taker.credits),
            self.numbers[0].eq(delay(m, taker.reported, PASSING, "reported", reset_less=False)),
            cutter.settings.eq(settings),
            cutter.now.eq(now),
            cutter.random.eq(chance[16:32]),
            cutter.fault.eq(Mux(chance[32:48] < settings.faults, chance[48:52], Fault.NONE)),
            cutter.resets.eq(self.resets),
            faults.settings.eq(settings),
            faults.now.eq(now),
            faults.resets.eq(self.resets),
            packer.stalls.eq(chance[8:16] < settings.stall),
        ]
        lost = self.add_array(m, taker, packer)
        self.count(m, taker, cutter, lost)
        self.follow(m, taker, packer)

    def follow(self, m: Module, taker: RequestTaker, packer: CompletionPacker) -> None:
        """Show each read as it is taken, and each completion as the block hands it on."""
        read, completion, handed = self.traffic.read, self.traffic.completion, packer.completions
        taken = taker.reads.payload.read
        m.d.comb += [
            read.valid.eq(taker.event.read),
            read.address.eq(taken.place << 2),
            read.bytes.eq(taken.bytes),
            read.tag.eq(taken.tag),
            completion.valid.eq(handed.valid & handed.ready),
            completion.descriptor.eq(handed.payload.descriptor),
            completion.discontinued.eq(handed.payload.discontinued),
        ]

    def add_array(self, m: Module, taker: RequestTaker, packer: CompletionPacker) -> Signal:
        """Add host memory; return whether a part of the beat written before is lost."""
        params, write, access, lost = self.params, taker.write, self.access, Signal()
        m.submodules.array = Instance(
            "pcie_host_array",
            p_LANES=params.lanes,
            p_PLACE_BITS=params.place_bits,
            p_INDEX_BITS=params.index_bits,
            i_clk=ClockSignal(),
            i_index=self.index,
            o_size=taker.size,
            i_read=packer.fetch,
            i_places=packer.places,
            o_read_data=packer.result,
            i_write=write.valid,
            i_write_place=write.place,
            i_write_data=write.data,
            i_write_enable=write.enables,
            o_lost=lost,
            i_processor=access.valid,
            i_processor_beat=access.beat,
            i_processor_write_data=access.data,
            i_processor_write_enable=access.strobes,
            o_processor_read_data=self.accessed,
            i_dump=self.dump,
        )
        return lost

    def count(self, m: Module, taker: RequestTaker, cutter: CompletionCutter, lost: Signal) -> None:
        """Count what the link carries."""
        counts, event, out = self.counts, taker.event, cutter.completions
        carried = out.valid & out.ready & ~out.payload.hidden
        said = out.payload.descriptor
        for name, happens, by in (
            ("reads", event.read, 1),
            ("writes", event.write, 1),
            ("up", event.read | event.write, event.bytes),
            ("completions", carried, 1),
            ("down", carried, cutter.bytes),
            ("payload", carried, said.dwords << 2),
            ("unsupported", carried & (said.status == Status.UNSUPPORTED), 1),
            ("lost", lost | taker.lost, lost + taker.lost),
        ):
            with m.If(happens):
                m.d.sync += counts[name].eq(counts[name] + by)
        with m.If(taker.under_way > counts.most):
            m.d.sync += counts.most.eq(taker.under_way)
