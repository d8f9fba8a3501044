"""Queues features to be sent as RAW, until their ports take them or they are dropped."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.reserved_fifo import ReservedFifo, ReservedFifoParams
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import READ_CYCLES

DEPTH = 16  #: copies that can wait
PATIENCE = 128  #: most cycles that a copy waits for closed ports: several of the longest frames
#: Number of cycles from a claim to its delivery to the result path, as for a READ.
CLAIM_LAG = READ_CYCLES


class CopyQueue(Component):
    """Sends each ``copy`` to all of its ports, which may take it in different cycles.

    ``reserve`` reserves a place, while there is ``room``; the copy comes later, with ``push``. The
    first copy in the queue claims all of its ports that are ``open``. ``taking`` says in that cycle
    that there are some, so that no sum claims them, and ``claim``, a register, has them in the next
    cycle. :data:`CLAIM_LAG` cycles after the claim ``deliver`` has the same ports, and
    ``delivered`` the copy. A port that is not open for :data:`PATIENCE` cycles loses its copy, and
    its bit of ``dropped`` pulses; its worker requests the copy again. A port without an ``active``
    job gets none.

    Throughput: a copy a cycle, if all of its ports are open. Latency: 2 cycles from ``push``
    to the claim.
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        self.queue = ReservedFifoParams(shape=params.copy, depth=DEPTH)
        # A copy stays inside until the last delivery, after all of its ports were claimed.
        self.targets = FifoParams(shape=params.ports, depth=DEPTH, refuses=False)
        super().__init__(
            params,
            room=Out(1),
            reserve=In(1),
            push=In(1),
            copy=In(params.copy),
            active=In(params.ports),
            open=In(params.ports),
            taking=Out(1),
            claim=Out(params.ports),
            deliver=Out(params.ports),
            delivered=Out(params.copy),
            dropped=Out(params.ports),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.copies = copies = ReservedFifo(self.queue)
        m.submodules.targets = targets = Fifo(self.targets)
        served = Signal(params.ports)  # ports that the first copy does not need any more
        age = Signal(range(PATIENCE + 1))
        left, takes = Signal(params.ports), Signal(params.ports)
        gone = Signal(params.ports)
        ends = Signal()
        m.d.comb += [
            copies.reserve.eq(self.reserve),
            self.room.eq(copies.room),
            copies.push.eq(self.push),
            copies.payload.eq(self.copy),
            targets.i.valid.eq(self.push),
            targets.i.payload.eq(self.copy.ports),
            left.eq(Mux(targets.o.valid, targets.o.payload & ~served & self.active, 0)),
            takes.eq(left & self.open),
            self.taking.eq(takes.any()),
            self.dropped.eq(Mux(age == PATIENCE, left & ~self.open, 0)),
            gone.eq(takes | self.dropped),
            ends.eq(targets.o.valid & ~(left & ~gone).any()),
            targets.o.ready.eq(ends),
        ]
        with m.If(ends | ~targets.o.valid):
            m.d.sync += [served.eq(0), age.eq(0)]
        with m.Else():
            m.d.sync += [served.eq(served | gone), age.eq(age + 1)]
        m.d.sync += self.claim.eq(takes)
        m.d.comb += [
            self.deliver.eq(delay(m, self.claim, CLAIM_LAG, "claim", reset_less=False)),
            self.delivered.eq(copies.o.payload),
            copies.o.ready.eq(delay(m, ends, 1 + CLAIM_LAG, "ends", reset_less=False)),
        ]
        expect(
            m,
            self,
            copies_are_there=lambda: copies.o.valid | ~(self.deliver.any() | copies.o.ready),
        )
