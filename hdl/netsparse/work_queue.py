"""Queues the host's work requests to the units, and the units' completions to the host."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.stream_arbiter import StreamArbiter
from hdl.common.streams import forward
from hdl.netsparse.limits import UNIT_BITS
from hdl.netsparse.params import SnicParams
from hdl.netsparse.queue.params import NO_UNIT, Verdict, fetched_layout
from hdl.netsparse.request_check import RequestCheck
from hdl.netsparse.rig.params import COMPLETION, Cause

COMPLETIONS = 64  #: most completions that wait for the host; then units wait with theirs


class WorkQueue(Component):
    """Gives the requests of both sources to their units, and collects ``completions`` in order.

    The first source is registers: ``submit`` submits ``request`` to ``unit``. A request for a unit
    that is not one of ``clients``, or whose queue is full, is ``refused``; that is valid 2 cycles
    after ``submit`` and stays until the next one. ``request``, ``unit`` and ``clients`` must be
    stable for a cycle after ``submit``, and the next ``submit`` may come 2 cycles later, as is the
    case with a :class:`RegisterBlock`.

    The second source is the request ring, ``fetched``. A request whose unit's queue is full waits
    for it, and all requests behind it wait, too; the registers' requests do not. A request that
    could not be read, is illegal or is not for a client unit is completed at once, without a unit.

    An illegal request is taken, and its unit ends it at once with a cause (``filter``,
    ``filter_illegal`` and ``clear_filter`` belong to the :class:`RequestCheck`). Requests of a
    source leave in order. A request leaves its source only when its unit has room for it, and that
    room is reserved for it; so no request is lost, and one that waits does not block requests of
    the other source for other units.

    ``completion``, with ``completion_valid``, is the oldest one; ``next`` removes it. While
    ``to_ring`` is high completions leave on ``entries`` instead.

    The chain of waits: a request waits for its unit's queue; the queue waits for the unit's
    command, whose watchdog ends it; the command waits until its completion is taken; and that waits
    until the host reads completions. So the host must read completions without waiting for its
    requests to be read.

    Latency to ``commands``: ``submit_latency`` cycles from ``submit``, ``fetched_latency`` from a
    request that is taken from ``fetched``. Throughput: a request in 2 cycles.
    """

    submit_latency = 2
    fetched_latency = 1

    def __init__(self, params: SnicParams) -> None:
        rig = params.rig
        super().__init__(
            params,
            submit=In(1),
            unit=In(UNIT_BITS),
            request=In(rig.request),
            fetched=In(stream.Signature(fetched_layout(rig))),
            filter=In(1),
            filter_illegal=In(1),
            clear_filter=In(1),
            clients=In(params.units),
            refused=Out(1),
            commands=Out(stream.Signature(rig.command)).array(params.units),
            completions=In(stream.Signature(COMPLETION)).array(params.units),
            next=In(1),
            completion=Out(params.completed),
            completion_valid=Out(1),
            to_ring=In(1),
            entries=Out(stream.Signature(params.completed)),
        )

    def build(self, m: Module) -> None:
        units = self.params.units
        m.submodules.arbiter = arbiter = StreamArbiter.sized(shape=COMPLETION, count=units + 1)
        m.submodules.completed = completed = Fifo.sized(
            shape=self.params.completed, depth=COMPLETIONS
        )
        m.submodules.check = check = RequestCheck(self.params)
        completion = completed.i.payload
        nobody = Signal()
        m.d.comb += [
            check.filter.eq(self.filter),
            check.filter_illegal.eq(self.filter_illegal),
            check.clear.eq(self.clear_filter),
            check.ended.eq(completed.i.valid & completed.i.ready & ~nobody),
            nobody.eq(arbiter.o.payload.index == units),
            completion.unit.eq(Mux(nobody, NO_UNIT, arbiter.o.payload.index)),
            completion.completion.eq(arbiter.o.payload.payload),
            *forward(arbiter.o, completed.i),
            self.completion.eq(completed.o.payload),
            self.completion_valid.eq(completed.o.valid & ~self.to_ring),
            self.entries.payload.eq(completed.o.payload),
            self.entries.valid.eq(completed.o.valid & self.to_ring),
            completed.o.ready.eq(Mux(self.to_ring, self.entries.ready, self.next)),
        ]
        command, target = self.choose(m, check, arbiter)
        for k in range(units):
            commands = self.commands[k]
            connect(m, flipped(self.completions[k]), arbiter.i[k])
            m.d.comb += [
                commands.payload.eq(command),
                commands.valid.eq(target[k]),
            ]

    def choose(
        self, m: Module, check: RequestCheck, arbiter: StreamArbiter
    ) -> tuple[Signal, Signal]:
        """Choose the registers' request, or else the ring's.

        Returns its unit, and a bit for the unit that has room for it. Both are registers, so that
        the offered request does not change until it is taken.
        """
        units, rig = self.params.units, self.params.rig
        fetched, refusals = self.fetched.payload, arbiter.i[units]
        command = Signal(rig.command, reset_less=True)
        target = Signal(units)
        refusal = Signal(COMPLETION)
        submitted = Signal()  # the registers' request was neither given nor refused yet
        named = Signal(units)  # the client that the request is for
        legal = Signal()
        room = Signal()
        free = Signal()
        take = Signal()
        clients = self.clients
        ready = Cat(commands.ready for commands in self.commands)
        of_ring = Cat(clients[k] & (fetched.unit == k) for k in range(units))
        m.d.comb += [
            free.eq(~target.any()),
            legal.eq((fetched.verdict == Verdict.LEGAL) & of_ring.any()),
            refusal.tag.eq(fetched.request.tag),
            refusal.cause.eq(
                Mux(fetched.verdict == Verdict.UNREAD, Cause.DESCRIPTOR, Cause.COMMAND)
            ),
            refusals.payload.eq(refusal),
            refusals.valid.eq(self.fetched.valid & ~legal),
            named.eq(of_ring),
            check.request.eq(fetched.request),
            take.eq(free & room & (submitted | (self.fetched.valid & legal & ~self.submit))),
            room.eq((named & ready).any()),
            self.fetched.ready.eq(Mux(legal, take & ~submitted, refusals.ready)),
            check.taken.eq(take),
        ]
        with m.If(submitted):
            m.d.comb += [
                named.eq(Cat(clients[k] & (self.unit == k) for k in range(units))),
                check.request.eq(self.request),
            ]
            with m.If(free):
                m.d.sync += [self.refused.eq(~room), submitted.eq(0)]
        with m.If(self.submit):
            m.d.sync += submitted.eq(1)
        m.d.sync += target.eq(Mux(take, named, target & ~ready))
        with m.If(free):
            m.d.sync += command.eq(check.command)
        return command, target
