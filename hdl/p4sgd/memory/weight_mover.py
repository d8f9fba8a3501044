"""Moves an engine's weights from memory to its stages and back, tile after tile."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from hdl.common.axi_read_port import AxiPortParams, AxiReadPort, full_bus
from hdl.common.axi_write_port import AxiWritePort
from hdl.common.bus_watch import BUS, WATCH, any_of
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.gearbox import Serializer
from hdl.common.local_reset import add_in_domain
from hdl.p4sgd.engine.chunk_walk import ChunkWalk
from hdl.p4sgd.engine.params import PORT_BITS, take_settings
from hdl.p4sgd.worker_params import WorkerParams

WRITES = 64  #: most chunks written without an answer
BEAT_BYTES = PORT_BITS // 8


def weight_port(params: WorkerParams, **sizes: int) -> AxiPortParams:
    """Return the sizes of a direction of an engine's port to its weights."""
    return AxiPortParams(
        address_bits=params.weight_address_bits,
        data_bits=PORT_BITS,
        length_bits=exact_log2(params.chunk_beats),
        **sizes,
    )


class WeightMover(Component):
    """Reads the architectural and the updated model for each tile, and writes the updated one.

    Memory has two copies of the model, the halves of ``axi``'s addresses; in each are the chunks
    in order, eight weights a beat. A mini-batch reads the architectural model in one half. Its
    first tile's updates are read there as well and written to the other half, where those of later
    tiles are read and written. With the next mini-batch the halves change roles, so that nothing is
    copied. A chunk is read again when the answer to its write has come.

    ``architectural`` and ``updated`` have the beats of each tile in turn, read ahead into buffers;
    ``results`` are the chunks to write. A run goes from ``start``, while the host has no access
    under way, to ``finished``, which is high when memory has answered its last write. Between runs
    ``load`` and ``peek`` reach the architectural model, eight weights at a time. ``halt``,
    ``watch``, ``bus`` and ``busy`` are those of ``ReadMaster``, but that the host's accesses go on;
    ``failed`` is high for a cycle when memory did not answer OKAY.

    Throughput: a beat a cycle read, shared by both models, and one written, less two for each
    chunk: it needs its AW first. So reads, of two beats for each one written, decide the pace.
    Latency: three cycles from ``start`` to the first ``arvalid``, one from an answer on B to the
    read that waits for it. Stalls: each buffer has room for what is read into it.
    """

    def __init__(self, params: WorkerParams) -> None:
        engine = params.engine
        self.reads = weight_port(params, outstanding=params.prefetch_beats // 2)
        self.writes = weight_port(params, outstanding=WRITES, tag_bits=3)
        beats = stream.Signature(PORT_BITS)
        super().__init__(
            params,
            settings=In(engine.settings),
            start=In(1),
            architectural=Out(beats),
            updated=Out(beats),
            results=In(stream.Signature(engine.model.weights)),
            load=In(stream.Signature(engine.model.load)),
            peek=In(stream.Signature(engine.model.address)),
            peeked=Out(stream.Signature(engine.model.group)),
            axi=Out(full_bus(self.reads, self.writes)),
            halt=In(1),
            watch=In(WATCH),
            bus=Out(BUS),
            busy=Out(1),
            failed=Out(1),
            finished=Out(1),
        )

    def build(self, m: Module) -> None:
        running, draining = Signal(), Signal(reset_less=True)
        base = Signal(reset_less=True)  # half of the architectural model: any, at first
        m.submodules.read_port = reads = AxiReadPort(self.reads)
        m.submodules.write_port = writes = AxiWritePort(self.writes)
        walks = {name: self.walk(m, name, running) for name in ("forward", "update", "write")}
        host = ~running & ~draining
        idle = self.read(m, reads, walks, (running, draining, host, base))
        ended, quiet = self.write(m, writes, walks["write"], (running, host, base))
        self.pace(m, walks, writes.answers)
        for name, part in (
            ("ar", reads),
            ("r", reads),
            ("aw", writes),
            ("w", writes),
            ("b", writes),
        ):
            for signal in (n for n in part.axi.signature.members if n.startswith(name)):
                of, to = getattr(part.axi, signal), getattr(self.axi, signal)
                flow = part.axi.signature.members[signal].flow
                m.d.comb += to.eq(of) if flow is Out else of.eq(to)
        any_of(m, self.bus, [reads.bus, writes.bus])
        m.d.comb += [
            reads.watch.eq(self.watch),
            writes.watch.eq(self.watch),
            self.busy.eq(running | ~idle | ~quiet),
        ]
        m.d.sync += self.failed.eq(
            (reads.beats.valid & reads.beats.failed)
            | (writes.answers.valid & writes.answers.failed)
        )
        over = Signal(2)  # ``busy`` has fallen when ``finished`` rises
        m.d.sync += [over.eq(Cat(over[0] | ended, over[0])), self.finished.eq(over[1])]
        with m.If(self.start):
            m.d.sync += [running.eq(1), over.eq(0), self.finished.eq(0)]
        with m.Elif(ended):
            m.d.sync += [running.eq(0), base.eq(base ^ walks["write"].odd)]
        with m.If(self.halt & running):
            m.d.sync += [running.eq(0), draining.eq(1)]
        with m.Elif(idle):
            m.d.sync += draining.eq(0)

    def walk(self, m: Module, name: str, running: Signal) -> ChunkWalk:
        """Add a walk over the chunks, which ends with the run and rests while there is none."""
        walk = ChunkWalk(self.params.engine)
        add_in_domain(m, f"{name}_walk", walk, ~running)
        started = Signal(name=f"{name}_started", reset_less=True)
        m.d.sync += started.eq(self.start)
        m.d.comb += [*take_settings(walk, self.settings), walk.start.eq(started)]
        return walk

    def address(self, half: Value, chunk: Value, group: Value | None = None) -> Value:
        """Return the address of a chunk, or of eight of its weights, in a half of the memory."""
        within = Signal(exact_log2(self.params.chunk_beats)) if group is None else group
        return Cat(Signal(exact_log2(BEAT_BYTES)), within, chunk, half)

    def pace(self, m: Module, walks: dict[str, ChunkWalk], answers: Any) -> None:
        """Count the chunks that each model may be read of: those whose writes are answered."""
        for name, returned in (("forward", answers.tag[0]), ("update", 1)):
            walk, credits = walks[name], self.credits[name]
            spent = walk.step & (walk.tile.first if name == "forward" else 1)
            with m.If(self.start):
                m.d.sync += credits.eq(self.settings.chunks)
            with m.Else():
                came = answers.valid & returned
                m.d.sync += credits.eq(credits + came - spent)

    def read(
        self, m: Module, port: AxiReadPort, walks: dict[str, ChunkWalk], state: tuple[Value, ...]
    ) -> Value:
        """Read chunks into the buffers of both models, or weights for the host.

        Returns whether no beat is under way or in a buffer.
        """
        running, draining, host, base = state
        forward, update = walks["forward"], walks["update"]
        chunks = range(self.params.engine.chunks + 1)
        self.credits = {
            name: Signal(chunks, name=f"{name}_credits", reset_less=True)
            for name in ("forward", "update")
        }
        go = {name: Signal(name=f"{name}_go") for name in ("forward", "update")}
        out = {"forward": self.architectural, "update": self.updated}
        peeks = self.peek.valid & host
        rooms = []
        for k, name in enumerate(go):
            m.submodules[f"{name}_buffer"] = buffer = Fifo.sized(
                shape=PORT_BITS, depth=self.params.prefetch_beats, style="block"
            )
            depth = self.params.prefetch_beats
            room = Signal(ceil_log2(depth) + 1, init=depth, name=f"{name}_room")
            rooms.append(room)
            size = Mux(running, self.params.chunk_beats, 1)
            left = buffer.o.valid & buffer.o.ready
            ready = out[name].ready | draining
            if name == "forward":
                ready = Mux(host, self.peeked.ready, ready)
            m.d.sync += room.eq((room - Mux(go[name], size, 0) + left)[: len(room)])
            m.d.comb += [
                buffer.i.payload.eq(port.beats.data),
                buffer.i.valid.eq(port.beats.valid & (port.beats.tag == k)),
                out[name].payload.eq(buffer.o.payload),
                out[name].valid.eq(buffer.o.valid & running),
                buffer.o.ready.eq(ready),
            ]
            if name == "forward":
                m.d.comb += [
                    self.peeked.payload.as_value().eq(buffer.o.payload),
                    self.peeked.valid.eq(buffer.o.valid & host),
                ]
        enough = [room[exact_log2(self.params.chunk_beats) :].any() for room in rooms]
        may_forward = (
            forward.active & (~forward.tile.first | self.credits["forward"].any())
        ) & running
        # A burst of the forward model was offered and not taken, so that it must stay.
        offered = Signal(name="forward_offered", reset_less=True)
        may_update = update.active & self.credits["update"].any() & running & enough[1] & ~offered
        bursts, place = port.bursts, self.peek.payload
        m.d.sync += offered.eq(bursts.valid & ~bursts.ready & ~may_update)
        m.d.comb += [
            bursts.valid.eq(may_update | ((may_forward | peeks) & enough[0])),
            bursts.payload.tag.eq(may_update),
            bursts.payload.length.eq(Mux(running, self.params.chunk_beats - 1, 0)),
            go["update"].eq(may_update & bursts.ready),
            go["forward"].eq(bursts.valid & bursts.ready & ~may_update),
            update.step.eq(go["update"]),
            forward.step.eq(go["forward"]),
            self.peek.ready.eq(host & enough[0] & bursts.ready),
        ]
        with m.If(may_update):
            half = base ^ update.odd ^ ~update.tile.first
            m.d.comb += bursts.payload.address.eq(self.address(half, update.chunk))
        with m.Elif(running):
            half = base ^ forward.odd
            m.d.comb += bursts.payload.address.eq(self.address(half, forward.chunk))
        with m.Else():
            m.d.comb += bursts.payload.address.eq(self.address(base, place.chunk, place.group))
        return rooms[0][-1] & rooms[1][-1]

    def write(
        self, m: Module, port: AxiWritePort, walk: ChunkWalk, state: tuple[Value, ...]
    ) -> tuple[Value, Value]:
        """Write chunks, or weights of the host.

        Returns whether the run's last answer comes, and whether no write is under way.
        """
        running, host, base = state
        weights = self.params.engine.model.weights.size
        m.submodules.serializer = serializer = Serializer.sized(
            shape=weights, parts=self.params.chunk_beats
        )
        under_way = Signal(range(WRITES + 1))
        loading = Signal()  # the host's weights have been sent
        sent = Signal()  # and their beat
        loaded = Signal(reset_less=True)  # and were answered
        load, bursts, beats, answers = self.load, port.bursts, port.beats, port.answers
        loads = load.valid & host & ~loading
        go = bursts.valid & bursts.ready
        takes = running & self.results.valid & serializer.i.ready
        m.d.comb += [
            serializer.i.payload.eq(self.results.payload),
            serializer.i.valid.eq(go & running),
            self.results.ready.eq(running & serializer.i.ready & bursts.ready),
            walk.step.eq(go),
            bursts.valid.eq(takes | loads),
            bursts.payload.length.eq(Mux(running, self.params.chunk_beats - 1, 0)),
            bursts.payload.tag.eq(
                Mux(running, Cat(walk.tile.last, walk.tile.final & walk.last_chunk), 1 << 2)
            ),
            beats.valid.eq(serializer.o.valid | (loading & ~sent)),
            beats.payload.data.eq(
                Mux(serializer.o.valid, serializer.o.payload, load.payload.weights.as_value())
            ),
            beats.payload.last.eq(serializer.last | ~serializer.o.valid),
            beats.payload.strobes.eq((1 << BEAT_BYTES) - 1),
            serializer.o.ready.eq(beats.ready),
            load.ready.eq(loaded),
        ]
        with m.If(running):
            half = base ^ walk.odd ^ 1
            m.d.comb += bursts.payload.address.eq(self.address(half, walk.chunk))
        with m.Else():
            place = load.payload
            m.d.comb += bursts.payload.address.eq(self.address(base, place.chunk, place.group))
        m.d.sync += [
            under_way.eq((under_way + go - answers.valid)[: len(under_way)]),
            loaded.eq(answers.valid & answers.tag[2]),
            loading.eq((loading | (go & ~running)) & ~load.ready),
            sent.eq((sent | (loading & beats.ready & ~serializer.o.valid)) & ~load.ready),
        ]
        quiet = (under_way == 0) & ~serializer.o.valid
        return running & answers.valid & answers.tag[1], quiet
