"""Answers reads as a root complex does: completions in some legal order, at the link's rate."""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import looked_up, low_bits
from hdl.common.component import Component
from hdl.pcie.descriptors import COMPLETION_DWORDS, ErrorCode, Status
from sim.golden.pcie_link import completion_bytes
from sim.surroundings.pcie.completion_faults import ends_read, spoiled
from sim.surroundings.pcie.params import (
    RATE_BITS,
    SIZE_BITS,
    TIME_BITS,
    WINDOW,
    Fault,
    PcieHostParams,
    Split,
)

PAYLOADS = 6  #: sizes of the largest payload: 128 << 0..5 bytes


class CompletionCutter(Component):
    """Answers ``reads`` whose time has come by ``completions``, as ``settings`` say.

    Up to ``settings.window`` reads are answered at the same time, a part of one picked at random
    after the other, each in the order of its addresses. With a window of one all are in order. With
    a chance of ``settings.slow`` in 256 the first part of a read comes ``settings.late`` cycles
    later. A read of what the host does not have is answered as unsupported. ``fault`` is what is
    wrong with a completion that is made in this cycle; while ``resets`` is high, reads end at once
    because of it. A completion leaves
    when the link has carried its last byte. ``answered`` is high with the last one of a read.

    Throughput: a completion a cycle, or as many as ``settings.rate`` allows. Latency:
    :attr:`latency` from a read to its first completion, without what its bytes take. Stalls: the
    host waits.
    """

    latency = 2

    def __init__(self, params: PcieHostParams) -> None:
        super().__init__(
            params,
            reads=In(stream.Signature(params.timed_read)),
            settings=In(params.settings),
            now=In(TIME_BITS),
            random=In(16),
            fault=In(Fault),
            resets=In(1),
            completions=Out(stream.Signature(params.completion)),
            bytes=Out(SIZE_BITS),
            answered=Out(1),
        )

    def build(self, m: Module) -> None:
        read, held, goes, final = Signal(self.params.read), Signal(), Signal(), Signal()
        count = Signal(11)  # dwords of its next completion
        fault = Signal(Fault)  # of that
        self.hold(m, read, held, goes, final, count)
        m.d.comb += [
            count.eq(Mux(read.nowhere, 0, self.dwords(m, read)[:11])),
            final.eq(read.nowhere | (count == read.dwords) | ends_read(fault)),
            fault.eq(Mux(self.resets, Fault.RESET, self.fault)),
        ]
        out, good = self.completions, Signal(self.params.completion)
        self.say(m, good, read, count, read.nowhere | (count == read.dwords))
        next_one = spoiled(m, good, fault)
        waits, waiting = Signal(), Signal(self.params.completion)
        ends = Signal()  # it is the last one of its read
        paid = Signal(RATE_BITS + SIZE_BITS + 1)  # bytes of it that the link has carried
        owed = Signal(RATE_BITS + SIZE_BITS)
        beside = completion_bytes(0) - 4 * COMPLETION_DWORDS  # its descriptor
        now_paid = paid + self.settings.rate
        m.d.comb += [
            self.bytes.eq(((waiting.dwords << 2) + beside)[:SIZE_BITS]),
            owed.eq(self.bytes << RATE_BITS),
            out.valid.eq(waits & (now_paid >= owed)),
            out.payload.eq(waiting),
            self.answered.eq(out.valid & out.ready & ends),
            goes.eq(held & (~waits | (out.valid & out.ready))),
        ]
        with m.If(out.valid & out.ready):  # what the link carries beyond it is of the next one
            rest = (now_paid - owed)[: len(paid)]
            m.d.sync += [
                paid.eq(Mux(goes, Mux(rest > self.settings.rate, self.settings.rate, rest), 0)),
                waits.eq(0),
            ]
        with m.Elif(waits & (now_paid < owed)):
            m.d.sync += paid.eq(now_paid[: len(paid)])
        with m.If(goes):
            m.d.sync += [waits.eq(1), waiting.eq(next_one), ends.eq(final)]

    def hold(
        self, m: Module, read: Any, held: Signal, goes: Signal, final: Signal, count: Signal
    ) -> None:
        """Hold reads whose time has come, and let one of them be the next ``read``."""
        params = self.params
        slots = [Signal(params.read, name=f"slot_{k}") for k in range(WINDOW)]
        used, ready = Signal(WINDOW), Signal(WINDOW)
        slow = self.random[8:] < self.settings.slow
        due = Signal(TIME_BITS)
        free, chosen = Signal(range(WINDOW)), Signal(range(WINDOW))
        any_free = Signal()
        provided = self.reads.payload
        ripe = self.resets | ~(self.now - provided.due)[TIME_BITS - 1]
        now_used = Signal(WINDOW)  # without the one that ends in this cycle
        m.d.comb += [
            now_used.eq(used & ~Mux(goes & final, Const(1, WINDOW) << chosen, 0)),
            due.eq((self.now + Mux(slow, self.settings.late, 0))[:TIME_BITS]),
            held.eq(ready.any()),
            read.eq(Array(slots)[chosen]),
            self.reads.ready.eq(any_free & ripe),
        ]
        for k in reversed(range(WINDOW)):
            with m.If(~now_used[k] & (k < self.settings.window)):
                m.d.comb += [free.eq(k), any_free.eq(1)]
            place = (self.random + k)[:3]
            with m.If(Array(ready)[place]):
                m.d.comb += chosen.eq(place)
        taken = self.reads.valid & self.reads.ready
        m.d.sync += used.eq(now_used | Mux(taken, Const(1, WINDOW) << free, 0))
        for k, slot in enumerate(slots):
            begins = Signal(TIME_BITS, name=f"begins_{k}")
            waits = Signal(name=f"waits_{k}")
            early = waits & (self.now - begins)[TIME_BITS - 1]
            m.d.comb += ready[k].eq(used[k] & (self.resets | ~early))
            with m.If(ready[k]):
                m.d.sync += waits.eq(0)
            with m.If(goes & (chosen == k)):
                m.d.sync += [
                    slot.place.eq(low_bits(read.place + count, params.place_bits)),
                    slot.dwords.eq(read.dwords - count),
                    slot.bytes.eq((read.bytes + read.skip - (count << 2))[:13]),
                    slot.skip.eq(0),
                ]
            with m.If(taken & (free == k)):
                m.d.sync += [slot.eq(provided.read), begins.eq(due), waits.eq(1)]

    def dwords(self, m: Module, read: Any) -> Value:
        """Return how many dwords of a read its next completion has, if it has data."""
        settings = self.settings
        most, boundary, max_mask = Signal(11), Signal(6), Signal(11)
        with m.Switch(settings.payload):
            for k in range(PAYLOADS):
                with m.Case(k):
                    m.d.comb += most.eq(32 << k)
        boundaries = Mux(settings.boundary, 32, 16)
        m.d.comb += [boundary.eq(boundaries), max_mask.eq(most - 1)]
        beyond = read.place & (boundary - 1)[:6]  # dwords behind the last boundary
        # A random multiple of the boundary below the largest payload.
        some = (self.random[4:12] << Mux(settings.boundary, 5, 4)) & max_mask
        room = Signal(12)
        with m.Switch(settings.split):
            with m.Case(Split.LARGEST):
                m.d.comb += room.eq(Mux(read.dwords <= most, most, most - beyond))
            with m.Case(Split.ALIGNED):
                m.d.comb += room.eq(most - (read.place & max_mask))
            with m.Case(Split.EVERY):
                m.d.comb += room.eq(boundary - beyond)
            with m.Case(Split.RANDOM):
                m.d.comb += room.eq((some + boundary - beyond)[:12])
        return Mux(read.dwords <= room, read.dwords, room)

    def say(self, m: Module, completion: Any, read: Any, count: Signal, final: Value) -> None:
        """Write the next completion of ``read``, of ``count`` dwords of data."""
        said = completion.descriptor
        ends = (read.skip + read.bytes)[:2]  # bytes of the read's last dword, 0 if all
        m.d.comb += [
            completion.first.eq(looked_up(lambda skip: 0xF << skip, read.skip, bits=4)),
            completion.last.eq(
                looked_up(
                    lambda all_of_it, ends: 0xF if all_of_it else (1 << (ends or 4)) - 1,
                    ~final,
                    ends,
                    bits=4,
                )
            ),
            completion.place.eq(read.place),
            completion.dwords.eq((count + COMPLETION_DWORDS)[:11]),
            said.address.eq(Cat(read.skip, read.place[:10])),
            said.remaining.eq(read.bytes),
            said.completed.eq(final),
            said.dwords.eq(count),
            said.tag.eq(read.tag),
            said.code.eq(Mux(read.nowhere, ErrorCode.BAD_STATUS, ErrorCode.GOOD)),
            said.status.eq(Mux(read.nowhere, Status.UNSUPPORTED, Status.SUCCESS)),
        ]
