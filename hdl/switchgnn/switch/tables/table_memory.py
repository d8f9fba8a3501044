"""Prefetches tables in external memory through several ports."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import count_ones, half, low_bits
from hdl.common.bus_watch import BusTimer
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.streams import StreamRegister
from hdl.switchgnn.switch.tables.table_memory_params import TableMemoryParams
from hdl.switchgnn.switch.tables.table_port import TablePort
from hdl.switchgnn.switch.tables.table_walk import TableWalk


class TableMemory(Component):
    """Emits the rows of each of ``requests``, in order, like a :class:`RowReader`.

    Rows of lists leave on ``lists`` and rows of descriptors on ``descriptors``, all in the order of
    the requests, and must be taken in that order. Tables are in the memories of ``params.ports``
    ports, from ``settings.bases`` on, with the layout of :class:`TableMemoryParams`. Their beats
    are read as soon as they are requested, up to ``params.waiting`` of each port, and merged in
    order, so that the latency of memory is hidden while requests come early enough.

    Rows of a beat whose response was not OKAY are ``missing``, and so are those of a port whose bus
    sent an answer without a request, or none within ``settings.timeout`` cycles, until
    ``settings.revive``. ``state`` reports this. Every wait is bounded, unless the time-out is 0.

    Throughput: a row a cycle, if the ports' shares differ by no more than they can hold; a beat a
    cycle, which has at least a row of lists. Latency: :attr:`latency` plus that of memory. Stalls:
    holds; all beats under way have a place.
    """

    latency = (
        TableWalk.latency
        + StreamRegister.latency
        + TablePort.latency
        + TablePort.beat_latency
        + StreamRegister.latency
    )

    def __init__(self, params: TableMemoryParams) -> None:
        super().__init__(
            params,
            requests=In(stream.Signature(params.request)),
            lists=Out(stream.Signature(params.result)),
            descriptors=Out(stream.Signature(params.result)),
            settings=In(params.settings),
            state=Out(params.state),
            axi=Out(params.axi).array(params.ports),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.walk = walk = TableWalk(params)
        m.submodules.steps = steps = StreamRegister.sized(shape=params.step)
        m.submodules.shares = shares = Fifo(params.shares)
        m.submodules.timer = timer = BusTimer.sized()
        ports = [TablePort(params) for _ in range(params.ports)]
        connect(m, flipped(self.requests), walk.requests)
        connect(m, walk.steps, steps.i)
        m.d.comb += [
            timer.limit.eq(self.settings.timeout),
        ]
        for k, port in enumerate(ports):
            m.submodules[f"port_{k}"] = port
            connect(m, port.axi, flipped(self.axi[k]))
            m.d.comb += [
                port.watch.tick.eq(timer.tick),
                port.watch.revive.eq(self.settings.revive),
            ]
        self.issue(m, steps, shares, ports)
        self.give(m, shares, ports)
        self.report(m, ports)

    def issue(self, m: Module, steps: StreamRegister, shares: Fifo, ports: list[TablePort]) -> None:
        """Request each share that exists from its port, when that has room for the beat."""
        params = self.params
        step = steps.o.payload
        base = Mux(
            step.share.descriptors, self.settings.bases.descriptors, self.settings.bases.lists
        )
        line = Signal(params.line_bits)
        rooms = Cat(port.room for port in ports)
        chosen = Cat(step.share.port == k for k in range(params.ports))
        go = Signal()
        m.d.comb += [
            line.eq((base + step.line)[: params.line_bits]),
            go.eq(steps.o.valid & shares.i.ready & (step.share.missing | (rooms & chosen).any())),
            steps.o.ready.eq(go),
            shares.i.valid.eq(go),
            shares.i.payload.eq(step.share),
        ]
        for k, port in enumerate(ports):
            m.d.comb += [port.issue.eq(go & chosen[k] & ~step.share.missing), port.line.eq(line)]

    def give(self, m: Module, shares: Fifo, ports: list[TablePort]) -> None:
        """Emit the rows of the oldest share, when its port has their beat."""
        params = self.params
        m.submodules.rows = rows = StreamRegister.sized(shape=1 + params.result.size)
        share = shares.o.payload
        beat = params.beat(picked([port.beats.payload for port in ports], share.port))
        came = Signal()
        comes = Signal()
        first = Signal(init=1)  # no row of the share has left
        at = Signal(params.list_shift)
        after = Signal(params.list_shift, reset_less=True)
        result = Signal(params.result)
        is_end = Signal()
        ends = Signal()
        chosen = Cat(share.port == k for k in range(params.ports))
        m.d.comb += [
            came.eq((chosen & Cat(port.beats.valid for port in ports)).any()),
            comes.eq(shares.o.valid & (share.missing | came)),
            at.eq(Mux(first, share.begin, after)),
            is_end.eq(at == share.end),
            ends.eq(comes & rows.i.ready & is_end),
            shares.o.ready.eq(ends),
            result.missing.eq(share.missing | beat.failed),
            result.last.eq(share.last & is_end),
            result.row.eq(self.row_of(beat.data, share.descriptors, at)),
            rows.i.valid.eq(comes),
            rows.i.payload.eq(Cat(result, share.descriptors)),
            *(
                port.beats.ready.eq(ends & chosen[k] & ~share.missing)
                for k, port in enumerate(ports)
            ),
        ]
        with m.If(comes & rows.i.ready):
            m.d.sync += [first.eq(is_end), after.eq((at + 1)[: len(after)])]
        is_descriptors = rows.o.payload[-1]
        for out, own in ((self.lists, ~is_descriptors), (self.descriptors, is_descriptors)):
            m.d.comb += [
                out.payload.eq(params.result(rows.o.payload[:-1])),
                out.valid.eq(rows.o.valid & own),
            ]
        m.d.comb += rows.o.ready.eq(Mux(is_descriptors, self.descriptors.ready, self.lists.ready))

    def row_of(self, beat: Value, descriptors: Value, at: Value) -> Value:
        """Return a row of a beat: of lists, in the lower half, or of descriptors."""
        params = self.params
        lists = picked_of(beat, at)
        wide = picked_of(beat, at[: params.descriptor_shift])
        return Mux(descriptors, wide, lists)

    def report(self, m: Module, ports: list[TablePort]) -> None:
        """Report the state of the ports, and count the beats with an error."""
        state = self.state
        failed = Cat(port.failed for port in ports)
        failures = state.failures + count_ones(list(failed))
        m.d.comb += [
            state.broken.eq(Cat(port.bus.broken for port in ports)),
            state.silent.eq(Cat(port.bus.silent for port in ports)),
            state.owes.eq(Cat(port.bus.owes for port in ports)),
        ]
        with m.If(self.settings.clear):
            m.d.sync += [state.failed.eq(0), state.failures.eq(0)]
        with m.Else():
            size = len(state.failures)
            m.d.sync += [
                state.failed.eq(state.failed | failed),
                state.failures.eq(
                    Mux(failures[size:].any(), (1 << size) - 1, low_bits(failures, size))
                ),
            ]


def picked(values: list, index: Value) -> Value:
    """Return ``values[index]``; the number of values is a power of two."""
    return picked_of(Cat(values), index) if len(values) > 1 else Value.cast(values[0])


def picked_of(parts: Value, index: Value) -> Value:
    """Return part ``index`` of ``parts``; their number is 2 ** len(``index``)."""
    index = Value.cast(index)
    for bit in range(len(index) - 1, -1, -1):
        parts = half(parts, index[bit])
    return parts
