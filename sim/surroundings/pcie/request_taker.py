"""Takes requests as the block and the link do: reads to be answered, writes into host memory."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import looked_up, low_bits
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.pcie.axis import PcieStreamSignature, rq_user
from hdl.pcie.descriptors import REQUEST, REQUEST_DWORDS, RequestType
from hdl.pcie.write_fence import NUMBERS
from sim.golden.pcie_link import read_bytes, write_bytes
from sim.surroundings.pcie.params import RATE_BITS, SIZE_BITS, TIME_BITS, PcieHostParams

CREDITS = 15  #: most that ``credits`` tells


class RequestTaker(Component):
    """Turns reads on ``rq`` into ``reads``, and each beat of a write into ``write`` or ``lost``.

    Each of ``reads`` carries the time at which it may leave the queue behind, by ``now``: ``delay``
    cycles after the next one. A packet is taken when the link has carried those before
    it. A read is taken while fewer than ``settings.reads`` are under way, of which one ends with
    each cycle of ``answered``; one that is not holds up all requests behind it, as in the
    block. ``credits`` is ``pcie_tfc_nph_av``: reads that the host takes, 15 if more. ``stalls``:
    nothing is taken.

    ``event`` tells, for a cycle, of a packet that begins, and its bytes on the link; ``reported``
    its number.
    """

    def __init__(self, params: PcieHostParams) -> None:
        bits = params.data_bits
        super().__init__(
            params,
            rq=In(PcieStreamSignature(data_bits=bits, user=rq_user(bits))),
            settings=In(params.settings),
            now=In(TIME_BITS),
            delay=In(12),
            size=In(params.place_bits + 1),
            stalls=In(1),
            answered=In(1),
            reads=Out(stream.Signature(params.timed_read)),
            write=Out(params.write),
            lost=Out(1),
            credits=Out(4),
            reported=Out(NUMBERS.elem_shape),
            under_way=Out(range(2049)),
            event=Out(data.StructLayout({"read": 1, "write": 1, "bytes": SIZE_BITS})),
        )

    def build(self, m: Module) -> None:
        rq, settings, event = self.rq, self.settings, self.event
        begins = Signal(init=1)
        descriptor = REQUEST(rq.tdata[: REQUEST.size])
        reads = begins & (descriptor.kind == RequestType.MEMORY_READ)
        left = Signal(RATE_BITS + SIZE_BITS)  # what the link has to carry yet, in 1/256 bytes
        room = self.under_way < settings.reads
        opens, moves = Signal(), Signal()
        written = write_bytes(0) + (descriptor.dwords << 2)
        m.d.comb += [
            opens.eq(~self.stalls & (~begins | (left < settings.rate)) & (room | ~reads)),
            rq.tready.eq(opens & (self.reads.ready | ~reads)),
            moves.eq(rq.tvalid & rq.tready),
            self.reads.valid.eq(rq.tvalid & opens & reads),
            self.reads.payload.due.eq(low_bits(self.now + 1 + self.delay, TIME_BITS)),
            event.read.eq(moves & reads),
            event.write.eq(moves & begins & ~reads),
            self.reported.valid.eq(moves & begins),
            self.reported.number.eq(self.number()),
            event.bytes.eq(Mux(reads, read_bytes(), written[:SIZE_BITS])),
        ]
        owed = left + Mux(moves & begins, event.bytes << RATE_BITS, 0)
        m.d.sync += [
            left.eq(Mux(owed < settings.rate, 0, owed - settings.rate)[: len(left)]),
            self.under_way.eq((self.under_way + event.read - self.answered)[:12]),
        ]
        free = (settings.reads - self.under_way).as_signed()
        m.d.sync += self.credits.eq(Mux(free < 0, 0, Mux(free > CREDITS, CREDITS, free))[:4])
        with m.If(moves):
            m.d.sync += begins.eq(rq.tlast)
        self.take_read(m, descriptor)
        self.take_write(m, descriptor, begins, moves & ~reads)
        expect(
            m,
            self,
            memory_alone_is_requested=lambda: (
                ~(moves & begins)
                | (descriptor.kind == RequestType.MEMORY_READ)
                | (descriptor.kind == RequestType.MEMORY_WRITE)
            ),
        )

    def enables(self) -> tuple[Value, Value]:
        """Return the enables of a packet's first and last dword, as RQ says them."""
        user = rq_user(self.params.data_bits)(self.rq.tuser)
        if self.params.data_bits == 256:
            return user.first_enable, user.last_enable
        return user.first_enable[0], user.last_enable[0]

    def number(self) -> Value:
        """Return a packet's number, as RQ says it."""
        user = rq_user(self.params.data_bits)(self.rq.tuser)
        if self.params.data_bits == 256:
            return Cat(user.number_low, user.number_high)
        return user.number[0]

    def take_read(self, m: Module, descriptor: Any) -> None:
        """Find what a read wants."""
        read, bits = self.reads.payload.read, self.params.place_bits
        first, last = self.enables()
        ends = Mux(descriptor.dwords == 1, first, last)
        # Zeros below the first one of the enables, and above the last one.
        below = looked_up(
            lambda bits: (bits & -bits).bit_length() - 1 if bits else 0, first, bits=2
        )
        above = looked_up(lambda bits: 4 - bits.bit_length() if bits else 3, ends, bits=2)
        end = descriptor.address[:bits] + descriptor.dwords
        m.d.comb += [
            read.place.eq(descriptor.address[:bits]),
            read.dwords.eq(descriptor.dwords),
            read.skip.eq(below),
            read.bytes.eq((descriptor.dwords << 2) - below - above),
            read.tag.eq(descriptor.tag),
            read.nowhere.eq(descriptor.address[bits:].any() | (end > self.size)),
        ]

    def take_write(self, m: Module, descriptor: Any, begins: Signal, moves: Value) -> None:
        """Write a beat of a packet's data; what is outside of its place in memory is lost."""
        params, write = self.params, self.write
        lanes, bits = params.lanes, params.place_bits
        first, last = self.enables()
        dwords = Signal(11)  # that are left of the packet
        place = Signal(bits)
        ends = Signal(4)  # enables of the last one
        beyond = Signal()  # the packet is for what no address of host memory is
        now_beyond = Mux(begins, descriptor.address[bits:].any(), beyond)
        now_left, now_at = Mux(begins, descriptor.dwords, dwords), Signal(bits)
        near = Mux(begins, lanes - REQUEST_DWORDS, lanes)
        last_enable = Mux(begins, Mux(descriptor.dwords == 1, first, last), ends)
        enables = []
        for k in range(lanes):
            inner = Mux(begins, first, 15) if k == 0 else 15
            enable = Mux(now_left == k + 1, last_enable, inner)
            enables.append(Mux((now_left > k) & (near > k), enable, Const(0, 4)))
        m.d.comb += [
            now_at.eq(Mux(begins, descriptor.address[:bits], place)),
            write.valid.eq(moves & ~now_beyond),
            self.lost.eq(moves & now_beyond),
            write.place.eq(now_at),
            write.data.eq(Mux(begins, self.rq.tdata >> REQUEST.size, self.rq.tdata)),
            write.enables.eq(Cat(enables)),
        ]
        with m.If(moves):
            m.d.sync += [
                dwords.eq((now_left - near)[:11]),
                place.eq(low_bits(now_at + near, bits)),
                ends.eq(last_enable),
                beyond.eq(now_beyond),
            ]
