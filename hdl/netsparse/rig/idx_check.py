"""Checks whether an idx is one of the matrix, and whether another node owns it."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.rig.params import RigParams

CHECK_EVENTS = data.StructLayout({"consumed": 1, "local": 1, "beyond": 1, "rejected": 1})


class IdxCheck(Component):
    """Passes on idxs of other nodes; local ones need no PR, and those beyond the matrix are errors.

    An idx is ``consumed`` when it is taken; then it is ``local`` (``first <= idx < end``), or
    ``beyond`` and ``rejected`` (``idx >= columns``), or it leaves on ``o``. With ``reject`` every
    idx is rejected. ``tag`` accompanies an idx; ``judged_tag`` is the tag of the idx at ``o`` and
    of all events but ``consumed``. Throughput: an idx a cycle. Latency: ``latency``. Stalls: holds.
    """

    latency = 2

    def __init__(self, params: RigParams) -> None:
        super().__init__(
            params,
            i=In(stream.Signature(64)),
            o=Out(stream.Signature(params.idx_bits)),
            tag=In(params.slot_bits),
            judged_tag=Out(params.slot_bits),
            partition=In(params.partition),
            reject=In(1),
            events=Out(CHECK_EVENTS),
        )

    def build(self, m: Module) -> None:
        idx = Signal(64, reset_less=True)
        waiting_tag = Signal(self.params.slot_bits, reset_less=True)
        judged_tag = Signal(self.params.slot_bits, reset_less=True)
        waiting = Signal()
        judged = Signal(self.params.idx_bits, reset_less=True)
        judged_valid = Signal()
        beyond = Signal(reset_less=True)
        local = Signal(reset_less=True)
        move = Signal()  # both registers take the next idx
        dropped = Signal()
        m.d.comb += [
            dropped.eq(beyond | local | self.reject),
            move.eq(~judged_valid | dropped | self.o.ready),
            self.i.ready.eq(~waiting | move),
            self.o.payload.eq(judged),
            self.judged_tag.eq(judged_tag),
            self.o.valid.eq(judged_valid & ~dropped),
            self.events.consumed.eq(self.i.valid & self.i.ready),
            self.events.local.eq(judged_valid & local & ~self.reject),
            self.events.beyond.eq(judged_valid & beyond & ~self.reject),
            self.events.rejected.eq(judged_valid & (beyond | self.reject)),
        ]
        with m.If(self.i.ready):
            m.d.sync += [waiting.eq(self.i.valid), idx.eq(self.i.payload), waiting_tag.eq(self.tag)]
        with m.If(move):
            m.d.sync += [
                judged_valid.eq(waiting),
                judged.eq(idx[: self.params.idx_bits]),
                judged_tag.eq(waiting_tag),
                beyond.eq(idx >= self.partition.columns),
                local.eq((idx >= self.partition.first) & (idx < self.partition.end)),
            ]
