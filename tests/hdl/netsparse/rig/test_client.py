import random
from dataclasses import replace
from functools import cache

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.protocol import MAX_PROPERTY_BYTES
from hdl.netsparse.rig.client import CLIENT_EVENTS, Client
from hdl.netsparse.rig.params import Cause
from sim.harness.bench import Bench
from sim.harness.payloads import unpack
from sim.harness.pulses import Noise
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, Source, always, benched, crossed, never, until
from tests.hdl.netsparse.rig.bench import OUTCOMES, TINY, FilterModel, conserved
from tests.hdl.netsparse.rig.pending import filling
from tests.simulated import simulated

NODES, NODE = 128, 77
COLUMNS = (1 << 64) - 100
BOUNDARIES = [k * COLUMNS // NODES for k in range(NODES + 1)]
LOCAL = range(BOUNDARIES[NODE], BOUNDARIES[NODE + 1])
# Of every node; half of them differ from another one in a high bit alone.
IDXS = [idx ^ flip for idx in range(0, COLUMNS, COLUMNS // 600) for flip in (0, 1 << 48)]
#: node and unit as PRs name them, the generation of the first slot, bytes of a property
LOWEST = (0, 0, 0, 4)
HIGHEST = ((1 << 32) - 1, (1 << 16) - 1, -1, MAX_PROPERTY_BYTES)
#: There are more entries than the LSQ has slots, as in units that are built; idxs are any.
SIZES = {"pending_entries": 256, "lsq_entries": 64, "lsq_reserved": 8}
PARAMS = replace(TINY, nodes=NODES, idx_bits=64, **SIZES)

test_client = simulated(Client, [PARAMS], __name__)


def remote(idxs):
    return [idx for idx in idxs if idx not in LOCAL]


def any_remote():
    """Yield remote idxs without end, with bits that no other column has."""
    while True:
        idx = random.randrange(COLUMNS) ^ random.choice((0, 1 << 48))
        if idx not in LOCAL:
            yield idx


#: entries that others ask about, of no meaning while nothing comes with them
REQUESTED = ("entry", "response_entry", "written_entry")
WATCHED = ("idxs_valid", "idxs_ready", "idxs_payload", "provided", "in_flight", "events")


@cache
def more_inside(bits):
    """Return how many idxs come in, less those that end, in a cycle with these events."""
    events = unpack(CLIENT_EVENTS, bits)
    return events["consumed"] - sum(events[name] for name in OUTCOMES)


class IdxSource(Source):
    """Gives idxs of two commands, in turns; what is sent at once ends with their last."""

    async def send_all(self, beats):
        idxs = [*beats]
        last = {idx % 2: k for k, idx in enumerate(idxs)}
        await super().send_all(
            {"idx": idx, "slot": idx % 2, "last": k == last[idx % 2]} for k, idx in enumerate(idxs)
        )


class ClientBench(Bench):
    """Answers every PR some cycles later: its entry goes back by ``sets``."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls, coalesce=1, filter=1)
        generations = 1 << self.params.generation_bits
        size = 4 * random.randint(1, self.params.most_property_bytes // 4)
        self.name(NODE, random.getrandbits(16), random.randrange(generations), size)
        self.idxs = IdxSource(dut, "idxs", stall=self.source_stall)
        self.prs.add_callback(self.answer)
        self.filter = FilterModel(dut, self.params, lambda is_set: 3, stall=self.sink_stall)
        self.totals = self.tally()
        self.shown, self.inside = Recorder(dut, "", dict.fromkeys(WATCHED)), 0
        self.answers = True
        self.inquired = Noise(dut, *REQUESTED)

    def name(self, node, unit, generation, size):
        """Return what PRs have in common; the second slot has another generation than the first."""
        generations = 1 << self.params.generation_bits
        self.generations = [generation % generations, ~generation % generations]
        for k, item in enumerate(self.generations):
            self.set(**{f"generations_{k}": item})
        self.common = {"src": node, "tid": unit}, size
        bounds = {"node": node, "first": LOCAL.start, "end": LOCAL.stop, "columns": COLUMNS}
        self.set(unit=unit, bytes=size, partition=bounds)

    async def begin(self):
        await super().begin()
        await self.play(
            [
                {"boundary": {"valid": 1, "node": k, "boundary": at}}
                for k, at in enumerate(BOUNDARIES[:-1])
            ]
        )
        return self

    def check(self):
        """Check that ``provided`` came with a command's last idx, ``in_flight`` while idxs
        waited.
        """
        last = self.params.fetched["last"].offset
        for item in self.shown.take().values():
            moved = item["idxs_valid"] & item["idxs_ready"]
            assert item["provided"] == moved & item["idxs_payload"] >> last
            assert item["in_flight"] == (self.inside > 0)
            self.inside += more_inside(item["events"])

    def answer(self, pr):
        idx, identity = pr["pr"]["idx"], pr["pr"]["id"]
        common, size = self.common
        assert pr["length"] == size
        assert common == {name: pr["pr"][name] for name in common}
        assert pr["dest"] == sum(idx >= bound for bound in BOUNDARIES) - 1
        assert identity >> self.params.entry_bits == self.generations[idx % 2]
        if self.answers:
            self.sets.append({"idx": idx, "entry": identity % self.params.pending_entries})

    async def rest(self):
        await self.wait(8)
        for name in ("in_flight", "open"):
            await self.until(name, 0)
        assert not self.dut.in_flight.value
        assert self.dut.filter_idle.value
        assert not self.filter.under_way
        for _ in range(3):
            await self.wait()
            assert not self.dut.open.value
        assert conserved(self.totals), self.totals
        self.check()

    def requested(self):
        return [pr["pr"]["idx"] for pr in self.prs.beats]


@benched(ClientBench, stalls=STALLS)
async def requests_each_idx_once(bench):
    columns = random.sample(IDXS, 150)
    idxs = [0, *random.choices(columns, k=499)]
    await bench.idxs.send_all(idxs)
    await bench.rest()
    assert sorted(bench.requested()) == sorted({*remote(idxs)})
    assert bench.filter.bits == {*remote(idxs)}
    totals = bench.totals
    assert (totals["consumed"], totals["rejected"]) == (500, 0)
    assert totals["local"] == 500 - len(remote(idxs))
    assert totals["prs"] == len(bench.prs.beats)
    assert totals["coalesced"]
    assert totals["filtered"]


@benched(ClientBench, slot=[0, 1])
async def each_end_of_an_idx_is_progress(bench, slot):
    """It is that of the oldest command, and of no other."""
    pool = random.sample(remote(IDXS), 200) + [LOCAL[k] for k in range(40)]
    few = [idx for idx in pool if idx % 2 == slot]
    Noise(bench.dut, "oldest")
    shown = bench.record("", "oldest", "moves", "events")
    await bench.idxs.send_all(random.choices(few, k=400))
    for item in list.__iter__(shown.beats):
        events = item["events"]
        if item["oldest"] != slot:
            assert not item["moves"]
        elif any(events[name] for name in ("consumed", *OUTCOMES) if name != "prs"):
            assert item["moves"], events
    await bench.rest()
    assert min(bench.totals[name] for name in ("local", "coalesced", "filtered")) > 10


@benched(ClientBench, mix=["filtered", "coalesced", "local", "mixed"])
async def one_idx_a_cycle(bench, mix):
    known = random.sample(remote(IDXS), 50)
    waited_for, bench.filter.bits = known[:4], {*known[4:]}
    bench.answers = False
    await bench.idxs.send_all(waited_for)
    await bench.wait(40)
    kinds = {"filtered": known[4:], "coalesced": waited_for, "local": LOCAL}
    if mix == "mixed":
        idxs = [random.choice(random.choice([*kinds.values()])) for _ in range(500)]
    else:
        idxs = random.choices(kinds[mix], k=500)
    bench.totals.clear()
    seen = len(bench.idxs.cycles)
    await bench.idxs.send_all(idxs)
    cycles = bench.idxs.cycles[seen:]
    rate = (len(cycles) - 1) / (cycles[-1] - cycles[0])
    assert rate >= 0.95, f"{mix}: {rate}"
    await bench.wait(30)
    assert bench.totals["prs"] == 0
    assert conserved(bench.totals)
    if mix != "mixed":
        assert bench.totals[mix] >= 0.8 * len(idxs)
    assert not bench.dut.in_flight.value
    assert bench.dut.open.value
    for pr in bench.prs.beats:
        bench.sets.append(
            {"idx": pr["pr"]["idx"], "entry": pr["pr"]["id"] % bench.params.pending_entries}
        )
    await bench.rest()


@benched(ClientBench, ends=[LOWEST, HIGHEST])
async def shows_what_waits(bench, ends):
    """``known`` is what a response is compared with; a full table's command is open until all
    of its entries are answered.
    """
    bench.name(*ends)
    bench.answers = False
    slot = int(ends == HIGHEST)
    of_one_command = (idx for idx in any_remote() if idx % 2 == slot)
    idxs = list(filling(Client(bench.params).table_params, of_one_command).values())
    await bench.idxs.send_all(idxs)
    await bench.prs.wait_for(len(idxs))
    assert not bench.dut.in_flight.value
    assert int(bench.dut.open.value) == 1 << slot
    result = {}
    bench.inquired.set(False)
    for entry in range(bench.params.pending_entries):
        bench.dut.entry.value = entry
        await bench.wait(2)
        known = bench.value("known")
        if known["valid"]:
            result[entry] = known["idx"]
    ids = [pr["pr"]["id"] for pr in bench.prs.beats]
    entries = [identity % bench.params.pending_entries for identity in ids]
    assert result == dict(zip(entries, idxs, strict=True))
    for entry, idx in result.items():
        bench.sets.append({"idx": idx, "entry": entry})
    await bench.rest()
    assert not bench.dut.open.value, "every entry of a full table is free once it is answered"


async def cancel(bench, sending):
    """Reject what is inside and what still comes, as the control of a unit does."""
    dut, edge = bench.dut, RisingEdge(bench.dut.clk)
    dut.cancel.value = 1
    bench.answers = False
    await sending
    await until(dut.clk, dut.in_flight, 0)
    for _ in range(3000):
        await edge
        if not (dut.in_flight.value or dut.sets_valid.value) and dut.filter_idle.value:
            break
    assert not dut.in_flight.value, "idxs stay inside"
    dut.forget.value = 1
    await edge
    dut.forget.value = dut.cancel.value = 0
    await ClockCycles(dut.clk, 3)
    assert not dut.open.value
    assert conserved(bench.totals)
    assert bench.totals["rejected"] > 0
    bench.prs.stall, bench.filter.latency = never, lambda is_set: 3


async def works_as_ever(bench, count):
    """Check that idxs are asked for once each, as if there had been no cancel."""
    bench.filter.bits.clear()
    bench.answers = True
    idxs = random.choices(IDXS, k=count)
    seen = len(bench.prs.beats)
    await bench.idxs.send_all(idxs)
    await bench.rest()
    assert sorted(bench.requested()[seen:]) == sorted({*remote(idxs)})


@benched(ClientBench, stuck=["table", "transmit"])
async def cancels(bench, stuck):
    """Whatever waits is rejected, each idx once; afterwards all works as ever."""
    for _ in range(3):
        bench.totals.clear()
        seen = len(bench.prs.beats)
        bench.answers = stuck != "table"
        if stuck == "transmit":
            bench.prs.stall = always
        count = 2 * bench.params.pending_entries
        sending = cocotb.start_soon(bench.idxs.send_all(random.choices(IDXS, k=count)))
        await ClockCycles(bench.dut.clk, random.choice((7, 60, 100)))
        if stuck == "table":
            await bench.wait(400)
            assert bench.totals["table_stall"]
            entries = {
                pr["pr"]["id"] % bench.params.pending_entries for pr in bench.prs.beats[seen:]
            }
            assert len(entries) > bench.params.pending_entries // 2, "most are used"
        await cancel(bench, sending)
        assert bench.totals["consumed"] == count
        await bench.wait(30)
        assert len(bench.prs.beats) - seen == bench.totals["prs"], "what was issued leaves"
        await works_as_ever(bench, 100)


@benched(ClientBench)
async def cancels_at_any_cycle(bench):
    """Results wait in the table for a slot of the LSQ, which has fewer, as their entries go."""
    waited = 0
    for cycles in range(3, 80, 2):
        bench.totals.clear()
        bench.filter.latency = lambda is_set: 350
        sending = cocotb.start_soon(bench.idxs.send_all(random.sample(remote(IDXS), 70)))
        await bench.wait(cycles)
        before = bench.totals["filter_stall"]
        await cancel(bench, sending)
        waited += bench.totals["filter_stall"] - before > bench.params.pending_entries
        await works_as_ever(bench, 8)
    assert waited > 10, "the table's round passes what waits"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reports_idxs_beyond_and_of_a_failing_filter(dut):
    """It tells of the command whose idx it was."""
    bench = await ClientBench(dut).begin()

    def failed():
        causes = [Cause(int(getattr(dut, f"cause_{k}").value)) for k in range(2)]
        return {k: causes[k] for k in range(2) if int(dut.failed.value) >> k & 1}

    async def forget():
        dut.cancel.value = 1
        await ClockCycles(dut.clk, 40)
        dut.forget.value = 1
        await RisingEdge(dut.clk)
        dut.forget.value = dut.cancel.value = 0
        await ClockCycles(dut.clk, 3)
        assert not failed()
        assert not dut.open.value

    await bench.idxs.send_all([COLUMNS + 1, 2, COLUMNS + 3, COLUMNS + 65, (1 << 64) - 1, 4])
    await bench.rest()
    assert failed() == {1: Cause.RANGE}
    assert bench.totals["rejected"] == 4
    bench.filter.fails = lambda request: not request["set"]
    await bench.idxs.send_all([3, 6, 8])
    await ClockCycles(dut.clk, 30)
    assert failed() == {0: Cause.FILTER, 1: Cause.RANGE}, "the first counts"
    assert bench.totals["rejected"] == 7
    assert not dut.in_flight.value
    assert int(dut.open.value) == 0b11, "their entries stay"
    await forget()
    bench.filter.fails = lambda request: request["set"]
    await bench.idxs.send_all([5])
    await ClockCycles(dut.clk, 60)
    assert failed() == {1: Cause.FILTER}
    assert int(dut.open.value) == 0b10
    assert conserved(bench.totals)
    bench.check()


@benched(ClientBench)
async def knows_the_command_of_every_entry(bench):
    """It is the first that asked for its idx, whoever comes later."""
    bench.answers = False
    entries = bench.params.pending_entries
    filled = filling(Client(bench.params).table_params, any_remote())
    idxs = list(filled.values())
    chosen = [*idxs, *random.sample(sorted({*remote(IDXS)} - {*idxs}), 66)]
    await bench.idxs.send_all(idxs)
    await bench.prs.wait_for(entries)
    for idx in random.sample(idxs, 60):  # by the other command
        bench.idxs.append({"idx": idx, "slot": 1 - idx % 2, "last": 0})
    await bench.wait(150)  # two each, as the table is full
    assert bench.totals["coalesced"] == 60
    await check_commands(bench)
    for begin, end in ((0, 1), (1, 6), (6, 66)):  # in places that others had before
        await bench.idxs.send_all(chosen[entries + begin : entries + end])
        await bench.prs.wait_for(entries + end)
        await check_commands(bench)
    bench.check()


async def check_commands(bench):
    """Check that whoever asks for the command of an entry is told the same."""
    dut, edge = bench.dut, RisingEdge(bench.dut.clk)
    prs = [pr["pr"] for pr in bench.prs.beats]
    commands = {pr["id"] % bench.params.pending_entries: pr["idx"] % 2 for pr in prs}
    bench.inquired.set(False)
    for entry, slot in commands.items():
        oldest = random.randrange(2)
        for name in REQUESTED:
            getattr(dut, name).value = entry
        dut.oldest.value, dut.response.value, dut.write_failed.value = oldest, 1, 1
        await edge
        await edge
        assert int(dut.moves.value) == (slot == oldest)
        assert int(dut.generation.value) == bench.generations[slot]
        dut.response.value = dut.write_failed.value = 0
        await edge
        assert int(dut.failed.value) == 1 << slot
        assert not dut.moves.value
        dut.forget.value = 1  # the failure, too
        await edge
        dut.forget.value = 0
        await edge
    bench.inquired.set(True)


@crossed(source=["remote", "write_failed", "idx_failed"], slot=[0, 1])
async def finds_the_command_of_an_entry(dut, source, slot):
    bench = await ClientBench(dut).begin()
    bench.answers = False
    await bench.idxs.send_all([idx + slot for idx in (5, 8, 7)])
    await bench.prs.wait_for(3)
    entry = bench.prs.beats[1]["pr"]["id"] % bench.params.pending_entries
    bench.inquired.set(False)
    for name in REQUESTED:
        getattr(dut, name).value = entry
    bench.set(idx_failed={"valid": source == "idx_failed", "slot": slot})
    if source != "idx_failed":
        getattr(dut, source).value = 1
    await RisingEdge(dut.clk)
    dut.remote.value = dut.write_failed.value = dut.idx_failed.value = 0
    await ClockCycles(dut.clk, 2)
    assert int(dut.failed.value) == 1 << slot
    causes = {"remote": Cause.REMOTE, "write_failed": Cause.PROPERTY_WRITE}
    assert Cause(int(getattr(dut, f"cause_{slot}").value)) is causes.get(source, Cause.IDX_READ)
    bench.check()
