"""Implements client mode of a RIG unit: filters idxs and sends PRs for the others."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.common.streams import StreamSkid, forward
from hdl.netsparse.idx_filter.params import answer_layout, answer_signature, request_layout
from hdl.netsparse.idx_filter.port import FilterPort, FilterPortParams
from hdl.netsparse.protocol import LENGTH_BITS, READ_PR
from hdl.netsparse.rig.command_tally import SOURCES, CommandTally
from hdl.netsparse.rig.destination_solver import DestinationParams, DestinationSolver
from hdl.netsparse.rig.idx_check import IdxCheck
from hdl.netsparse.rig.params import Cause, RigParams
from hdl.netsparse.rig.pending_table import PendingTable, PendingTableParams
from hdl.netsparse.rig.pr_generator import PrGenerator
from hdl.netsparse.rig.slot_table import READERS, SlotTable

#: Describes the outcomes of idxs in a cycle, and the causes of stalls.
CLIENT_EVENTS = data.StructLayout(
    {
        "consumed": 1,
        "local": 1,
        "coalesced": 1,
        "filtered": 1,
        "rejected": 2,  # number of rejected idxs
        "prs": 1,
        "table_stall": 1,
        "filter_stall": 1,
        "transmit_stall": 1,
    }
)


class Client(Component):
    """Drops redundant idxs and generates PRs for the others (NetSparse, sections 5.2 and 5.3).

    ``idxs`` go through the check of range and partition, the Pending PR Table, the idx filter and
    the destination solver to the PR generator. A miss in the table allocates an entry before the
    filter is looked up; a bit that is set there releases the entry. ``sets`` sets the bits of idxs
    whose properties are in host memory; then their entries are released.

    Every idx that is ``consumed`` is counted as exactly one of local, coalesced, filtered, rejected
    and prs. With ``cancel`` the idxs inside are rejected, and entries are released one after
    another, so that an idx that waits at a full table gets one; ``known`` is undefined meanwhile.
    ``in_flight`` says that consumed idxs are not counted yet; ``forget`` empties the table, and is
    allowed while ``in_flight`` is low.

    Idxs come from several commands, each with its slot. For each slot the client reports whether
    idxs are ``open``, that is consumed, and neither dropped nor with their entries released; and
    whether the slot has ``failed``, here or elsewhere in the unit, and why. ``moves`` is high when
    an idx of the ``oldest`` slot makes progress; ``provided`` comes with the last idx of a slot.
    ``generations`` are those of the slots.

    Throughput: an idx a cycle. Stalls: full table, full LSQ, full Tx queue.
    """

    def __init__(self, params: RigParams) -> None:
        self.table_params = PendingTableParams(
            entries=params.pending_entries, idx_bits=params.idx_bits, tag_bits=params.slot_bits
        )
        self.port_params = FilterPortParams(
            lsq_entries=params.lsq_entries,
            reserved=params.lsq_reserved,
            idx_bits=params.idx_bits,
            entry_bits=params.entry_bits,
        )
        self.solver_params = DestinationParams(
            nodes=params.nodes, idx_bits=params.idx_bits, tag_bits=params.entry_bits
        )
        requests = request_layout(params.idx_bits, params.lsq_entries)
        super().__init__(
            params,
            idxs=In(stream.Signature(params.fetched)),
            idx_failed=In(params.of_slot),
            response=In(1),
            remote=In(1),
            response_entry=In(params.entry_bits),
            write_failed=In(1),
            written_entry=In(params.entry_bits),
            oldest=In(params.slot_bits),
            generations=In(params.generation_bits).array(params.commands),
            partition=In(params.partition),
            boundary=In(self.solver_params.write),
            coalesce=In(1),
            filter=In(1),
            cancel=In(1),
            forget=In(1),
            unit=In(16),
            generation=Out(params.generation_bits),  # generation of the entry
            bytes=In(LENGTH_BITS),
            prs=Out(stream.Signature(READ_PR)),
            filter_requests=Out(stream.Signature(requests)),
            filter_answers=In(answer_signature(answer_layout(params.lsq_entries))),
            sets=In(stream.Signature(params.pending)),
            issued=Out(1),
            issued_entry=Out(params.entry_bits),
            entry=In(params.entry_bits),
            known=Out(self.table_params.contents),
            open=Out(params.commands),
            failed=Out(params.commands),
            cause=Out(Cause).array(params.commands),
            moves=Out(1),
            provided=Out(1),
            events=Out(CLIENT_EVENTS),
            in_flight=Out(1),
            filter_idle=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.check = check = IdxCheck(self.params)
        m.submodules.table = table = PendingTable(self.table_params)
        m.submodules.filter = port = FilterPort(self.port_params)
        m.submodules.solver = solver = DestinationSolver(self.solver_params)
        m.submodules.generator = generator = PrGenerator(self.params)
        m.submodules.entry_slots = slots = SlotTable(self.params)
        m.submodules.tally = tally = CommandTally(self.params)
        connect(m, solver.o, generator.i)
        connect(m, generator.prs, flipped(self.prs))
        connect(m, port.requests, flipped(self.filter_requests))
        connect(m, flipped(self.filter_answers), port.answers)
        setting = self.sets.payload
        m.d.comb += [
            *forward(self.idxs, check.i),
            check.i.payload.eq(self.idxs.payload.idx),
            check.tag.eq(self.idxs.payload.slot),
            self.provided.eq(self.idxs.valid & self.idxs.ready & self.idxs.payload.last),
            *forward(self.sets, port.sets, idx=setting.idx, entry=setting.entry),
            check.partition.eq(self.partition),
            check.reject.eq(self.cancel),
            table.coalesce.eq(self.coalesce),
            table.clear.eq(self.forget),
            self.known.eq(table.read),
            port.enable.eq(self.filter),
            solver.write.eq(self.boundary),
            generator.node.eq(self.partition.node),
            generator.unit.eq(self.unit),
            generator.bytes.eq(self.bytes),
            generator.reject.eq(self.cancel),
            self.issued.eq(generator.issued),
            self.issued_entry.eq(generator.issued_entry),
            self.filter_idle.eq(port.idle),
        ]
        self.look_up(m, check, table)
        self.request_filter(m, table, port)
        self.heed_filter(m, table, port, solver)
        self.hand_back(m, table, port)
        self.count(m, check, table, port, generator)
        self.keep_slots(m, slots, table, port, solver)
        self.report(m, slots, tally, check, table, port, generator)

    def look_up(self, m: Module, check: IdxCheck, table: PendingTable) -> None:
        """Look up idxs in the table, whose ``ready`` comes too late to stall the check directly."""
        lookup = data.StructLayout({"idx": self.params.idx_bits, "tag": self.params.slot_bits})
        m.submodules.skid = skid = StreamSkid.sized(shape=lookup)
        m.d.comb += [
            *forward(check.o, skid.i, idx=check.o.payload, tag=check.judged_tag),
            *forward(skid.o, table.lookups),
            table.lookups.payload.eq(skid.o.payload.idx),
            table.tag.eq(skid.o.payload.tag),
        ]

    def request_filter(self, m: Module, table: PendingTable, port: FilterPort) -> None:
        """Look up new entries in the filter; the other idxs were coalesced."""
        result = table.results.payload
        m.d.comb += [
            port.lookups.payload.idx.eq(result.idx),
            port.lookups.payload.entry.eq(result.entry),
            port.lookups.valid.eq(table.results.valid & ~result.coalesced),
            table.results.ready.eq(port.lookups.ready | result.coalesced),
            self.events.coalesced.eq(table.results.valid & result.coalesced),
            self.events.filter_stall.eq(port.lookups.valid & ~port.lookups.ready),
            self.events.table_stall.eq(table.full),
        ]

    def heed_filter(
        self, m: Module, table: PendingTable, port: FilterPort, solver: DestinationSolver
    ) -> None:
        """Release entries whose bit is set; pass on the others to the solver."""
        result = port.results.payload
        reject = Signal()
        keep = Signal()
        set_bit = Signal()
        m.d.comb += [
            reject.eq(port.results.valid & (self.cancel | result.failed)),
            set_bit.eq(port.results.valid & ~reject & result.bit),
            keep.eq(port.results.valid & ~reject & ~result.bit),
            solver.idxs.valid.eq(keep),
            solver.idxs.payload.idx.eq(result.idx),
            solver.idxs.payload.tag.eq(result.entry),
            port.results.ready.eq(~keep | solver.idxs.ready),
            table.release[0].valid.eq(set_bit),
            table.release[0].entry.eq(result.entry),
            port.set_done.ready.eq(1),
            self.events.filtered.eq(set_bit),
        ]

    def hand_back(self, m: Module, table: PendingTable, port: FilterPort) -> None:
        """Release entries whose bit is set; with ``cancel`` all entries in use, in one round.

        The round also releases entries whose results still wait in the table for a slot of the LSQ.
        These results are rejected later, and the table stays correct meanwhile:
        ``PendingTableProof``.
        """
        done = port.set_done
        place = Signal(range(self.params.pending_entries))
        swept = Signal.like(place)
        used = Signal()
        m.d.sync += [
            used.eq(table.read.valid & self.cancel),
            swept.eq(place),
            place.eq(Mux(place == self.params.pending_entries - 1, 0, place + 1)),
        ]
        m.d.comb += [
            table.read_entry.eq(Mux(self.cancel, place, self.entry)),
            table.release[1].valid.eq(Mux(self.cancel, used, done.valid & ~done.payload.failed)),
            table.release[1].entry.eq(Mux(self.cancel, swept, done.payload.entry)),
        ]

    def count(
        self,
        m: Module,
        check: IdxCheck,
        table: PendingTable,
        port: FilterPort,
        generator: PrGenerator,
    ) -> None:
        """Count the outcome of each idx, and the idxs without an outcome."""
        events = self.events
        inside = Signal(10)  # width for more than all stages and the LSQ hold
        rejected_late = port.results.valid & (self.cancel | port.results.payload.failed)
        rejected = [check.events.rejected, rejected_late, generator.rejected]
        ends = [events.local, events.coalesced, events.filtered, events.prs]
        m.d.comb += [
            events.consumed.eq(check.events.consumed),
            events.local.eq(check.events.local),
            events.rejected.eq(count_ones(rejected)),
            events.prs.eq(generator.issued),
            events.transmit_stall.eq(generator.stall),
            self.in_flight.eq(inside != 0),
        ]
        m.d.sync += inside.eq(inside + events.consumed - count_ones([*ends, *rejected]))

    def keep_slots(
        self,
        m: Module,
        slots: SlotTable,
        table: PendingTable,
        port: FilterPort,
        solver: DestinationSolver,
    ) -> None:
        """Store each entry's slot, to be read by entry; its generation goes into the PR."""
        generator = m.submodules.generator
        moves = table.results.valid & table.results.ready
        entries = {
            "looked": port.results.payload.entry,
            "set": port.set_done.payload.entry,
            "sent": solver.o.payload.tag,
            "answered": self.entry,
            "response": self.response_entry,
            "written": self.written_entry,
        }
        generations = Array(self.generations)
        m.d.comb += [
            slots.write.valid.eq(moves & ~table.results.payload.coalesced),
            slots.write.slot.eq(table.result_tag),
            slots.entry.eq(table.results.payload.entry),
            *(slots.read[k].eq(entries[name]) for k, name in enumerate(READERS)),
            generator.generation.eq(generations[slots.slot[READERS.index("sent")]]),
            self.generation.eq(generations[slots.slot[READERS.index("answered")]]),
        ]

    def report(
        self,
        m: Module,
        slots: SlotTable,
        tally: CommandTally,
        check: IdxCheck,
        table: PendingTable,
        port: FilterPort,
        generator: PrGenerator,
    ) -> None:
        """Report the outcomes of the idxs of each slot."""
        of = {name: slots.slot[k] for k, name in enumerate(READERS)}
        looked, done = port.results, port.set_done
        settled = (
            (check.events.local | check.events.rejected, check.judged_tag),
            (self.events.coalesced, table.result_tag),
            (self.events.filtered, of["looked"]),
            (done.valid & ~done.payload.failed, of["set"]),
        )
        failures = {
            Cause.RANGE: [(check.events.beyond, check.judged_tag)],
            Cause.IDX_READ: [(self.idx_failed.valid, self.idx_failed.slot)],
            Cause.PROPERTY_WRITE: [(self.write_failed, of["written"])],
            Cause.FILTER: [
                (looked.valid & looked.payload.failed, of["looked"]),
                (done.valid & done.payload.failed, of["set"]),
            ],
            Cause.REMOTE: [(self.remote, of["response"])],
        }
        moved = ((generator.issued, of["sent"]), (self.response, of["response"]))
        sources = [failures[cause].pop(0) for cause in SOURCES]
        for ports, provided in (
            (tally.settled, settled),
            (tally.failures, sources),
            (tally.moved, moved),
        ):
            for item, (valid, slot) in zip(ports, provided, strict=True):
                m.d.comb += [item.valid.eq(valid), item.slot.eq(slot)]
        m.d.comb += [
            tally.consumed.valid.eq(self.events.consumed),
            tally.consumed.slot.eq(self.idxs.payload.slot),
            tally.clear.eq(self.forget),
            tally.oldest.eq(self.oldest),
            self.open.eq(tally.open),
            self.failed.eq(tally.failed),
            *(own.eq(cause) for own, cause in zip(self.cause, tally.cause, strict=True)),
            self.moves.eq(tally.moves),
        ]
