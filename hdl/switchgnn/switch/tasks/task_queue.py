"""Queues tasks in the order in which frames were judged, and requests their lists."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.streams import StreamSkid
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.tasks.task_params import TaskKind

#: Most frames that may still become tasks after ``hold`` is raised: all those between the ports and
#: here, and those taken before ``hold`` reaches the ports.
UNDER_WAY = 10


class TaskQueue(Component):
    """Queues every ``task`` with ``valid``, and a ``fence`` or ``load`` in a gap between them.

    ``tasks`` leave in order. ``lists`` requests the rows of each FEATURE that has some, in the same
    order and ahead of its task, and, if tables are in memory, those of each load as well. With
    ``hold`` no frame may be taken at the ports: there is only room for those under way, or a fence
    or load waits for a gap.

    Throughput: a task a cycle. Latency: :attr:`latency`.
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        self.latency = params.task_fifo.latency
        self.request = params.rows_request
        # A waiting request must be visible at once, or a later one would pass it: no memory with a
        # register.
        style = "auto" if params.in_memory else "distributed"
        self.requests = FifoParams(
            shape=self.request, depth=params.tasks, style=style, refuses=False
        )
        super().__init__(
            params,
            valid=In(1),
            task=In(params.task),
            fence=In(stream.Signature(params.task)),
            load=In(stream.Signature(params.task)),
            tasks=Out(stream.Signature(params.task)),
            lists=Out(stream.Signature(self.request)),
            hold=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.queue = queue = Fifo(params.task_fifo)
        m.submodules.requests = requests = Fifo(self.requests)
        waiting = Signal()  # a fence or load waits
        room = Signal()
        gap = Signal()
        next_task = Signal(params.task)
        m.d.sync += [
            room.eq(queue.level < params.tasks - UNDER_WAY),
            waiting.eq(self.fence.valid | self.load.valid),
        ]
        m.d.comb += [
            self.hold.eq(~room | waiting),
            gap.eq(~self.valid & room),
            self.fence.ready.eq(gap),
            self.load.ready.eq(gap & ~self.fence.valid),
            next_task.eq(Mux(self.fence.valid, self.fence.payload, self.load.payload)),
            queue.i.valid.eq(self.valid | (gap & (self.fence.valid | self.load.valid))),
            queue.i.payload.eq(Mux(self.valid, self.task, next_task)),
        ]
        connect(m, queue.o, flipped(self.tasks))
        if params.in_memory:
            self.request_for_all(m, queue, requests)
        else:
            self.request_for_lists(m, requests)
        expect(m, self, finds_room=lambda: ~self.valid | (queue.level != params.tasks))

    def request_for_lists(self, m: Module, requests: Fifo) -> None:
        """Request the rows of lists in the cycle of the task, for a table on chip."""
        request = requests.i.payload
        comes = Signal()
        # The table decides late whether it takes a request.
        m.submodules.skid = skid = StreamSkid.sized(shape=self.request)
        connect(m, skid.o, flipped(self.lists))
        m.d.comb += [
            request.first.eq(low_bits(self.task.first, len(request.first))),
            request.count.eq(self.task.rows),
            request.present.eq(self.task.present),
            comes.eq(self.valid & (self.task.kind == TaskKind.ROWS) & self.task.rows.any()),
            # A request bypasses the empty queue, and waits in it if it is not taken.
            requests.i.valid.eq(comes & (requests.o.valid | ~skid.i.ready)),
            skid.i.payload.eq(Mux(requests.o.valid, requests.o.payload, request)),
            skid.i.valid.eq(requests.o.valid | comes),
            requests.o.ready.eq(skid.i.ready),
        ]

    def request_for_all(self, m: Module, queue: Fifo, requests: Fifo) -> None:
        """Request the rows of lists and of loads, in order, since one memory has both."""
        task, request = queue.i.payload, requests.i.payload
        connect(m, requests.o, flipped(self.lists))
        is_load = task.kind == TaskKind.LOAD
        demands = ((task.kind == TaskKind.ROWS) & task.rows.any()) | is_load
        m.d.comb += [
            request.descriptors.eq(is_load),
            request.first.eq(low_bits(task.first, len(request.first))),
            request.count.eq(task.rows),
            request.present.eq(task.present),
            requests.i.valid.eq(queue.i.valid & demands),
        ]
