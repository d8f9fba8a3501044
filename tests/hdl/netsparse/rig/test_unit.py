import random
from dataclasses import replace
from functools import partial

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.rig.idx_fetch import IdxFetch
from hdl.netsparse.rig.params import Cause, RigParams
from hdl.netsparse.rig.unit import UNIT_EVENTS, RigUnit
from sim.harness.payloads import pack
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, Source, always, benched, crossed, cycle, never, often
from sim.harness.verilator import params_in_simulator
from tests.hdl.netsparse.rig.bench import TINY
from tests.hdl.netsparse.rig.unit_bench import (
    COLUMNS,
    LOCAL,
    PARTS,
    UnitBench,
    quickly,
    remote,
    slowly,
)
from tests.simulated import simulated

LARGE = replace(
    TINY,
    idx_bits=64,
    address_bits=64,
    most_property_bytes=4096,
    pending_entries=256,
    lsq_entries=64,
    lsq_reserved=8,
    idx_buffer_bytes=4096,
    property_buffer_bytes=4096,
    transmit_prs=16,
    commands=4,
)


#: Cycles of a command's way beside a PR's: its idxs are read, checked, looked up; properties are
#: written, bits set, the completion is told.
ROUND = 60
BORDER = 4  #: cycles between two commands' idxs
#: One unit is as small as can be, the other has every width at its largest.
SIZES = {"4": TINY, "256": LARGE}

test_unit = simulated(RigUnit, SIZES, __name__, registers=["generation"])


def some_idxs(count, spread=COLUMNS):
    """Draw idxs that are often the same, near each other and far apart."""
    few = random.sample(range(COLUMNS), min(spread, COLUMNS))
    return [random.choice(few[: random.choice((3, 20, spread))]) for _ in range(count)]


@crossed(stalls=STALLS, size=[4, 64, 68, 192], ms=2)
async def gathers_each_property_once(dut, stalls, size):
    source, sink = stalls
    bench = await UnitBench(dut, source=source, sink=sink).begin()
    known = set()
    for count in (0, 1, 150):
        idxs = some_idxs(count)
        prs = await bench.gather(idxs, size, wide=random.getrandbits(1))
        assert len(prs) == len({*prs}), "asked for twice"
        assert {*prs} == {*remote(idxs)} - known
        known |= {*prs}
    assert bench.filter.bits == known
    await bench.end()


@crossed(filter_latency=[quickly, slowly], trip=[lambda: 2, slowly], ms=2)
async def demands_exactly_once(dut, filter_latency, trip):
    bench = await UnitBench(dut, filter_latency=filter_latency, trip=trip).begin()
    for spread in (2, 12, 60, 300):
        bench.forget()
        idxs = some_idxs(150, spread)
        prs = await bench.gather(idxs)
        assert sorted(prs) == sorted({*remote(idxs)})
    await bench.end()


