"""Stores the packets of an input until their outputs take them, in one memory for all queues."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import count_ones, delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.common.packets import BEAT
from hdl.switch.forwarding.free_list import FreeList
from hdl.switch.forwarding.output_queues import OutputQueues
from hdl.switch.forwarding.params import ForwardingParams

#: beats that ``used`` does not have yet when room is decided
UNSEEN = 4
#: beats that may have come, but are not counted, when a pause shows: those of the ingress, of the
#: registers behind it, and UNSEEN
OWN_BEATS = 16
LEVEL_BITS = 16


def levels_layout() -> data.StructLayout:
    """Describe the numbers of waiting beats of a class that matter."""
    return data.StructLayout(dict.fromkeys(("pause_above", "resume_at", "ecn_above"), LEVEL_BITS))


class PacketMemory(Component):
    """Stores the packets of ``stored`` that stay, and sends them to their outputs when asked.

    ``requesting[o]`` has a bit for each class with packets for output o, if it is ``open`` there.
    ``turn`` chooses a queue while the input is ``idle``; then whole packets of this queue leave by
    ``beat``, for the outputs of ``to`` in class ``class_``, a beat a cycle without a gap, until it
    is empty or not ``open``, or others wait (``contended``) and ``params.burst`` beats have left. A
    packet for several outputs is read for each; its beats are free after the last.

    A packet that finds no room in its class's share of the memory is ``lost`` with its last beat.
    ``congested`` has a bit for each class of which more than ``levels.ecn_above`` beats wait;
    ``pause`` is high from ``pause_above`` to one at ``resume_at``, and after a reset until there
    is room.

    Latency: :attr:`latency` from a packet's last beat to ``requesting``, :attr:`turn_latency` from
    ``turn`` to its first beat. Two cycles pass without a beat between two turns.
    """

    latency = 1
    turn_latency = 2 + DualPortMemory.latency

    def __init__(self, params: ForwardingParams) -> None:
        super().__init__(
            params,
            stored=In(params.stored),
            levels=In(levels_layout()),
            requesting=Out(params.classes).array(params.ports),
            open=In(params.classes).array(params.ports),
            contended=In(1),
            turn=In(params.turn),
            idle=Out(1),
            to=Out(params.ports),
            class_=Out(params.class_bits),
            beat=Out(BEAT),
            lost=Out(1),
            pause=Out(params.classes),
            congested=Out(params.classes),
        )

    def build(self, m: Module) -> None:
        params, stored = self.params, self.stored
        memory = DualPortMemory.sized(
            shape=BEAT.size, depth=params.beats, style=params.style, mixed=True
        )
        m.submodules.packets = memory
        m.submodules.free = free = FreeList(params)
        room, lost, lost_before = Signal(params.classes), Signal(), Signal()
        takes, keep, some = Signal(), Signal(), Signal()
        m.d.comb += [
            lost.eq(lost_before | (stored.write & ~(free.ready & Array(room)[stored.class_]))),
            takes.eq(stored.write & ~lost),
            keep.eq(stored.keep & ~lost),
            some.eq(stored.mask.any()),
            self.lost.eq(stored.ends & stored.keep & some & lost),
            free.takes.eq(takes),
            free.ends.eq(stored.ends),
            free.keep.eq(keep & some),
            memory.write.eq(takes),
            memory.write_address.eq(free.address),
            memory.write_data.eq(stored.beat),
        ]
        m.d.sync += lost_before.eq(lost & ~stored.ends)
        queues = []
        for k in range(params.ports):
            m.submodules[f"queues_{k}"] = queue = OutputQueues(params)
            queues.append(queue)
            m.d.comb += [
                queue.write.eq(takes & stored.mask[k]),
                queue.ends.eq(stored.ends & stored.mask[k]),
                queue.keep.eq(keep),
                queue.class_.eq(stored.class_),
                queue.beat.address.eq(free.address),
                queue.beat.last.eq(stored.beat.last),
                queue.beat.copies.eq(count_ones(list(stored.mask))),
                queue.open.eq(self.open[k]),
                self.requesting[k].eq(queue.requesting),
            ]
        shown, entry, class_ = self.send(m, queues)
        m.d.comb += memory.read_address.eq(entry.address)
        m.d.comb += self.beat.eq(memory.read_data)
        self.free(m, free, shown, entry, class_)
        self.count(m, takes, stored.ends & ~free.keep, free, room)

    def send(self, m: Module, queues: list[OutputQueues]) -> tuple[Value, Any, Value]:
        """Read the beats of the queue whose turn it is; return whether one is shown, and which."""
        params = self.params
        active, to, class_ = Signal(), Signal(params.ports), Signal(params.class_bits)
        moved = Signal(range(params.burst + 1))
        entry = Signal(params.queued)
        shown, goes_on, ends = Signal(), Signal(), Signal()
        more = Cat(queue.more for queue in queues) & to
        room = Cat(Array(o)[class_] for o in self.open) & to
        m.d.comb += [
            shown.eq(Cat(queue.shown for queue in queues).any()),
            entry.eq(reduce(or_, (Mux(to[k], q.o.as_value(), 0) for k, q in enumerate(queues)))),
            goes_on.eq(more.any() & room.any() & ((moved != params.burst) | ~self.contended)),
            ends.eq(shown & entry.last & ~goes_on),
            self.idle.eq(~active),
        ]
        for k, queue in enumerate(queues):
            m.d.comb += [
                queue.reads.eq(active & to[k] & ~ends),
                queue.reads_class.eq(class_),
            ]
        with m.If(shown & (moved != params.burst)):
            m.d.sync += moved.eq((moved + 1)[: len(moved)])
        with m.If(ends):
            m.d.sync += active.eq(0)
        with m.If(self.turn.valid):
            m.d.sync += [
                active.eq(1),
                to.eq(self.turn.output),
                class_.eq(self.turn.class_),
                moved.eq(0),
            ]
        sent = Cat(to & shown.replicate(params.ports), class_)
        sent = delay(m, sent, DualPortMemory.latency, "sent", reset_less=False)
        m.d.comb += Cat(self.to, self.class_).eq(sent)
        return shown, entry, class_

    def free(self, m: Module, free: FreeList, shown: Value, entry, class_: Value) -> None:
        """Free the address of each beat that has been read for all its outputs."""
        params = self.params
        left = DualPortMemory.sized(
            shape=len(entry.copies), depth=params.beats, style="block", output_registers=0
        )
        m.submodules.left = left
        read = delay(m, shown, 1, "read", reset_less=False)
        address, copies = delay(m, entry.address, 1, "done"), delay(m, entry.copies, 1, "copies")
        now, rest = Signal.like(copies), Signal.like(copies)
        # An address that is free has none left; the first read begins with all copies.
        m.d.comb += [
            left.read_address.eq(entry.address),
            now.eq(Mux(left.read_data.any(), left.read_data, copies)),
            rest.eq((now - 1)[: len(rest)]),
            left.write.eq(read | ~free.ready),
            left.write_address.eq(Mux(free.ready, address, free.entered)),
            left.write_data.eq(Mux(free.ready, rest, 0)),
            free.frees.eq(read & (now == 1)),
            free.freed.eq(address),
        ]
        self.freed_class = delay(m, class_, 1, "freed_class")

    def count(self, m: Module, takes: Value, back: Value, free: FreeList, room: Signal) -> None:
        """Count the beats of each class, and compare them with the levels."""
        params, levels = self.params, self.levels
        minus = Signal(range(-params.longest, 1))  # beats of the packet before this one, negative
        with m.If(takes | self.stored.ends):
            m.d.sync += minus.eq(Mux(self.stored.ends, 0, (minus - 1)[: len(minus)]))
        moves = Signal(signed(len(minus) + 1))  # by how many beats those that are held change
        m.d.comb += moves.eq(Mux(back, minus, takes))
        for k in range(params.classes):
            comes = Signal.like(moves, name=f"comes_{k}")
            m.d.comb += comes.eq(Mux(self.stored.class_ == k, moves, 0))
            change = Signal(signed(len(minus) + 2), name=f"change_{k}")
            used = Signal(params.address_bits, name=f"used_{k}")
            m.d.sync += [
                change.eq(comes - (free.frees & (self.freed_class == k))),
                used.eq((used + change)[: len(used)]),
                room[k].eq(used < params.share - UNSEEN),
                self.congested[k].eq(used > levels.ecn_above),
            ]
            with m.If(~free.ready | (used > levels.pause_above)):
                m.d.sync += self.pause[k].eq(1)
            with m.Elif(used <= levels.resume_at):
                m.d.sync += self.pause[k].eq(0)
