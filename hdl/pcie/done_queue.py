"""Decides whose data is handed on next: reads go in the order in which they complete."""

from typing import Any

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory

from hdl.common.arithmetic import data_register
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.read_queue import overdue, queue_ports


class DoneQueue(Component):
    """Emits the reads of ``order`` as ``turns``, in the order in which ``ends`` reports their ends.

    If two reads end in a cycle, entry 0 of ``ends`` goes first. A read times out when two ticks
    have passed since it was sent (``epoch`` counts ticks), and ``stop`` ends all reads in the same
    way: ``abandoned`` then has the read's tag for a cycle. One tag is checked in every cycle; a tag
    that is late is checked for a second cycle. A read that ends after it was abandoned is not
    handed on again. ``busy`` is high while reads wait.

    Throughput: a read a cycle. Latency: :attr:`latency` from ``ends``. Stalls: reads wait; there is
    room for one of each tag. The input ``done`` is not used.
    """

    latency = 3

    def __init__(self, params: ReadRequesterParams) -> None:
        super().__init__(params, queue_ports(params))

    def build(self, m: Module) -> None:
        params, tags = self.params, self.params.tags
        entry = data.StructLayout({"ends": params.ends, "timed_out": 1, "stopped": 1})
        m.submodules.queue = queue = Fifo.sized(
            shape=entry, depth=tags, style="distributed", refuses=False
        )
        entering, awaited, gone = Signal(entry), Signal(tags), Signal(params.ends)
        self.abandon(m, awaited)
        m.d.comb += gone.eq(self.ends)
        with m.If(self.abandoned.valid):
            m.d.comb += [gone[0].valid.eq(1), gone[0].tag.eq(self.abandoned.tag)]
        m.d.sync += [entering.timed_out.eq(self.abandoned.valid), entering.stopped.eq(self.stop)]
        for end, reported in zip(gone, entering.ends, strict=True):
            m.d.sync += [
                reported.valid.eq(end.valid & Array(awaited)[end.tag]),
                reported.tag.eq(end.tag),
            ]
        provided = bit(self.order.payload.tag, self.order.valid, tags)
        went = [bit(end.tag, end.valid, tags) for end in gone]
        m.d.sync += awaited.eq((awaited & ~went[0] & ~went[1]) | provided)
        comes = entering.ends[0].valid | entering.ends[1].valid
        m.d.comb += [
            queue.i.valid.eq(comes),
            queue.i.payload.eq(entering),
            self.order.ready.eq(1),
            self.busy.eq(awaited.any() | comes | queue.level.any() | self.turns.valid),
        ]
        self.take(m, queue, entry)

    def abandon(self, m: Module, awaited: Signal) -> None:
        """Check one tag after the other; abandon one that is late for two cycles, if none ends."""
        at = Signal(self.params.tag_bits)
        late, was_late = Signal(), Signal()
        ends = self.ends[0].valid | self.ends[1].valid
        sent = self.look_up(m, "epoch", at)
        m.d.comb += [
            late.eq(Array(awaited)[at] & (self.stop | overdue(self.epoch, sent))),
            self.abandoned.valid.eq(was_late & ~ends),
            self.abandoned.tag.eq(at),
        ]
        m.d.sync += was_late.eq(late & ~was_late & ~ends)  # so no ended read is abandoned
        with m.If(~late | self.abandoned.valid):
            m.d.sync += at.eq(at + 1)

    def take(self, m: Module, queue: Fifo, entry: data.StructLayout) -> None:
        """Emit the one or two reads of an entry, one after the other."""
        turn = data_register(m, self.turns.payload)
        oldest = queue.o.payload
        second = Signal()  # the first of two reads has gone
        head_alone = second | ~oldest.ends[0].valid
        tag = Mux(head_alone, oldest.ends[1].tag, oldest.ends[0].tag)
        read = self.look_up(m, "read", tag)
        goes = queue.o.valid & (~self.turns.valid | self.turns.ready)
        leaves = head_alone | ~oldest.ends[1].valid
        m.d.comb += queue.o.ready.eq(goes & leaves)
        with m.If(goes):
            m.d.sync += second.eq(~leaves)
        with m.If(~self.turns.valid | self.turns.ready):
            m.d.sync += [
                self.turns.valid.eq(queue.o.valid),
                turn.tag.eq(tag),
                turn.read.eq(read),
                turn.timed_out.eq(oldest.timed_out),
                turn.stopped.eq(oldest.stopped),
            ]

    def look_up(self, m: Module, field: str, tag: Value) -> Any:
        """Return a field of the entry that ``order`` had for the read of ``tag``."""
        sent = self.order.payload
        m.submodules[field] = words = memory.Memory(
            shape=self.params.waiting[field].shape,
            depth=self.params.tags,
            init=[],
            attrs={"ram_style": "distributed"},
        )
        read, write = words.read_port(domain="comb"), words.write_port()
        m.d.comb += [
            read.addr.eq(tag),
            write.en.eq(self.order.valid),
            write.addr.eq(sent.tag),
            write.data.eq(sent[field]),
        ]
        return read.data


def bit(tag: Value, valid: Value, tags: int) -> Value:
    """Return the one-hot code of a tag, or 0 if it is not ``valid``."""
    return Mux(valid, Const(1, tags) << tag, 0)[:tags]