@crossed(coalesce=[0, 1], filters=[0, 1], ms=2)
async def mechanisms_can_be_off(dut, coalesce, filters):
    bench = await UnitBench(dut, filter_latency=slowly, trip=slowly).begin()
    dut.coalesce.value, dut.filter.value = coalesce, filters
    idxs = some_idxs(200, 12)
    distinct, every = len({*remote(idxs)}), len(remote(idxs))
    for seen in (False, True):
        bench.totals.clear()
        requested = len(await bench.gather(idxs))
        totals = bench.totals
        assert totals["consumed"] == len(idxs)
        assert totals["local"] == len(idxs) - every
        assert requested == totals["prs"] == every - totals["coalesced"] - totals["filtered"]
        assert coalesce or not totals["coalesced"]
        assert filters or not totals["filtered"]
        assert bool(bench.filter.lookups or bench.filter.sets) == bool(filters)
        if filters and seen:
            assert requested == 0
        elif filters and coalesce:
            assert requested == distinct
        elif coalesce or filters:
            assert distinct <= requested <= every
        else:
            assert requested == every
    await bench.end()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_idx_a_cycle(dut):
    """Idxs are filtered, local or mixed. A lookup is in the LSQ and the table for some cycles."""
    if params_in_simulator(RigParams).pending_entries < 16:
        return
    bench = await UnitBench(dut, filter_latency=lambda is_set: 3, trip=lambda: 2).begin()
    few = random.sample(remote(range(COLUMNS)), 20)
    await bench.gather(few)
    local = random.choices(LOCAL, k=100)
    mixes = {
        "filtered": random.choices(few, k=800),
        "local": random.choices(LOCAL, k=800),
        "a mix": random.choices(few + local, k=800),
    }
    for name, idxs in mixes.items():
        shown = Recorder(dut, "events", {"events": UNIT_EVENTS})
        assert await bench.gather(idxs) == []
        events = zip(shown.beats, shown.cycles, strict=True)
        cycles = [at for item, at in events if item["events"]["consumed"]]
        assert len(cycles) == 800
        rate = (len(cycles) - 1) / (cycles[-1] - cycles[0])
        dut._log.info("%s: %.3f idxs a cycle", name, rate)
        assert rate >= 0.95, f"{name}: {rate}"
    await bench.end()


async def next_ones_are_exact(bench, size=4, *, clear=True):
    """The host clears the filter after a failure; what has come need not come again without."""
    if clear:
        bench.forget()
    known = set(bench.filter.bits)
    for _ in range(2):
        idxs = some_idxs(80, 40)
        assert sorted(await bench.gather(idxs, size)) == sorted({*remote(idxs)} - known)
        known |= {*remote(idxs)}
    await bench.end()


#: what may break, with the cause that is then told
FAULTS = {
    "range": Cause.RANGE,
    "read": Cause.IDX_READ,
    "write": Cause.PROPERTY_WRITE,
    "lookup": Cause.FILTER,
    "set": Cause.FILTER,
    "owner": Cause.REMOTE,
    "length": Cause.REMOTE,
    "network": Cause.WATCHDOG,
}


def break_it(bench, fault, idxs):
    """Break the last read, an idx, or some of all others."""
    chunk = IdxFetch(bench.params).chunk_bytes

    def some():
        return random.random() < 0.3

    match fault:
        case "range":
            idxs[random.randrange(len(idxs))] = random.choice((COLUMNS, 4095, 4096, 1 << 31))
        case "read":
            bench.reader.fails = lambda address: address + chunk >= bench.idxs_end
        case "write":
            bench.write_fails = lambda _: some()
        case "lookup" | "set":
            bench.filter.fails = lambda request: request["set"] == (fault == "set") and some()
        case "length":
            bench.respond = lambda pr: [{"length": random.choice((4, 60, 64, 128, 192))}]
        case _:
            wrong = [{"error": 1}] if fault == "owner" else []
            bench.respond = lambda pr: wrong if some() else [{}]


def mend(bench):
    bench.reader.fails = bench.write_fails = lambda address: False
    bench.filter.fails = lambda request: False
    bench.respond = lambda pr: [{}]


@crossed(fault=list(FAULTS), ms=4)
async def reports_what_failed(dut, fault):
    bench = await UnitBench(dut, source=often, sink=often, filter_latency=slowly).begin()
    size, clear = random.choice(((68, True), (192, True), (4, False)))
    idxs = some_idxs(200)
    break_it(bench, fault, idxs)
    bench.submit(idxs, size, watchdog=400)
    await bench.fails(FAULTS[fault])
    mend(bench)
    failures = {
        name: n for name, n in bench.totals.counts.items() if name.startswith("failed") and n
    }
    assert failures == {f"failed_{FAULTS[fault].name.lower()}": 1}
    bench.totals.clear()
    await ClockCycles(dut.clk, 100)  # late responses come with the next command or before
    await next_ones_are_exact(bench, size, clear=clear)


