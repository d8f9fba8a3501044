"""Keeps full activations until their turn, and passes them on in the order of micro-batches."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.common.reserved_fifo import ReservedFifo
from hdl.p4sgd.transport.params import TransportParams

QUEUE_DEPTH = 4  #: most full activations between the memory and ``full``


class ReorderBuffer(Component):
    """Reorders full activations for the backward stage (P4SGD, section 3.3).

    ``keep`` puts ``activations`` into ``keep_slot``. While ``arrived`` and ``allowed``, those of
    ``deliver_slot`` go to ``full``; ``delivered`` says that its slot is no longer needed.

    Throughput: one a cycle. Latency: :attr:`latency` cycles from ``arrived`` to ``full``.
    """

    latency = DualPortMemory.latency + 1

    def __init__(self, params: TransportParams) -> None:
        super().__init__(
            params,
            keep=In(1),
            keep_slot=In(params.slot_bits),
            activations=In(params.activations),
            arrived=In(1),
            allowed=In(1),
            deliver_slot=In(params.slot_bits),
            delivered=Out(1),
            full=Out(stream.Signature(params.activations)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.store = store = DualPortMemory.sized(
            shape=params.activations, depth=params.slots
        )
        m.submodules.queue = queue = ReservedFifo.sized(shape=params.activations, depth=QUEUE_DEPTH)
        connect(m, queue.o, flipped(self.full))
        m.d.comb += [
            store.write.eq(self.keep),
            store.write_address.eq(self.keep_slot),
            store.write_data.eq(self.activations),
            store.read_address.eq(self.deliver_slot),
            self.delivered.eq(self.arrived & self.allowed & queue.room),
            queue.reserve.eq(self.delivered),
            queue.payload.eq(store.read_data),
            queue.push.eq(delay(m, self.delivered, store.latency, "read", reset_less=False)),
        ]
