"""Implements a RIG unit: a client that gathers remote properties, or a server of local ones."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.netsparse.idx_filter.params import answer_layout, answer_signature, request_layout
from hdl.netsparse.protocol import READ_PR, RESPONSE_BEAT
from hdl.netsparse.rig.client import CLIENT_EVENTS, Client
from hdl.netsparse.rig.control import RigControl
from hdl.netsparse.rig.idx_fetch import IdxFetch
from hdl.netsparse.rig.params import COMPLETION, READ_BEAT, Cause, RigParams
from hdl.netsparse.rig.property_address import PropertyAddress, PropertyAddressParams
from hdl.netsparse.rig.response_match import MATCH_EVENTS, PROPERTY_BEAT, ResponseMatch
from hdl.netsparse.rig.server import SERVER_EVENTS, Server
from hdl.netsparse.rig.write_back import WriteBack

FAILED = tuple(cause for cause in Cause if cause not in (Cause.DONE, Cause.DESCRIPTOR))

#: Lists all events that a unit counts: its client's, its server's, and the ends of commands.
UNIT_EVENTS = data.StructLayout(
    {
        **{name: field.width for name, field in CLIENT_EVENTS},
        "idx_stall": 1,
        **{f"{name}s" if name == "response" else name: 1 for name, _ in MATCH_EVENTS},
        **{name: 1 for name, _ in SERVER_EVENTS},
        "commands": 1,
        **{f"failed_{cause.name.lower()}": 1 for cause in FAILED},
    }
)


class RigUnit(Component):
    """Is a RIG unit (NetSparse, section 5.3): a client, or, with ``serve``, a server.

    As a client it carries out ``commands``, several at a time: it reads idxs from host memory,
    sends PRs on ``prs``, writes the properties of ``responses`` to host memory with ``writes``, and
    ends each command with one of ``completions``. As a server it answers ``reads`` with
    ``answers``. Both modes use the same property buffer, address calculation, and port to host
    memory: ``demands`` and ``beat``. ``serve`` may change while the unit is not ``busy``.
    ``quiet``: only a new command could cause another PR.

    Throughput: an idx, a PR or a beat of a property a cycle.
    """

    def __init__(self, params: RigParams) -> None:
        self.buffer = FifoParams(shape=PROPERTY_BEAT, depth=params.property_beats)
        self.address = PropertyAddressParams(
            idx_bits=params.idx_bits, address_bits=params.address_bits, tag_bits=params.pending.size
        )
        requests = request_layout(params.idx_bits, params.lsq_entries)
        super().__init__(
            params,
            unit=In(16),
            serve=In(1),
            partition=In(params.partition),
            boundary=In(Client(params).solver_params.write),
            served=In(params.served),
            coalesce=In(1),
            filter=In(1),
            commands=In(stream.Signature(params.command)),
            completions=Out(stream.Signature(COMPLETION)),
            demands=Out(stream.Signature(params.host_read)),
            beat_valid=In(1),
            beat=In(READ_BEAT),
            writes=Out(stream.Signature(params.host_write)),
            done=In(1),
            write_failed=In(1),
            filter_requests=Out(stream.Signature(requests)),
            filter_answers=In(answer_signature(answer_layout(params.lsq_entries))),
            prs=Out(stream.Signature(READ_PR)),
            responses=In(stream.Signature(RESPONSE_BEAT)),
            reads=In(stream.Signature(READ_PR)),
            answers=Out(stream.Signature(RESPONSE_BEAT)),
            events=Out(UNIT_EVENTS),
            quiet=Out(1),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.control = control = RigControl(params)
        m.submodules.fetch = fetch = IdxFetch(params)
        m.submodules.client = client = Client(params)
        m.submodules.match = match = ResponseMatch(params)
        m.submodules.server = server = Server(params)
        m.submodules.property_address = address = PropertyAddress(self.address)
        m.submodules.buffer = buffer = Fifo(self.buffer)
        m.submodules.write_back = write_back = WriteBack(params)
        connect(m, flipped(self.commands), control.commands)
        connect(m, control.completions, flipped(self.completions))
        connect(m, fetch.idxs, client.idxs)
        connect(m, client.prs, flipped(self.prs))
        connect(m, client.filter_requests, flipped(self.filter_requests))
        connect(m, flipped(self.filter_answers), client.filter_answers)
        connect(m, flipped(self.responses), match.responses)
        connect(m, write_back.sets, client.sets)
        connect(m, write_back.writes, flipped(self.writes))
        connect(m, flipped(self.reads), server.reads)
        connect(m, server.responses, flipped(self.answers))
        self.run_commands(m, control, fetch, client, match, write_back, buffer, address)
        self.find_addresses(m, control, fetch, match, server, address, write_back)
        self.buffer_properties(m, fetch, match, server, buffer, write_back)
        self.report(m, control, fetch, client, match, server, address)

    def run_commands(
        self,
        m: Module,
        control: RigControl,
        fetch: IdxFetch,
        client: Client,
        match: ResponseMatch,
        write_back: WriteBack,
        buffer: Fifo,
        address: PropertyAddress,
    ) -> None:
        """Connect the command to the client's parts, and the events that end it."""
        array = control.array
        m.d.comb += [
            fetch.arrays.valid.eq(control.start),
            fetch.arrays.payload.eq(control.idxs),
            control.ready.eq(fetch.arrays.ready),
            fetch.stop.eq(control.cancel),
            client.partition.eq(self.partition),
            client.boundary.eq(self.boundary),
            client.coalesce.eq(self.coalesce),
            client.filter.eq(self.filter),
            client.cancel.eq(control.cancel),
            client.forget.eq(control.forget),
            client.unit.eq(self.unit),
            client.oldest.eq(control.oldest),
            client.bytes.eq(array.bytes),
            client.entry.eq(match.entry),
            client.response.eq(match.events.response),
            client.remote.eq(match.events.remote),
            client.response_entry.eq(match.ended_entry),
            client.idx_failed.valid.eq(fetch.failed),
            client.idx_failed.slot.eq(fetch.failed_slot),
            client.write_failed.eq(write_back.failed),
            client.written_entry.eq(write_back.failed_entry),
            *(a.eq(b) for a, b in zip(client.generations, control.generations, strict=True)),
            match.generation.eq(client.generation),
            match.bytes.eq(array.bytes),
            match.issued.eq(client.issued),
            match.issued_entry.eq(client.issued_entry),
            match.clear.eq(control.cancel),
            match.known.eq(client.known.valid),
            match.known_idx.eq(client.known.idx),
            write_back.bytes.eq(array.bytes),
            write_back.done.eq(self.done),
            write_back.write_failed.eq(self.write_failed),
            write_back.discard.eq(control.cancel),
        ]
        properties_left = match.busy | buffer.o.valid | address.busy | write_back.busy
        m.d.comb += [
            control.provided.eq(client.provided),
            control.open.eq(client.open),
            control.failed.eq(client.failed),
            *(a.eq(b) for a, b in zip(control.cause, client.cause, strict=True)),
            # Beats of a chunk come before its first idx is given: they count as progress as well.
            control.moves.eq(client.moves | self.done | fetch.beat_valid),
            control.drained.eq(
                ~fetch.busy & ~client.in_flight & client.filter_idle & ~properties_left
            ),
        ]

    def find_addresses(
        self,
        m: Module,
        control: RigControl,
        fetch: IdxFetch,
        match: ResponseMatch,
        server: Server,
        address: PropertyAddress,
        write_back: WriteBack,
    ) -> None:
        """Compute addresses of properties to be written, or to be read.

        Reads of idxs have their own addresses.
        """
        serve, result = self.serve, address.o
        head = match.heads.payload
        m.d.comb += [
            address.base.eq(Mux(serve, self.served.address, control.array.address)),
            address.bytes.eq(Mux(serve, self.served.bytes, control.array.bytes)),
            address.i.payload.idx.eq(Mux(serve, server.demands.payload, head.idx)),
            address.i.payload.tag.eq(head),
            address.i.valid.eq(Mux(serve, server.demands.valid, match.heads.valid)),
            server.demands.ready.eq(address.i.ready & serve),
            match.heads.ready.eq(address.i.ready & ~serve),
            write_back.result.payload.eq(result.payload),
            write_back.result.valid.eq(result.valid & ~serve),
            result.ready.eq(Mux(serve, self.demands.ready, write_back.result.ready)),
            self.demands.valid.eq(Mux(serve, result.valid, fetch.requests.valid)),
            self.demands.payload.address.eq(
                Mux(serve, result.payload.address, fetch.requests.payload.address)
            ),
            self.demands.payload.bytes.eq(
                Mux(serve, self.served.bytes, fetch.requests.payload.bytes)
            ),
            fetch.requests.ready.eq(self.demands.ready & ~serve),
        ]

    def buffer_properties(
        self,
        m: Module,
        fetch: IdxFetch,
        match: ResponseMatch,
        server: Server,
        buffer: Fifo,
        write_back: WriteBack,
    ) -> None:
        """Buffer properties to host memory, or from it.

        Idxs have a buffer of their own.
        """
        serve = self.serve
        read = Signal(PROPERTY_BEAT)
        m.d.comb += [
            read.last.eq(self.beat.last),
            read.data.eq(self.beat.data),
            fetch.beat.eq(self.beat),
            fetch.beat_valid.eq(self.beat_valid & ~serve),
            server.outcome.eq(self.beat_valid & serve & self.beat.last),
            server.outcome_failed.eq(self.beat.failed),
            buffer.i.payload.eq(Mux(serve, read, match.beats.payload)),
            buffer.i.valid.eq(Mux(serve, self.beat_valid, match.beats.valid)),
            match.beats.ready.eq(buffer.i.ready & ~serve),
            server.beats.payload.eq(buffer.o.payload),
            server.beats.valid.eq(buffer.o.valid & serve),
            write_back.beats.payload.eq(buffer.o.payload),
            write_back.beats.valid.eq(buffer.o.valid & ~serve),
            buffer.o.ready.eq(Mux(serve, server.beats.ready, write_back.beats.ready)),
            server.partition.eq(self.partition),
            server.bytes.eq(self.served.bytes),
            server.legal.eq(self.served.legal),
        ]

    def report(
        self,
        m: Module,
        control: RigControl,
        fetch: IdxFetch,
        client: Client,
        match: ResponseMatch,
        server: Server,
        address: PropertyAddress,
    ) -> None:
        """Report events, and whether anything is under way."""
        events = self.events
        completion = self.completions
        completed = completion.valid & completion.ready
        m.d.comb += [
            *(events[name].eq(client.events[name]) for name, _ in CLIENT_EVENTS),
            *(events[name].eq(server.events[name]) for name, _ in SERVER_EVENTS),
            events.idx_stall.eq(control.running & fetch.busy & ~fetch.idxs.valid),
            events.responses.eq(match.events.response),
            events.stale.eq(match.events.stale),
            events.remote.eq(match.events.remote),
            events.commands.eq(completed),
            *(
                events[f"failed_{cause.name.lower()}"].eq(
                    completed & (completion.payload.cause == cause)
                )
                for cause in FAILED
            ),
        ]
        m.d.sync += self.quiet.eq(control.quiet & ~client.in_flight & ~client.prs.valid)
        m.d.sync += self.busy.eq(
            Cat(control.busy, server.busy, address.busy, match.busy, self.reads.valid).any()
        )