@benched(partial(UnitBench, trip=lambda: 400))
async def drops_late_responses(bench):
    """They come while the next command asks for the same idxs with changed properties."""
    entries = bench.params.pending_entries
    bench.submit(remote(range(COLUMNS))[: entries // 2], watchdog=100)
    await bench.fails(Cause.WATCHDOG)
    late = bench.totals["prs"]
    assert late == entries // 2
    assert bench.totals["responses"] == bench.totals["stale"] == 0
    bench.forget()
    idxs = remote(range(COLUMNS))[: entries // 2]
    assert await bench.gather(idxs) == idxs
    await bench.end()
    assert bench.totals["stale"] == late
    assert bench.totals["responses"] == len(idxs)


@benched(partial(UnitBench, trip=slowly))
async def drops_what_nobody_waits_for(bench):
    """Responses come twice, or with another idx, entry or generation."""
    idxs = some_idxs(150)

    def respond(pr):
        idx, id_ = pr["pr"]["idx"], pr["pr"]["id"]
        # An entry may be another idx's by then, which nobody may answer in place of its owner.
        others = [idx ^ 1 << bit for bit in range(bench.params.idx_bits)]
        wrong = random.choice(
            (
                {"idx": random.choice([other for other in others if other not in idxs])},
                {"idx": idx | 1 << 40},
                {"id": id_ ^ 1 << bench.params.entry_bits},
                {"id": id_ ^ 1 << 31},
            )
        )
        return [{"pr": wrong}, {}, {}]

    bench.respond = respond
    assert sorted(await bench.gather(idxs, 68)) == sorted({*remote(idxs)})
    await bench.wait(300)
    await bench.end()
    assert bench.totals["stale"] == 2 * bench.totals["responses"] > 0


@crossed(stalls=STALLS)
async def commands_come_at_any_pace(dut, stalls):
    """Some are empty or illegal, and are over at once."""
    source, sink = stalls
    bench = await UnitBench(dut, source=source, sink=sink).begin()
    bench.commands.stall = source
    expected = []
    for k in range(42):
        cause = (Cause.COMMAND, Cause.ARRAY, Cause.DONE)[k % 3]
        changes = {"cause": cause}
        if cause is Cause.COMMAND:  # what the host has written into an illegal one is anything
            command = bench.params.command
            names = ("idx_address", "count", "property_address", "property_bytes", "watchdog")
            changes |= {name: k % 2 * ((1 << command[name].width) - 1) for name in names}
        bench.submit([], changes=changes)
        expected.append({"tag": bench.tag, "cause": cause})
    await bench.completions.wait_for(len(expected))
    assert bench.completions.beats == expected
    await RisingEdge(dut.clk)
    failures = {
        name: n for name, n in bench.totals.counts.items() if name.startswith("failed") and n
    }
    assert failures == {"failed_command": 14, "failed_array": 14}
    await bench.end()


@benched(partial(UnitBench, source=often, sink=often))
async def commands_wait_their_turn(bench):
    tags, gathered = [], []
    for _ in range(6):
        idxs = some_idxs(30)
        bench.submit(idxs, 64)
        tags.append(bench.tag)
        gathered += idxs
    await bench.completions.wait_for(6)
    assert bench.completions.beats == [{"tag": tag, "cause": Cause.DONE} for tag in tags]
    bench.check_memory(gathered)
    assert sorted(pr["pr"]["idx"] for pr in bench.prs.beats) == sorted({*remote(gathered)})
    await bench.end()


async def cycles_of(bench, batches):
    """Return the cycles to the last completion; the properties must be there by then."""
    bench.forget()
    seen = len(bench.completions.beats)
    for batch in batches:
        bench.submit(batch, 64)
    begun = cycle()
    await bench.completions.wait_for(seen + len(batches))
    assert {item["cause"] for item in bench.completions.beats[seen:]} == {Cause.DONE}
    bench.check_memory([idx for batch in batches for idx in batch])
    return cycle() - begun


@benched(partial(UnitBench, trip=lambda: 400, filter_latency=lambda is_set: 3), parts=[2, 5, 8])
async def batches_cost_what_one_does(bench, parts):
    """Commands overlap: one more costs its read of idxs, which is hidden, and a chunk's border.

    The way of a PR and back is 400 cycles long. As many commands as the unit keeps are under way,
    so a way is paid again only after that many commands.
    """
    bench.write_latency = lambda: 6
    few = remote(range(COLUMNS))[: bench.params.pending_entries // 2]
    idxs = random.choices([*LOCAL, *few], k=200)
    item = await cycles_of(bench, [idxs])
    size = len(idxs) // parts
    batches = [idxs[k : k + size] for k in range(0, len(idxs), size)]
    many = await cycles_of(bench, batches)
    bench.dut._log.info("%d idxs: %d cycles as one, %d as %d", len(idxs), item, many, parts)
    rounds = -(-parts // bench.params.commands)
    assert many <= item + (rounds - 1) * (400 + ROUND) + parts * BORDER
    await bench.end()


@benched(partial(UnitBench, source=often, sink=often, filter_latency=slowly))
async def properties_are_there_before_a_completion(bench):
    """This holds for each command, also for those left to PRs of one before it."""
    done, provided = [], []

    async def look():
        while len(done) < PARTS:
            await bench.completions.wait_for(len(done) + 1)
            own = provided[len(done)]
            for idx in remote(own):
                assert bench.memory[bench.slot(idx)] == bench.owned[idx]
            done.append(own)

    watch = cocotb.start_soon(look())
    for _ in range(PARTS):
        provided.append(some_idxs(40, 12))
        bench.submit(provided[-1], 68)
    await watch
    assert [item["cause"] for item in bench.completions.beats] == [Cause.DONE] * PARTS
    assert bench.totals["prs"] == len({idx for idxs in provided for idx in remote(idxs)})
    await bench.end()


@crossed(bad=[0, 1, 2], fault=["owner", "range", "read", "write", "network"])
async def a_failure_takes_no_other_command_with_it(dut, bad, fault):
    """One of several commands under way fails; the others succeed."""
    bench = await UnitBench(dut, trip=slowly).begin()
    few = random.sample(remote(range(COLUMNS)), 60)
    batches = [[*few[20 * k : 20 * k + 20], *few[:10]] for k in range(3)]
    only = few[20 * bad + 15]
    cause, begins = {
        "owner": (Cause.REMOTE, lambda: setattr(bench, "respond", wrong_for(only, [{"error": 1}]))),
        "network": (Cause.WATCHDOG, lambda: setattr(bench, "respond", wrong_for(only, []))),
        "range": (Cause.RANGE, lambda: batches[bad].__setitem__(5, COLUMNS)),
        "read": (Cause.IDX_READ, lambda: None),
        "write": (
            Cause.PROPERTY_WRITE,
            lambda: setattr(bench, "write_fails", lambda at: at == bench.slot(only).start),
        ),
    }[fault]
    begins()
    tags, addresses = [], []
    for batch in batches:
        bench.submit(batch, 64, watchdog=1000)
        tags.append(bench.tag)
        addresses.append(range(bench.idxs_end - 4 * len(batch), bench.idxs_end))
    if fault == "read":
        bench.reader.fails = lambda address: address in addresses[bad]
    await bench.completions.wait_for(3)
    expected = [cause if k == bad else Cause.DONE for k in range(3)]
    assert bench.completions.beats == [
        {"tag": tag, "cause": item} for tag, item in zip(tags, expected, strict=True)
    ]
    for k, batch in enumerate(batches):
        for idx in remote(batch):
            if k != bad:
                assert bench.memory[bench.slot(idx)] == bench.owned[idx]
    bench.accept_memory()
    mend(bench)
    await bench.end()


def wrong_for(only, responses):
    return lambda pr: responses if pr["pr"]["idx"] == only else [{}]


#: what may stand still, with an event that is seen nevertheless
STUCK = {
    "table": "table_stall",
    "transmit": "transmit_stall",
    "response": "responses",
    "reads": "idx_stall",
    "write": "responses",
    "acknowledgements": "responses",
    "lookups": "consumed",
    "sets": "responses",
}


def stop(bench, stuck):
    """Let something stand still, a response behind the first of three beats; return its release."""
    owner, name, still, moves = {
        "table": (bench, "respond", lambda pr: [], lambda pr: []),
        "transmit": (bench.prs, "stall", always, never),
        "response": (bench.responses, "stall", lambda: len(bench.responses.cycles) % 3 == 1, never),
        "reads": (bench.reader, "stall", always, never),
        "write": (bench.writes, "stall", always, never),
        "acknowledgements": (bench, "write_latency", lambda: 2500, quickly),
        "lookups": (bench.filter, "latency", lambda is_set: 1 if is_set else 2500, quickly),
        "sets": (bench.filter, "latency", lambda is_set: 2500 if is_set else 1, quickly),
    }[stuck]
    setattr(owner, name, still)
    return partial(setattr, owner, name, moves)


@benched(UnitBench, stuck=list(STUCK))
async def abandons(bench, stuck):
    """It does by its watchdog, not before accesses to memory end, nor amid a response."""
    release, held = stop(bench, stuck), stuck not in ("table", "transmit")
    idxs = random.sample(remote(range(COLUMNS)), 280)
    bench.submit(idxs, 192, watchdog=60)
    failing = cocotb.start_soon(bench.fails(Cause.WATCHDOG))
    await bench.wait(1500)
    assert bench.totals[STUCK[stuck]]
    assert failing.done() != held
    release()
    await failing
    mend(bench)
    await bench.wait(50)  # what is in the Tx queue leaves, and comes back
    assert not bench.dut.prs_valid.value
    await next_ones_are_exact(bench, 192)


@benched(UnitBench)
async def lacks_no_idx_while_idxs_wait(bench):
    """Once they have come, and PRs cannot leave, no cycle counts as one without an idx."""
    bench.prs.stall = always
    bench.submit(random.sample(remote(range(COLUMNS)), 280), 64)
    await bench.wait(400)
    before = bench.totals["idx_stall"]
    await bench.wait(100)
    assert bench.totals["transmit_stall"] > 50
    assert bench.totals["idx_stall"] == before > 0
    bench.prs.stall = never
    assert await bench.completion() is Cause.DONE
    await bench.end()


PACE, PATIENCE = 60, 100  #: cycles from one movement to the next, and those of the watchdog


def paced():
    """Return a latency with which things come this many cycles apart."""
    last = [0]

    def latency(*_):
        last[0] = max(cycle() + 1, last[0] + PACE)
        return last[0] - cycle()

    return latency


def only_idxs(bench, hold):
    """Idxs come a beat at a time, and all are local."""
    open_at = [0]

    def stall():
        if cycle() < open_at[0]:
            return True
        open_at[0] = cycle() + PACE
        return False

    bench.reader.stall = stall
    return random.choices(LOCAL, k=200)


def only_writes(bench, hold):
    """Properties are written; bits are set when all are done."""
    bench.write_latency = paced()
    bench.filter.latency = lambda is_set: max(1, hold - cycle()) if is_set else 1
    return random.sample(remote(range(COLUMNS)), 4)


def only_sets(bench, hold):
    """Bits are set; everything else was quick."""
    latency = paced()
    bench.filter.latency = lambda is_set: latency() if is_set else 1
    return random.sample(remote(range(COLUMNS)), 4)


@benched(UnitBench, moving=[only_idxs, only_writes, only_sets])
async def is_patient_while_anything_moves(bench, moving):
    """Each kind of movement alone keeps the watchdog from biting."""
    begun = cycle()
    idxs = moving(bench, begun + 5 * PACE)
    prs = await bench.gather(idxs, watchdog=PATIENCE)
    assert sorted(prs) == sorted(remote(idxs))
    assert cycle() - begun > 3 * PATIENCE / 2
    mend(bench)
    await bench.end()


@benched(partial(UnitBench, source=often, sink=often, whole=True))
async def turns_server_and_back(bench):
    """Idxs, addresses, sizes and names are at both ends of what their fields hold."""
    params = bench.params
    addresses, most = 1 << params.address_bits, params.most_property_bytes
    last_generation = (1 << params.generation_bits) - 1
    lowest = {"tag": 0, "address": addresses >> 1, "watchdog": 0}
    highest = {"tag": (1 << 16) - 1, "address": 0, "watchdog": (1 << 32) - 1}
    for name, size, properties, fields, generation in (
        ((0, 0), 4, 0, lowest, 0),
        ((1, 1 << 15), 20, 1 << 20, {}, random.getrandbits(params.generation_bits)),
        (((1 << 32) - 1, (1 << 16) - 1), most, addresses - 4096 * most, highest, last_generation),
        ((0, 0), 4, 0, lowest, 0),
    ):
        bench.name(*name)
        bench.properties, bench.property_bytes = properties, size
        for _ in range(params.commands):  # by each slot
            bench.forget()
            bench.dut.control.generation.value = generation
            ends = [0, bench.columns - 1, bench.columns >> 1 | 1]
            idxs = ends + [random.randrange(bench.columns) for _ in range(15)]
            prs = await bench.gather(idxs, size, wide=1, **fields)
            assert sorted(prs) == sorted({*remote(idxs)})
            assert bench.prs.beats[-1]["pr"]["id"] >> params.entry_bits == generation
            await bench.rest()
        served = {"address": properties, "bytes": size, "legal": 1}
        bench.dut.serve.value, bench.dut.served.value = 1, pack(params.served, served)
        await serves(bench, size)
        await bench.rest()
        bench.dut.serve.value = 0
    await bench.end()


async def serves(bench, size):
    """Others read; memory refuses one place; a response that comes meanwhile is nobody's."""
    refused = bench.slot(LOCAL[1]).start
    bench.reader.fails = lambda address: address == refused
    reads = Source(bench.dut, "reads", stall=often)
    seen, stale = len(bench.answers.beats), bench.totals["stale"]
    requested = []
    for _ in range(30):
        idx = random.choice((random.choice(LOCAL), LOCAL.start - 1, LOCAL.stop, *LOCAL[:2]))
        fields = {"src": random.getrandbits(32), "tid": random.getrandbits(16), "idx": idx}
        requested.append(fields | {"id": random.getrandbits(32)})
    widths = {"src": 32, "tid": 16, "idx": 64, "id": 32}
    requested += [{name: every * ((1 << n) - 1) for name, n in widths.items()} for every in (0, 1)]
    stray = {"dest": bench.node, "length": size, "pr": requested[0], "last": 1}
    bench.responses.append(stray)
    await reads.send_all({"dest": bench.node, "length": size, "pr": pr} for pr in requested)
    await bench.rest()
    await ClockCycles(bench.dut.clk, 20)
    beats = iter(bench.answers.beats[seen:])
    for pr in requested:
        good, block = pr["idx"] in LOCAL and pr["idx"] != LOCAL[1], b""
        for beat in beats:
            assert (beat["dest"], beat["length"]) == (pr["src"], size)
            assert beat["pr"] == pr | {"src": bench.node}
            assert beat["error"] == (not good)
            block += beat["data"].to_bytes(64, "little")
            if beat["last"]:
                break
        if good:
            assert block[:size] == bench.memory[bench.slot(pr["idx"])]
    assert next(beats, None) is None
    assert bench.totals["stale"] == stale + 1
    bench.reader.fails = lambda address: False
