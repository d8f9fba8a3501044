import random
from functools import partial

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.rig.entry_rows import DIGIT, row_of
from hdl.netsparse.rig.pending_table import PendingTable, PendingTableParams
from hdl.netsparse.rig.pending_way import RELEASES
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, benched, crossed, cycle, never, often
from tests.hdl.netsparse.rig.bench import TaggedSource
from tests.hdl.netsparse.rig.pending import filling, rows_for
from tests.rejects import rejects
from tests.simulated import simulated

SIZES = [(4, 8), (13, 17), (32, 40)]  # 256 of 40: by the test of the client
PARAMS = [PendingTableParams(entries=entries, idx_bits=bits) for entries, bits in SIZES]
test_pending_table = simulated(PendingTable, PARAMS, __name__)


test_rejects = rejects(
    PendingTableParams,
    (
        {"entries": 16, "ways": 3},
        "entries must be ways x 1, 2, 4, 8 or 16 rows: 16 entries in 3 ways",
    ),
    ({"ways": 8}, "entries must be ways x 1, 2, 4, 8 or 16 rows: 256 entries in 8 ways"),
)


def any_idxs(params):
    """Yield idxs without end."""
    return iter(lambda: random.getrandbits(params.idx_bits), None)


def tag_of(idx, bits):
    """Return the tag that goes with ``idx``."""
    return (idx ^ idx >> 3) & ((1 << bits) - 1)


def counted_row(count, way, rows):
    """Return the row of a lookup after this many others, of which none is coalesced."""
    bits = [count >> bit & 1 for bit in range(2 * DIGIT)]
    row = row_of((bits[:DIGIT], bits[DIGIT:]), way)
    return sum(bit << place for place, bit in enumerate(row)) % rows


