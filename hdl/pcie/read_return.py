"""Hands the data of reads on, in the order of requests or of completion."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.reserved_fifo import ReservedFifo
from hdl.pcie.descriptors import Cause
from hdl.pcie.done_queue import DoneQueue
from hdl.pcie.params import EPOCH, PLACE_BITS, ReadRequesterParams
from hdl.pcie.read_buffer import ReadBuffer
from hdl.pcie.read_queue import ReadQueue

QUEUE = 8  #: beats on their way out of the buffer, or waiting


class ReadReturn(Component):
    """Emits the data of each read of ``order`` as ``beats``, one read after the other.

    A :class:`ReadQueue` decides which read is next and which ones are abandoned; without
    ``params.in_order`` a :class:`DoneQueue` does. ``left`` has a tag in the cycle in which the last
    beat of its read is read from the buffer. A read that fails has all its beats, too. From its
    first beat to the next ``beats.last``, or to ``forget``, ``beats.cause`` is the cause of the
    first failure, and the data is invalid. ``failure`` reports a read that has failed, and clears
    its bit of ``open``.

    Throughput: a beat a cycle, from read to read. Latency: :attr:`latency` from ``ends``. Stalls:
    up to :data:`QUEUE` beats wait here. ``at`` is the read address of a :class:`ReadBuffer`, which
    answers with ``data``.
    """

    def __init__(self, params: ReadRequesterParams) -> None:
        self.turns = ReadQueue if params.in_order else DoneQueue
        self.latency = self.turns.latency + 1 + ReadBuffer(params).latency
        super().__init__(
            params,
            stop=In(1),
            forget=In(1),
            epoch=In(EPOCH),
            order=In(stream.Signature(params.waiting)),
            left=Out(params.of_tag),
            busy=Out(1),
            ends=In(params.ends),
            done=In(params.tags),
            open=In(params.tags),
            failure=In(params.failure),
            abandoned=Out(params.of_tag),
            at=Out(params.tag_bits + params.line_bits),
            data=In(params.data_bits),
            beats=Out(stream.Signature(params.beat)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        turn, valid, leaves, waits = self.wait(m)
        m.submodules.queue = queue = ReservedFifo.sized(shape=params.beat, depth=QUEUE, passes=True)
        line = Signal(params.line_bits)
        final, reads = Signal(), Signal()  # the read's last line; a line is read now
        shift = params.lane_bits + 2
        m.d.comb += [
            final.eq(line == turn.read.top[shift:]),
            reads.eq(valid & queue.room),
            leaves.eq(reads & final),
            self.left.valid.eq(leaves),
            self.left.tag.eq(turn.tag),
            queue.reserve.eq(reads),
        ]
        with m.If(reads):
            m.d.sync += line.eq(Mux(final, 0, (line + 1)[: len(line)]))
        looked = Signal(self.looked(), reset_less=True)
        m.d.sync += [
            looked.tag.eq(turn.tag),
            looked.line.eq(line),
            looked.failed.eq(~Array(self.open)[turn.tag]),
            looked.timed_out.eq(turn.timed_out),
            looked.stopped.eq(turn.stopped),
            looked.bytes.eq(Mux(final, turn.read.top[:shift] + 1, 1 << shift)),
            looked.last.eq(final & (turn.read.last if params.in_order else 1)),
            looked.user.eq(turn.read.user),
        ]
        if not params.in_order:
            m.d.sync += looked.place.eq((turn.read.place + (line << shift))[:PLACE_BITS])
        went = delay(m, reads, 1, "went", reset_less=False)
        m.d.comb += self.at.eq(Cat(looked.line, looked.tag))
        beats = self.push(m, queue, looked, went, self.cause(m, looked, went))
        m.d.comb += self.busy.eq(waits | went | beats)

    def looked(self) -> data.StructLayout:
        """Describe a line that is being read, and the state of its read at that time."""
        params = self.params
        return data.StructLayout(
            {
                "tag": params.tag_bits,
                "line": params.line_bits,
                "failed": 1,
                "timed_out": 1,
                "stopped": 1,
                "bytes": params.lane_bits + 3,
                "last": 1,
                "user": params.user_bits,
                **params.placed_in_request,
            }
        )

    def wait(self, m: Module) -> tuple[Any, Value, Signal, Value]:
        """Return the next read, if there is one, the signal to raise when it leaves, and busy."""
        m.submodules.turns = turns = self.turns(self.params)
        connect(m, flipped(self.order), turns.order)
        m.d.comb += [
            turns.stop.eq(self.stop),
            turns.epoch.eq(self.epoch),
            turns.ends.eq(self.ends),
            turns.done.eq(self.done),
            self.abandoned.eq(turns.abandoned),
            turns.turns.ready.eq(leaves := Signal(name="leaves")),
        ]
        return turns.turns.payload, turns.turns.valid, leaves, turns.busy

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
        with m.If(looked.timed_out):
            m.d.comb += own.eq(Mux(looked.stopped, Cause.STOPPED, Cause.TIMEOUT))
        with m.Elif(looked.failed):
            m.d.comb += own.eq(read.data)
        m.d.sync += said.eq(cause)
        with m.If(went):
            m.d.sync += before.eq(Mux(looked.last, Cause.NONE, cause))
        with m.Elif(self.forget):
            m.d.sync += before.eq(Cause.NONE)
        return said

    def push(self, m: Module, queue: ReservedFifo, looked: Any, went: Signal, said: Any) -> Value:
        """Add a line to the queue when it has come out of the buffer; return whether any waits."""
        cycles = ReadBuffer(self.params).latency
        line = delay(m, looked, cycles, "line")
        beat = queue.payload
        connect(m, queue.o, flipped(self.beats))
        under_way = Signal(cycles)
        m.d.sync += under_way.eq(Cat(went, under_way)[:cycles])
        m.d.comb += [
            queue.push.eq(under_way[-1]),
            beat.data.eq(self.data),
            beat.bytes.eq(line.bytes),
            beat.last.eq(line.last),
            beat.user.eq(line.user),
            beat.cause.eq(delay(m, said, cycles - 1, "why")),
        ]
        if not self.params.in_order:
            m.d.comb += beat.place.eq(line.place)
        return under_way.any() | queue.o.valid
