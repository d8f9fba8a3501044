"""Lets reads be handed on as they complete, in whatever order."""

from typing import Any

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory

from hdl.common.arithmetic import data_register
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.read_queue import overdue, queue_ports


class DoneQueue(Component):
    """``turns`` are the reads of ``order`` in the order in which they are among ``ends``.

    Of two that end in a cycle the first one is first. A read is given up, as ``abandoned`` shows
    for a cycle, when two ticks have passed since it was sent, which ``epoch`` counts, or while
    ``stop`` is high: a tag is looked at in every cycle, two cycles long if it is late. What ends
    later is not handed on. ``busy``: reads wait.

    Throughput: a read a cycle. Latency: :attr:`latency` from ``ends``. Stalls: reads wait, as many
    as there are tags. ``done`` is not looked at.
    """

    latency = 3

    def __init__(self, params: ReadRequesterParams) -> None:
        super().__init__(params, queue_ports(params))

    def elaborate(self, platform) -> Module:
        m = Module()
        params, tags = self.params, self.params.tags
        entry = data.StructLayout({"ends": params.ends, "given_up": 1, "stopped": 1})
        m.submodules.queue = queue = Fifo(
            FifoParams(width=entry.size, depth=tags, style="distributed", refuses=False)
        )
        entering, awaited, gone = Signal(entry), Signal(tags), Signal(params.ends)
        self.give_up(m, awaited)
        m.d.comb += gone.eq(self.ends)
        with m.If(self.abandoned.valid):
            m.d.comb += [gone[0].valid.eq(1), gone[0].tag.eq(self.abandoned.tag)]
        m.d.sync += [entering.given_up.eq(self.abandoned.valid), entering.stopped.eq(self.stop)]
        for end, told in zip(gone, entering.ends, strict=True):
            m.d.sync += [
                told.valid.eq(end.valid & Array(awaited)[end.tag]),
                told.tag.eq(end.tag),
            ]
        given = bit(self.order.payload.tag, self.order.valid, tags)
        went = [bit(end.tag, end.valid, tags) for end in gone]
        m.d.sync += awaited.eq((awaited & ~went[0] & ~went[1]) | given)
        comes = entering.ends[0].valid | entering.ends[1].valid
        m.d.comb += [
            queue.i.valid.eq(comes),
            queue.i.payload.eq(entering),
            self.order.ready.eq(1),
            self.busy.eq(awaited.any() | comes | queue.level.any() | self.turns.valid),
        ]
        self.take(m, queue, entry)
        return m

    def give_up(self, m: Module, awaited: Signal) -> None:
        """Look at a tag after the other; give one up that is late for two cycles, if none ends."""
        at = Signal(self.params.tag_bits)
        late, was_late = Signal(), Signal()
        ends = self.ends[0].valid | self.ends[1].valid
        sent = self.look_up(m, "epoch", at)
        m.d.comb += [
            late.eq(Array(awaited)[at] & (self.stop | overdue(self.epoch, sent))),
            self.abandoned.valid.eq(was_late & ~ends),
            self.abandoned.tag.eq(at),
        ]
        m.d.sync += was_late.eq(late & ~was_late & ~ends)  # so what ended before is not awaited
        with m.If(~late | self.abandoned.valid):
            m.d.sync += at.eq(at + 1)

    def take(self, m: Module, queue: Fifo, entry: data.StructLayout) -> None:
        """Let the one or two reads of an entry have their turns."""
        turn = data_register(m, self.turns.payload)
        oldest = entry(queue.o.payload)
        second = Signal()  # the first one of two has gone
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
                turn.given_up.eq(oldest.given_up),
                turn.stopped.eq(oldest.stopped),
            ]

    def look_up(self, m: Module, field: str, tag: Value) -> Any:
        """Return a field of the entry of ``order`` that the read of ``tag`` has had."""
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
    """Return the bit of a tag, or none."""
    return Mux(valid, Const(1, tags) << tag, 0)[:tags]
