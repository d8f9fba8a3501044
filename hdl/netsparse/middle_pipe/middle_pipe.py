"""Implements a middle pipe: takes packets apart, uses the Property Cache, joins PRs again."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay, low_bits
from hdl.common.component import Component
from hdl.common.reserved_fifo import ReservedFifo
from hdl.common.stream_arbiter import StreamArbiter
from hdl.common.streams import StreamSkid, forward
from hdl.netsparse.concat.concatenator import Concatenator
from hdl.netsparse.concat.deconcatenator import Deconcatenator
from hdl.netsparse.middle_pipe.cost import READ_COST, cost_of
from hdl.netsparse.middle_pipe.entry_credit import EntryCredit
from hdl.netsparse.middle_pipe.group_marks import GroupMarks
from hdl.netsparse.middle_pipe.hit_queue import HitQueue
from hdl.netsparse.middle_pipe.lookup_gate import LookupGate
from hdl.netsparse.middle_pipe.output_queues import OutputQueues, OutputQueuesParams
from hdl.netsparse.middle_pipe.property_gather import PropertyGather
from hdl.netsparse.middle_pipe.verdict_credit import VerdictCredit
from hdl.netsparse.property_cache.property_cache import PropertyCache
from hdl.netsparse.switch.params import CLASSES, OUTPUT_BEAT, NetSparseSwitchParams
from hdl.switch.output_room import OutputRoom


class MiddlePipe(Component):
    """Answers reads from the Property Cache, and fills it from responses (NetSparse, 6.2.1).

    A read that goes to another rack looks up its property; on a hit, a response goes to the read's
    src instead. A response from another rack inserts its property into the cache and goes on. All
    other PRs pass. PRs that leave are concatenated again, and wait in a queue of their port.

    Without ``concatenate`` packets stay whole: PRs of a packet that take the same path leave in one
    packet (in several, if hits are longer than an MTU), without PRs of other packets, and a PR
    waits only for the rest of its own packet: at most ``most_delay`` cycles. Hits of a packet also
    leave in several packets if room for responses is short, or if there are more hits than the
    :class:`HitQueue` has places and a response for the same node comes between them.

    A packet leaves by the port for which it was let in, and hits by the port that led to their src
    when they were looked up, even if routes change meanwhile.

    A packet may enter while its port's bit of ``open_*`` is high; then its bit of ``admitted_*``
    pulses. So no PR inside ever waits for a port: see :class:`hdl.switch.output_room.OutputRoom`.
    Reads may wait for responses, but responses never wait for reads.

    Throughput: a PR and 64 bytes of packets a cycle, of each class; lookups and insertions share
    one access of the cache a cycle, alternating. :attr:`latencies` are those of a packet with one
    PR, from its last beat to the first beat of the packet in which the PR leaves, if that does not
    wait for other PRs and nothing else is inside: of a ``read`` that passes, of the answer to a
    ``hit``, and of a ``response``. The first answer after a response, and the first response after
    an answer, take a cycle more.
    """

    def __init__(self, params: NetSparseSwitchParams) -> None:
        self.queues = [OutputQueuesParams(switch=params, payload=bool(k)) for k in range(2)]
        reads, responses = (queues.ports for queues in self.queues)
        ways = [
            Concatenator(params.concatenator(queues.payload)).latency + OutputQueues(queues).latency
            for queues in self.queues
        ]
        answer = StreamArbiter.latency + ways[1]
        result = LookupGate.latency + params.cache.latency
        self.latencies = {
            "read": Deconcatenator.latency + result + ReservedFifo.latency + ways[0],
            "hit": Deconcatenator.latency + result + HitQueue.latency + answer,
            "response": Deconcatenator.latency + answer,
        }
        super().__init__(
            params,
            write=In(params.write_route),
            settings=In(params.pipe_settings),
            configure=In(1),
            busy=Out(1),
            stalled=In(params.ports),
            reads=In(stream.Signature(params.entering)),
            responses=In(stream.Signature(params.entering)),
            open_reads=Out(reads),
            open_responses=Out(responses),
            admitted_reads=In(reads),
            admitted_responses=In(responses),
            reads_o=Out(stream.Signature(OUTPUT_BEAT)).array(reads),
            responses_o=Out(stream.Signature(OUTPUT_BEAT)).array(responses),
            events=Out(params.pipe_events),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.cache = PropertyCache(params.cache)
        for payload, name in enumerate(CLASSES):
            m.submodules[f"{name}_deconcatenator"] = Deconcatenator(
                params.deconcatenator(bool(payload))
            )
            m.submodules[f"{name}_concatenator"] = Concatenator(params.concatenator(bool(payload)))
            m.submodules[f"{name}_room"] = OutputRoom(params.output_room(bool(payload)))
            m.submodules[f"{name}_verdicts"] = VerdictCredit(self.queues[payload])
            m.submodules[f"{name}_entries"] = EntryCredit(params.output_room(bool(payload)))
            m.submodules[f"{name}_queues"] = OutputQueues(self.queues[payload])
            self.come(m, name, payload)
            self.leave(m, name)
        self.pass_responses(m)
        self.look_up(m)

    def come(self, m: Module, name: str, payload: int) -> None:
        """Take packets apart; return the room that their PRs cannot need."""
        params, parts = self.params, m.submodules
        come, deconcatenator = getattr(self, name), parts[f"{name}_deconcatenator"]
        room, verdicts = parts[f"{name}_room"], parts[f"{name}_verdicts"]
        admitted = getattr(self, f"admitted_{name}")
        m.d.comb += [
            *(
                getattr(deconcatenator.axis, field).eq(come.payload.beat[field])
                for field in ("tdata", "tkeep", "tlast", "tuser")
            ),
            deconcatenator.axis.tvalid.eq(come.valid),
            come.ready.eq(deconcatenator.axis.tready),
            deconcatenator.tag.eq(come.payload.tag),
            verdicts.events.eq(deconcatenator.events),
            room.packets.eq(admitted),
            room.gives[0].eq(verdicts.give),
            room.gives[1].eq(parts[f"{name}_entries"].give),
            room.left.eq(parts[f"{name}_queues"].left),
            getattr(self, f"open_{name}").eq(room.open),
            self.events[name].taken.eq(deconcatenator.events),
        ]

        # This cuts a path of ready from the gate or the arbiter to the packets' beats.
        parts[f"{name}_skid"] = skid = StreamSkid.sized(shape=params.tagged(bool(payload)))
        prs = deconcatenator.prs
        m.d.comb += forward(prs, skid.i, tag=deconcatenator.prs_tag, beat=prs.payload)

    def leave(self, m: Module, name: str) -> None:
        """Join PRs into packets, which wait for their ports."""
        parts, settings = m.submodules, self.settings
        concatenator, queues = parts[f"{name}_concatenator"], parts[f"{name}_queues"]
        entries = parts[f"{name}_entries"]
        wait = settings.read_delay if name == "reads" else settings.response_delay
        connect(m, concatenator.axis, queues.axis)
        m.d.comb += [
            concatenator.settings.delay.eq(Mux(settings.concatenate, wait, self.params.most_delay)),
            *(
                concatenator.settings[field].eq(settings[field])
                for field in ("concatenate", "node", "mac_base", "ip_base")
            ),
            entries.grows.eq(concatenator.events.grows),
            entries.credit.eq(concatenator.events.credit),
            queues.to.eq(concatenator.label),
            self.events[name].sent.eq(concatenator.events),
        ]
        for inside, outside in zip(queues.o, getattr(self, f"{name}_o"), strict=True):
            connect(m, inside, flipped(outside))

    def pass_responses(self, m: Module) -> None:
        """Send responses on, those from other racks with a copy for the cache, and hits."""
        params, parts = self.params, m.submodules
        skid = parts.responses_skid
        concatenator, entries = parts.responses_concatenator, parts.responses_entries
        entry = params.response_entry
        parts.gather = gather = PropertyGather(params)
        parts.hits = hits = HitQueue(params)
        parts.arbiter = arbiter = StreamArbiter.sized(
            shape=entry, count=2, last_bit=entry["turn"].offset
        )
        passing = arbiter.i[0].payload
        tag, beat = skid.o.payload.tag, skid.o.payload.beat
        connect(m, hits.o, arbiter.i[1])
        m.d.comb += [
            passing.beat.eq(beat),
            passing.beat.label.eq(tag.egress),
            passing.beat.ends.eq(passing.turn),
            passing.turn.eq(beat.ends | (self.settings.concatenate & beat.last)),
            arbiter.i[0].valid.eq(skid.o.valid & gather.ready),
            skid.o.ready.eq(arbiter.i[0].ready & gather.ready),
            gather.idx.eq(low_bits(beat.pr.idx, params.cache.idx_bits)),
            *(getattr(gather, name).eq(beat[name]) for name in ("length", "last", "data")),
            gather.keep.eq(
                tag.uplink & self.settings.cache & ~beat.error & params.fits(beat.pr.idx)
            ),
            gather.moves.eq(skid.o.valid & skid.o.ready),
        ]
        out = arbiter.o.payload.payload
        moves = concatenator.prs.valid & concatenator.prs.ready
        cost = cost_of(out.beat.length, params.cost_bits)
        m.d.comb += [
            *forward(arbiter.o, concatenator.prs),
            concatenator.prs.payload.eq(out.beat),
            entries.comes.eq(moves & out.beat.last),
            entries.claim.port.eq(out.beat.label),
            entries.claim.beats.eq(Mux(out.beat.error, READ_COST, cost)),
        ]

    def look_up(self, m: Module) -> None:
        """Connect reads to the cache, alternating with insertions."""
        params, parts = self.params, m.submodules
        cache, gather, hits = parts.cache, parts.gather, parts.hits
        skid, room = parts.reads_skid, parts.responses_room
        tagged = skid.o.payload
        parts.gate = gate = LookupGate(params)
        places = params.entries(params.read_entry)
        parts.misses = misses = ReservedFifo(places)
        parts.marks = GroupMarks.sized(depth=places.depth)
        turn = Signal()  # a lookup has priority, because an insertion was the last access
        insert = Signal()
        m.d.sync += turn.eq(gate.waits & ~turn)
        m.d.comb += [
            hits.cut.eq(gate.lacks_room),  # room that waiting hits of a group may hold
            insert.eq(gather.valid & ~turn),
            gather.taken.eq(insert),
            gate.prs.payload.eq(tagged.beat),
            gate.prs.payload.ends.eq(tagged.beat.ends | self.settings.concatenate),
            *forward(skid.o, gate.prs),
            gate.tag.eq(tagged.tag),
            gate.write.eq(self.write),
            gate.cache.eq(self.settings.cache),
            gate.open_items.eq(room.open_items),
            gate.stalled.eq(self.stalled),
            gate.reads_room.eq(misses.room),
            gate.hits_room.eq(hits.room),
            gate.slot.eq(~insert),
            misses.reserve.eq(gate.enters),
            hits.reserve.eq(gate.enters & gate.entry.lookup),
            room.item.valid.eq(gate.enters & gate.entry.lookup),
            room.item.port.eq(gate.entry.home),
            room.item.beats.eq(gate.entry.cost),
            cache.configure.eq(self.configure),
            cache.property_bytes.eq(self.settings.property_bytes),
            cache.access_valid.eq(insert | (gate.enters & gate.entry.lookup)),
            cache.access.eq(gather.access),
            self.busy.eq(cache.busy),
            self.events.cache.eq(cache.events),
            self.events.passed_by.eq(gate.passed_by),
        ]
        with m.If(~insert):
            m.d.comb += [
                cache.access.insert.eq(0),
                cache.access.idx.eq(low_bits(gate.entry.read.pr.idx, params.cache.idx_bits)),
                cache.access.length.eq(gate.entry.read.length),
            ]
        # The shift queue of section 6.2.1.
        valid = delay(m, gate.enters, cache.latency, "shifted_valid", reset_less=False)
        shifted = delay(m, gate.entry, cache.latency, "shifted")
        self.part(m, valid, shifted, cache.result.hit)

    def part(self, m: Module, valid, shifted, result) -> None:
        """Pass a read from the shift queue on, or answer it."""
        parts = m.submodules
        misses, hits, entries = parts.misses, parts.hits, parts.reads_entries
        marks = parts.marks
        hit = Signal()
        missed = Signal()
        m.d.comb += [
            hit.eq(valid & shifted.lookup & result),
            missed.eq(valid & shifted.lookup & ~result),
            misses.push.eq(valid & ~hit),
            misses.cancel.eq(hit),
            misses.payload.eq(shifted),
            hits.push.eq(hit),
            hits.cancel.eq(missed),
            hits.entry.eq(shifted),
            hits.property.eq(parts.cache.result.property),
            hits.comes.eq(valid),
            hits.ends.eq(shifted.read.ends),
            marks.comes.eq(valid),
            marks.takes.eq(~hit),
            marks.ends.eq(shifted.read.ends),
            parts.reads_room.gives[2].port.eq(self.queues[0].queue_of(shifted.egress)),
            parts.reads_room.gives[2].beats.eq(Mux(hit, READ_COST, 0)),
            parts.responses_room.gives[2].port.eq(shifted.home),
            parts.responses_room.gives[2].beats.eq(Mux(missed, shifted.cost, 0)),
        ]
        read = misses.o.payload
        concatenator = parts.reads_concatenator
        starts = Signal(init=1)  # the next PR starts a group
        with m.If(marks.o.valid & marks.o.ready):
            m.d.sync += starts.eq(marks.o.payload)
        m.d.comb += [
            concatenator.prs.payload.eq(read.read),
            concatenator.prs.payload.starts.eq(starts),
            concatenator.prs.payload.ends.eq(marks.o.payload),
            concatenator.prs.payload.label.eq(self.queues[0].queue_of(read.egress)),
            *forward(marks.o, concatenator.prs),  # if the mark is there, so is its read
            misses.o.ready.eq(marks.o.valid & concatenator.prs.ready),
            entries.comes.eq(concatenator.prs.valid & concatenator.prs.ready),
            entries.claim.port.eq(concatenator.prs.payload.label),
            entries.claim.beats.eq(READ_COST),
        ]