class Table(Bench):
    """Models the table as a dictionary, in the order of lookups and of releases."""

    def __init__(self, dut, *stalls, coalesce=True):
        super().__init__(dut, *stalls, coalesce=coalesce)
        self.coalesce = coalesce
        self.owner = {}  # entry -> its idx, from the result until the release
        self.last = {}  # idx -> where it was entered last, and the cycle of the release
        self.hits = 0
        self.release()
        tag = partial(tag_of, bits=self.params.tag_bits)
        self.lookups = TaggedSource(dut, "lookups", tag, stall=self.source_stall)
        self.results.add_callback(self.judge)

    def judge(self, result):
        """Compare a result with what may become of its lookup."""
        idx, entry = result["idx"], result["entry"]
        assert int(self.dut.result_tag.value) == tag_of(idx, self.params.tag_bits)
        taken = self.lookups.cycles[len(self.results.beats) - 1]
        where, released = self.last.get(idx, (None, 0))
        if result["coalesced"]:
            assert self.coalesce
            assert where == entry
            assert released is None or released > taken
            self.hits += 1
            return
        assert not self.coalesce or released is not None, f"{idx} is there already"
        rows = self.params.rows
        if self.coalesce:
            assert entry % rows == rows_for(self.params, idx)[entry // rows]
        else:
            assert entry % rows == counted_row(len(self.results.beats) - 1, entry // rows, rows)
        assert entry not in self.owner, f"{entry} is in use"
        self.owner[entry] = idx
        self.last[idx] = entry, None

    def release(self, *entries, first=None):
        """Give back entries in the coming cycle, from port ``first`` on, or from any."""
        provided = [{"valid": 1, "entry": entry} for entry in entries]
        first = random.randrange(RELEASES) if first is None else first
        for k in range(RELEASES):
            port = provided.pop() if provided else {"valid": 0, "entry": random.randrange(4)}
            name = f"release_{(first + k) % RELEASES}"
            self.set(**{name: port})
        for entry in entries:
            idx = self.owner.pop(entry)
            if self.last[idx][0] == entry:
                self.last[idx] = entry, cycle() + 1

    async def release_some(self, pause, keep=0):
        """Release one or two any entries, unless it pauses; watch one that stays."""
        edge, watched = RisingEdge(self.dut.clk), None
        while True:
            await edge
            if watched is not None:
                assert self.value("read") == {"valid": 1, "idx": watched}
            assert not (self.owner and self.dut.empty.value)
            gone = []
            if len(self.owner) > keep and not pause():
                gone = random.sample(
                    sorted(self.owner), min(len(self.owner), random.choice((1, 2)))
                )
            watched = None
            if self.owner:
                self.dut.read_entry.value = entry = random.choice(sorted(self.owner))
                watched = self.owner[entry]  # in the cycle of its release it is still there
            self.release(*gone)

    async def stop(self, releasing):
        """Release no more; the releases of the coming cycle still count."""
        releasing.cancel()
        await RisingEdge(self.dut.clk)
        self.release()

    async def check(self, count):
        """Wait until all ``count`` results have come and all entries go back."""
        await self.results.wait_for(count)
        assert [beat["idx"] for beat in self.results.beats] == self.sent[:count]
        while self.owner:
            self.release(*list(self.owner)[:RELEASES])
            await self.wait()
        self.release()
        await self.wait(10)
        assert self.dut.empty.value
        assert not self.dut.count.value
        assert not self.dut.full.value
        assert len(self.results.beats) == count
        for entry in range(self.params.entries):
            self.dut.read_entry.value = entry
            await RisingEdge(self.dut.clk)
            assert not self.value("read")["valid"]

    def issue(self, idxs):
        """Look up ``idxs``."""
        self.sent = list(idxs)
        self.lookups.extend(self.sent)


def some_idxs(params, count, spread):
    """Draw idxs from ``spread`` ones, extremes and neighbours (in one bit) among them."""
    top = (1 << params.idx_bits) - 1
    pool = [0, top, 1, top >> 1, *(random.randint(0, top) for _ in range(spread))][:spread]
    return [random.choice(pool) for _ in range(count)]


@crossed(stalls=STALLS, coalesce=[1, 0])
async def any_traffic(dut, stalls, coalesce):
    table = await Table(dut, stalls, coalesce=coalesce).begin()
    params = table.params
    idxs = []
    for spread in (1, 3, params.entries, 3 * params.entries):
        idxs += some_idxs(params, 150 + 2 * params.entries, spread)
    table.issue(idxs)
    # A table that is nearly full now and then, and emptied as fast as possible at other times.
    for pause, keep in ((often, params.entries // 2), (never, 0), (often, 0)):
        releasing = cocotb.start_soon(table.release_some(pause, keep))
        await table.results.wait_for(len(table.results.beats) + len(idxs) // 4)
        await table.stop(releasing)
    releasing = cocotb.start_soon(table.release_some(often, 0))
    await table.results.wait_for(len(idxs))
    await table.stop(releasing)
    await table.check(len(idxs))
    assert (table.hits > 0) == bool(coalesce)


@benched(Table)
async def a_lookup_a_cycle_beside_two_releases(table):
    params = table.params
    if params.entries < 13:
        return
    count = 3 * params.entries
    # Each idx comes again at once, so half of the lookups are coalesced; then none is.
    idxs = [k // 2 for k in range(count)] + [count + k for k in range(count)]
    table.issue([idx % (1 << params.idx_bits) for idx in idxs])
    releasing = cocotb.start_soon(table.release_some(never, 2))
    await table.results.wait_for(2 * count)
    await table.stop(releasing)
    await table.check(2 * count)
    first = table.lookups.cycles[0]
    assert table.lookups.cycles == list(range(first, first + 2 * count))
    assert table.results.cycles == [at + PendingTable.latency for at in table.lookups.cycles]
    assert table.hits == count // 2


@benched(Table)
async def equal_idxs_at_every_distance(table):
    top = (1 << table.params.idx_bits) - 1
    table.sent = []
    for distance in range(1, 9):
        # Released in each cycle after its result; 0: not at all.
        for after in range(distance + 4):
            # Those between are two others, so that the smallest table has room.
            others = [top, top - 1]
            idxs = [5, *(others[k % 2] for k in range(distance - 1)), 5]
            before = len(table.results.beats)
            table.sent += idxs
            table.lookups.extend(idxs)
            await table.results.wait_for(before + 1)
            if after:
                await ClockCycles(table.dut.clk, after - 1)
                table.release(table.results.beats[before]["entry"])
                await table.wait()
                table.release()
            await table.results.wait_for(len(table.sent))
            first, second = table.lookups.cycles[before], table.lookups.cycles[-1]
            assert second - first == distance
            if not after:
                assert table.results.beats[-1]["coalesced"]
            while table.owner:
                table.release(next(iter(table.owner)))
                await table.wait()
                table.release()
    await table.check(len(table.sent))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def full_only_for_those_who_need_an_entry(dut):
    for port in range(RELEASES):
        table = await Table(dut).begin()
        params = table.params
        entries = params.entries
        filled = filling(params, any_idxs(params))
        known = list(filled.values())
        new = next(idx for idx in any_idxs(params) if idx not in known)
        hits = random.choices(known, k=20)
        table.issue([*known, *hits, new, new, new])
        await table.results.wait_for(entries + len(hits))
        await ClockCycles(dut.clk, 20)
        assert dut.full.value
        assert int(dut.count.value) == entries
        assert len(table.results.beats) == entries + len(hits)
        assert table.hits == len(hits)
        assert table.owner == filled
        for entry, idx in table.owner.items():
            dut.read_entry.value = entry
            await table.wait()
            assert table.value("read") == {"valid": 1, "idx": idx}
        # In two cycles each: the first of them finds out.
        cycles = table.results.cycles[entries : entries + len(hits)]
        assert cycles == list(range(cycles[0], cycles[0] + 2 * len(hits), 2))
        way = random.randrange(params.used_ways)
        row = rows_for(params, new)[way]
        if params.rows > 1:  # an entry that is not in one of its rows is no use
            table.release(way * params.rows + (row + 1) % params.rows)
            await table.wait()
            table.release()
            for _ in range(10):
                await table.wait()
                assert dut.full.value
        entry = way * params.rows + row
        table.release(entry, first=port)
        released = cycle() + 1
        await RisingEdge(dut.clk)
        table.release()
        await table.results.wait_for(len(table.sent))
        assert table.results.beats[-3]["entry"] == entry
        assert table.results.cycles[-3] == released + 3
        await table.check(len(table.sent))
        table.results.stop()


@benched(Table)
async def clear_forgets_all(table):
    params, sent = table.params, []
    for count in (3, params.entries, params.entries // 2, params.entries):
        idxs = list(filling(params, any_idxs(params)).values())[:count]
        sent += idxs
        table.lookups.extend(idxs)
        await table.results.wait_for(len(sent))
        if count > 3:
            table.release(*list(table.owner)[:2])
            await table.wait()
            table.release()
        await table.strobe(clear=1)
        table.owner.clear()
        table.last.clear()
        await RisingEdge(table.dut.clk)
        assert table.dut.empty.value
        assert not table.dut.count.value
    table.sent = sent
    await table.check(len(sent))
    assert table.hits == 0
