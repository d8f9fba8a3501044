"""Hands the data of reads on in the order of requests, and gives up those that do not come."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.fifo import DISTRIBUTED_WORDS, Fifo, FifoParams
from hdl.common.reserved_fifo import ReservedFifo, ReservedFifoParams
from hdl.pcie.descriptors import Cause
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.read_buffer import ReadBuffer

QUEUE = 8  #: beats on their way out of the buffer, or waiting


class ReadReturn(Component):
    """For each entry of ``order`` that is not skipped, in turn, ``beats`` has its read's data.

    A read leaves when it is ``done``, and already in the cycle before, when it is one of ``ends``;
    ``left`` is high in the cycle of its last beat's reading. It
    is given up, as ``abandoned`` shows for a cycle, if it is not done when it is its turn and
    either two ticks have passed since it was sent, which ``epoch`` counts, or ``stop`` is high. It
    has all its beats in any case. From the first beat of a read that has failed to the last beat of
    its request, or to ``forget``, ``beats.cause`` says why the first of them has, and their data is
    of no use. A failure comes by ``failure``, and clears the bit of ``open``.

    Throughput: a beat a cycle, from read to read. Latency: :attr:`latency` from ``ends``. Stalls:
    up to :data:`QUEUE` beats wait here. ``at`` is an address of a :class:`ReadBuffer`, of which
    ``data`` is the line.
    """

    def __init__(self, params: ReadRequesterParams) -> None:
        self.latency = 2 + ReadBuffer(params).latency
        super().__init__(
            params,
            {
                "stop": In(1),
                "forget": In(1),
                "epoch": In(2),
                "order": In(stream.Signature(params.waiting)),
                "left": Out(1),
                "busy": Out(1),
                "ends": In(params.ends),
                "done": In(params.tags),
                "open": In(params.tags),
                "failure": In(params.failure),
                "abandoned": Out(params.of_tag),
                "at": Out(params.tag_bits + params.line_bits),
                "data": In(params.data_bits),
                "beats": Out(stream.Signature(params.beat)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        leaves = Signal()
        entry, top, held, done = self.wait(m, leaves)
        m.submodules.queue = queue = ReservedFifo(
            ReservedFifoParams(width=params.beat.size, depth=QUEUE, passes=True)
        )
        line = Signal(params.line_bits)
        final = Signal()  # its last line is read
        reads = Signal()
        # Two ticks, or three.
        overdue = self.epoch[1] ^ entry.epoch[1] ^ (~self.epoch[0] & entry.epoch[0])
        shift = params.lane_bits + 2
        m.d.comb += [
            final.eq(line == top[shift:]),
            reads.eq(
                held & ~entry.skipped & queue.room & (done | overdue | self.stop | line.any())
            ),
            leaves.eq(held & (entry.skipped | (reads & final))),
            self.left.eq(leaves),
            queue.reserve.eq(reads),
            self.abandoned.valid.eq(reads & ~done & ~line.any()),
            self.abandoned.tag.eq(entry.tag),
        ]
        with m.If(reads):
            m.d.sync += line.eq(Mux(final, 0, (line + 1)[: len(line)]))
        looked = Signal(self.looked(), reset_less=True)
        m.d.sync += [
            looked.tag.eq(entry.tag),
            looked.line.eq(line),
            looked.failed.eq(~Array(self.open)[entry.tag]),
            looked.given_up.eq(~done & ~line.any()),
            looked.stopped.eq(self.stop),
            looked.bytes.eq(Mux(final, top[:shift] + 1, 1 << shift)),
            looked.last.eq(final & entry.last),
            looked.user.eq(entry.user),
        ]
        went = delay(m, reads, 1, "went", reset_less=False)
        m.d.comb += self.at.eq(Cat(looked.line, looked.tag))
        self.push(m, queue, looked, went, self.cause(m, looked, went))
        return m

    def looked(self) -> data.StructLayout:
        """Describe a line that is being read, and what was known of its read before."""
        params = self.params
        return data.StructLayout(
            {
                "tag": params.tag_bits,
                "line": params.line_bits,
                "failed": 1,
                "given_up": 1,
                "stopped": 1,
                "bytes": params.lane_bits + 3,
                "last": 1,
                "user": params.user_bits,
            }
        )

    def wait(self, m: Module, leaves: Signal) -> tuple[Any, Signal, Signal, Signal]:
        """Return the oldest entry of ``order``, the number of its read's last byte, whether there
        is an entry, and whether it is done.
        """
        params = self.params
        m.submodules.waiting = waiting = Fifo(
            FifoParams(
                width=params.waiting.size,
                depth=params.tags,
                output_register=params.tags > DISTRIBUTED_WORDS,
                refuses=False,  # tags are not given twice
            )
        )
        next_one = params.waiting(waiting.o.payload)
        entry, held, done = Signal(params.waiting, reset_less=True), Signal(), Signal()
        top = Signal(params.size_bits - 1, reset_less=True)
        m.d.comb += [
            waiting.i.payload.eq(self.order.payload),
            waiting.i.valid.eq(self.order.valid),
            self.order.ready.eq(waiting.i.ready),
            waiting.o.ready.eq(~held | leaves),
        ]
        m.d.sync += done.eq(self.is_done(entry.tag))
        with m.If(waiting.o.ready):
            m.d.sync += [
                entry.eq(next_one),
                top.eq((next_one.bytes - 1)[: len(top)]),
                held.eq(waiting.o.valid),
                done.eq(self.is_done(next_one.tag)),
            ]
        return entry, top, held, done

    def is_done(self, tag: Value) -> Value:
        """Return whether a read is done, or will be in the next cycle."""
        now = [end.valid & (end.tag == tag) for end in self.ends]
        return Array(self.done)[tag] | now[0] | now[1]

    def cause(self, m: Module, looked: Any, went: Signal) -> Any:
        """Return why the request has failed up to the line, a cycle later."""
        m.submodules.causes = causes = memory.Memory(
            shape=Cause, depth=self.params.tags, init=[], attrs={"ram_style": "distributed"}
        )
        write, read = causes.write_port(), causes.read_port(domain="comb")
        own, cause, said = Signal(Cause), Signal(Cause), Signal(Cause)
        before = Signal(Cause)  # of earlier beats of the request
        m.d.comb += [
            write.en.eq(self.failure.valid),
            write.addr.eq(self.failure.tag),
            write.data.eq(self.failure.cause),
            read.addr.eq(looked.tag),
            cause.eq(Mux(before != Cause.NONE, before, own)),
        ]
        with m.If(looked.given_up):
            m.d.comb += own.eq(Mux(looked.stopped, Cause.STOPPED, Cause.TIMEOUT))
        with m.Elif(looked.failed):
            m.d.comb += own.eq(read.data)
        m.d.sync += said.eq(cause)
        with m.If(went):
            m.d.sync += before.eq(Mux(looked.last, Cause.NONE, cause))
        with m.Elif(self.forget):
            m.d.sync += before.eq(Cause.NONE)
        return said

    def push(self, m: Module, queue: ReservedFifo, looked: Any, went: Signal, said: Any) -> None:
        """Add a line to the queue when it has come out of the buffer."""
        cycles = ReadBuffer(self.params).latency
        line = delay(m, looked, cycles, "line")
        beat, out = self.params.beat(queue.payload), self.beats
        under_way = Signal(cycles)
        m.d.sync += under_way.eq(Cat(went, under_way)[:cycles])
        m.d.comb += [
            queue.push.eq(under_way[-1]),
            self.busy.eq(went | under_way.any() | queue.o.valid),
            beat.data.eq(self.data),
            beat.bytes.eq(line.bytes),
            beat.last.eq(line.last),
            beat.user.eq(line.user),
            beat.cause.eq(delay(m, said, cycles - 1, "why")),
            Value.cast(out.payload).eq(queue.o.payload),
            out.valid.eq(queue.o.valid),
            queue.o.ready.eq(out.ready),
        ]
