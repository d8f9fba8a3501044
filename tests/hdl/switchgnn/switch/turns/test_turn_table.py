"""Compares turns of several jobs with the specification: loads, openings, look-ups and ends."""

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from hdl.switchgnn.switch.sizes import OPEN_TURNS, PROGRAM_STEPS, TURN_BITS
from hdl.switchgnn.switch.tasks.task_params import TaskKind
from hdl.switchgnn.switch.turns.turn_opener import TurnOpener
from hdl.switchgnn.switch.turns.turn_table import TurnTable
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack
from sim.harness.streams import crossed, never, often, rarely, start
from sim.harness.verilator import simulate
from sim.switchgnn.golden.job_setup import JobSetup, Step
from tests.hdl.switchgnn.switch.sizes import TINY

SIZES = [TINY, replace(TINY, ports=8, jobs=5, slots=32), replace(TINY, jobs=1)]
WALK = TurnOpener(TINY).walk
PATIENCE = 100  # cycles in which a turn is opened, whatever other jobs load
BEGIN = TurnTable.latency  # cycles from the table's ``begin`` to the job's
MANY = 1 << 20  # turns of a step that the test cannot wait for
NOT_MET = Step(0, 1)  # in place of steps between those that a run begins with and wraps to


@pytest.mark.each_size
@pytest.mark.parametrize("params", SIZES, ids=lambda params: f"{params.ports}x{params.jobs}")
def test_turn_table(params):
    simulate(TurnTable(params), __name__, registers=["lo", "after", *walks(params)])


def walks(params):
    """Return where each job is in its turn program."""
    return [f"walk_{k}" for k in range(params.jobs)]


@dataclass
class JobModel:
    """Keeps the turns of a job that has begun."""

    setup: JobSetup
    blocks: list  # (first row of descriptors, rows) of each
    size: int  # rows of aggregators of a turn
    lists: dict
    first_step: int = 0  # that it begins with
    lo: int = 0  # which is set, as are all bits in time
    done: int = 0
    loads: int = 0  # turns that have been loaded, or needed no load
    open: dict = field(default_factory=dict)  # of open turns: "no", "maybe" and "yes": loaded
    held: dict = field(default_factory=dict)  # by place
    number: int = 0
    stopped: bool = False

    def __post_init__(self):
        passed = sum(step.turns for step in self.setup.program[: self.first_step])
        self.shift = passed - self.lo
        for turn in range(self.setup.open_turns):
            self.begin(self.lo + turn)

    def begin(self, turn):
        """Open a turn; it may be loaded if nothing is missing for it."""
        self.open[turn] = ["no", 0]
        self.look()

    def block(self, turn):
        return self.blocks[self.setup.block(turn + self.shift)]

    def look(self):
        """Open all turns that need no load, one after the other."""
        for turn in sorted(self.open):
            if self.open[turn][0] != "no":
                continue
            place, block = self.setup.slot(turn), self.block(turn)
            held = self.held.get(place)
            rows = held[1] if held else self.size
            if held != block and max(block[1], rows):
                return
            self.open[turn][0] = "maybe"
            self.held[place] = block

    def next_load(self):
        """Return the turn to be loaded, and its number of rows; None if there is none."""
        for turn in sorted(self.open):
            if self.open[turn][0] == "no":
                held = self.held.get(self.setup.slot(turn))
                return turn, max(self.block(turn)[1], held[1] if held else self.size)
        return None

    def left(self):
        """Return the turns to be opened of a step of many, if it is first and some have been; else
        0.
        """
        program = self.setup.program
        many = [at for at, step in enumerate(program) if step.turns > MANY]
        if not many or any(state[0] != "yes" for state in self.open.values()):
            return 0
        first = sum(step.turns for step in program[: many[0]])
        opened = self.lo + len(self.open) + self.shift - first
        opened %= sum(step.turns for step in program)
        turns = program[many[0]].turns
        return turns - opened if 0 < opened < turns else 0

    def loaded(self, turn):
        """Note that the load of a turn has been taken: those before have been opened, too."""
        for before in sorted(self.open):
            if before <= turn:
                self.open[before][0] = "yes"
        self.held[self.setup.slot(turn)] = self.block(turn)
        self.loads += 1
        self.look()

    def end(self):
        del self.open[self.lo]
        self.lo, self.done = self.lo + 1, 0
        self.begin(self.lo + self.setup.open_turns - 1)


class TurnTableBench(Bench):
    """Plays hosts, judge and queue of tasks, a cycle at a time."""

    def __init__(self, dut, *, stall, noise):
        super().__init__(dut)
        self.stall, self.noise, self.workers = stall, noise, 0.5
        members = TurnTable(self.params).signature.members
        self.shapes = {name: members[name].shape for name in ("table", "ports", "regions")}
        jobs = range(self.params.jobs)
        free = {"active": 0, "ports": 0, "epoch": 0, "base": 0, "end": 0}
        self.table = [dict(free) for _ in jobs]
        self.models = [None for _ in jobs]
        self.coming = [None for _ in jobs]  # a model that begins, and in how many cycles
        self.still = [0 for _ in jobs]  # cycles in which no turn has waited
        self.looked = None  # job and turn of the cycle before, and what must be told
        self.reported = None
        self.ended = []  # of the cycles before: ports that are to be told
        self.clears = 0  # windows that must be emptied a cycle after their turn's end
        self.seen = Counter()
        self.drawn = random.getrandbits(TURN_BITS - 1) << 1  # see first_turn

    async def start(self):
        await start(self.dut)
        return self

    # The host.

    def some_program(self, two):
        """Blocks, steps that name them, and the step to begin with; few rows or the most.

        A long program begins near its end; it has turns without number behind its first steps,
        and again: of the first ones most are left out (skip_turns).
        """
        rows = (*range(4), self.params.descriptor_rows - 1)
        height = (*range(4), (1 << self.params.step["height"].width) - 1)
        blocks = list({(random.choice(rows), random.choice(height)) for _ in range(3)})
        steps = [
            Step(random.randrange(len(blocks)), random.choice((1, 1, 2, 3)))
            for _ in range(random.randint(1, 4))
        ]
        first = 0
        if random.random() < 0.5:
            first = random.randrange(len(steps) + 3, PROGRAM_STEPS - 2)
            last = [Step(random.randrange(len(blocks)), 1) for _ in range(random.randint(1, 3))]
            long, most = random.getrandbits(TURN_BITS) | MANY, (1 << TURN_BITS) - 1
            steps += [Step(random.randrange(len(blocks)), turns) for turns in (long, 1, most)]
            steps += [*(first - len(steps)) * [NOT_MET], *last]
        setup = JobSetup(ports=0, banks=1, depth=1, window=1, open_turns=1 + two, program=steps)
        return blocks, setup, first

    def first_turn(self):
        """Draw an even number: 0, or one that has the bits of the one before inverted."""
        if random.random() < 0.3:
            return 0
        self.drawn ^= (1 << TURN_BITS) - 2
        if random.random() < 0.5:
            self.drawn ^= random.getrandbits(TURN_BITS - 1) << 1
        return self.drawn

    async def write_program(self, k, blocks, setup):
        dut = self.dut
        for number, step in enumerate(setup.program):
            if step is NOT_MET:
                continue
            first, height = blocks[step.block]
            written = {"first": first, "height": height, "turns": step.turns}
            dut.write.value, dut.started.value, dut.write_step.value = 1, k, number
            for bits in (
                random.getrandbits(self.params.step.size),
                pack(self.params.step, written),
            ):
                dut.written.value = bits  # what is written last counts
                await self.cycle()
        dut.write.value = 0

    async def start_job(self, k):
        """Write the program and the entry, and begin."""
        params, dut = self.params, self.dut
        taken = 0
        for other, entry in enumerate(self.table):
            if other != k and (entry["active"] or self.coming[other]):
                taken |= entry["ports"]
        ports = random.getrandbits(params.ports) & ~taken
        if not ports:
            return
        two = random.getrandbits(1)
        if self.table[k]["active"] and random.random() < 0.5:  # once more, with the same program
            old = self.models[k]
            blocks, setup = old.blocks, replace(old.setup, open_turns=1 + two)
            first = old.first_step
        else:
            self.stop_job(k)
            await self.cycle()
            blocks, setup, first = self.some_program(two)
            await self.write_program(k, blocks, setup)
        base = random.choice((0, random.randrange(params.slots)))
        size = random.choice((params.slots - base, random.randint(1, params.slots - base)))
        self.table[k] = {
            "active": 0,
            "ports": ports,
            "epoch": random.getrandbits(16),
            "base": base,
            "end": base + size,
        }
        for _ in range(random.randrange(4)):
            await self.cycle()
        lists = {name: random.getrandbits(params.row_bits) for name in ("base", "count")}
        tables = {"two": two, "lists": lists, "last_step": len(setup.program) - 1}
        dut.begin.value, dut.started.value = 1, k
        dut.tables.value = pack(params.job_tables, tables)
        setup = replace(setup, ports=ports)
        model = JobModel(setup, blocks, size >> two, lists, first, self.first_turn(), number=k)
        self.coming[k] = [model, BEGIN]
        await self.cycle()
        dut.begin.value = 0
        for _ in range(random.choice((BEGIN, BEGIN, random.randint(4, 12)))):
            await self.cycle()
        self.table[k]["active"] = 1

    def stop_job(self, k):
        self.table[k]["active"] = 0

    # A cycle.

    def choose(self):
        """Choose what is looked up, who is done, and whether it is quiet."""
        running = [k for k, model in enumerate(self.models) if model]
        k = random.choice(running or [0])
        lo = self.models[k].lo if self.models[k] else 0
        near = lo + random.getrandbits(1) ^ 1 << random.randrange(TURN_BITS)
        far = random.getrandbits(TURN_BITS)
        turn = random.choice((lo, lo + 1, lo + 1, max(0, lo - 1), lo + 2, near, far))
        waiting = [
            (job, turn)
            for job in running
            for turn, state in self.models[job].open.items()
            if state[0] == "maybe" and state[1] > PATIENCE // 2 and self.table[job]["active"]
        ]
        if waiting:  # look whether they are open
            k, turn = random.choice(waiting)
        done = None
        active = [k for k in running if self.table[k]["active"] and not self.models[k].stopped]
        active += [k for k, coming in enumerate(self.coming) if coming]  # of the run before
        if active and random.random() < self.workers:
            job = random.choice(active)
            port = random.choice([p for p in range(32) if self.table[job]["ports"] >> p & 1])
            done = job, 1 << port
        return (k, turn), done, int(not done and random.random() >= self.noise)

    async def cycle(self):
        dut, params = self.dut, self.params
        (job, turn), done, quiet = self.choose()
        ready = int(not self.stall())
        dut.table.value = pack(self.shapes["table"], self.table)
        dut.job.value, dut.turn.value = job, turn
        dut.done.value = int(done is not None)
        dut.done_job.value, dut.sender.value = done or (0, 1)
        dut.quiet.value, dut.load_ready.value = quiet, ready
        await self.edge
        self.look_at_ends(quiet)
        self.check_about()
        self.check_ports()
        if (model := self.models[job]) and self.table[job]["active"]:
            two = model.setup.open_turns == 2
            about = {
                "past": int(turn < model.lo),
                "lowest": int(turn == model.lo),
                "following": int(two and turn == model.lo + 1),
                "place": turn & two,
                "lists": model.lists,
                "region": {
                    "base": (self.table[job]["base"] + model.size * (turn & two)) % params.slots,
                    "count": model.size,
                },
            }
            self.looked = job, model, turn, about
        else:
            self.looked = None
        self.take_load(ready)
        ended, self.over = self.over, []
        for k in ended:
            self.models[k].end()
        if done and done[0] not in ended and not self.coming[done[0]]:
            self.models[done[0]].done |= done[1]
        self.begin_jobs()
        for k, model in enumerate(self.models):
            self.wait_for(model)
            self.skip_turns(k, model)

    def skip_turns(self, k, model):
        """Leave out most turns of a step of many: as many as change all bits of those left."""
        if not model or model.stopped or self.coming[k] or not self.table[k]["active"]:
            self.still[k] = 0
            return
        left = model.left()
        self.still[k] = self.still[k] + 1 if left else 0
        if self.still[k] > 3 and left > MANY // 2:
            skipped = left - random.randint(1, 3)
            walk = getattr(self.dut.opener, f"walk_{k}")
            walk.value = int(walk.value) - (skipped << WALK["left"].offset)
            model.shift += skipped
            self.seen["skipped"] += 1

    def wait_for(self, model):
        if not model or model.stopped or not self.table[model.number]["active"]:
            return
        for state in model.open.values():
            state[1] = 0 if state[0] == "yes" else state[1] + 1
            assert state[1] < PATIENCE or self.stall is not never

    def look_at_ends(self, quiet):
        """Check that turns end when they have to."""
        dut, params = self.dut, self.params
        ended = int(dut.ended.value)
        clear = [[0] * OPEN_TURNS for _ in range(params.ports)]
        self.over, any_ends, reported = [], False, 0
        for k, model in enumerate(self.models):
            ends = False
            if model and not model.stopped:
                state = model.open[model.lo]
                ready = model.done == self.ports[k]
                ends = ready and state[0] == "yes"
                if ended >> k & 1 and ready and state[0] == "maybe":
                    ends, state[0] = True, "yes"
                any_ends |= ready and state[0] == "yes"
            assert ended >> k & 1 == int(ends and quiet), (k, model)
            if ended >> k & 1:
                self.over.append(k)
                self.seen["ended"] += 1
                reported |= self.ports[k]
                for port in range(params.ports):
                    if self.ports[k] >> port & 1:
                        clear[port][model.setup.slot(model.lo)] = 1
            if self.coming[k] and self.coming[k][1] == 0:
                for port in range(params.ports):
                    if self.table[k]["ports"] >> port & 1:
                        clear[port] = [1] * OPEN_TURNS
        if any_ends:
            assert dut.ends.value
        assert int(dut.clear.value) == self.clears
        self.clears = sum(
            bit << (port * OPEN_TURNS + place)
            for port, places in enumerate(clear)
            for place, bit in enumerate(places)
        )
        self.ended.append(reported)
        if len(self.ended) > 2:
            assert int(dut.advance.value) == self.ended[-3]

    def check_about(self):
        """Check what was looked up in the cycle before."""
        if self.looked is None:
            return
        job, model, turn, golden = self.looked
        if not self.table[job]["active"]:
            return
        result = unpack(self.params.job_turns, int(self.dut.about.value))
        loaded = result.pop("loaded")
        assert result == golden
        if (state := model.open.get(turn)) is not None and (
            result["lowest"] or result["following"]
        ):
            if state[0] == "maybe" and loaded:
                state[0] = "yes"
            assert loaded == int(state[0] == "yes"), (turn, model)
            self.seen["loaded" if loaded else "unloaded"] += 1

    def check_ports(self):
        """Check that ports are told what was true in the cycle before."""
        params, dut = self.params, self.dut
        if self.reported is not None:
            ports = unpack(self.shapes["ports"], int(dut.ports.value))
            regions = unpack(self.shapes["regions"], int(dut.regions.value))
            for port, golden in enumerate(self.reported):
                assert bool(ports[port]["active"]) == (golden is not None)
                if golden is not None:
                    assert ports[port] == golden[0]
                    assert golden[1] in (None, regions[port])
        self.reported = []
        for port in range(params.ports):
            own = [k for k, e in enumerate(self.table) if e["active"] and e["ports"] >> port & 1]
            if not own:
                self.reported.append(None)
                continue
            (k,) = own
            model, entry = self.models[k], self.table[k]
            reported = {"active": 1, "job": k, "epoch": entry["epoch"], "lo": model.lo}
            two = int(model.setup.open_turns == 2)
            self.reported.append(
                (reported, {"base": entry["base"], "count": model.size, "two": two})
            )

    def take_load(self, ready):
        """Check that a load is one that some job needs now, with all that belongs to it."""
        dut = self.dut
        if not (dut.load_valid.value and ready):
            return
        task = unpack(self.params.task, int(dut.load_payload.value))
        k = task["job"]
        model = self.models[k]
        assert model
        assert not model.stopped
        turn, height = model.next_load()
        first, rows = model.block(turn)
        place = model.setup.slot(turn)
        assert task["kind"] is TaskKind.LOAD
        assert not task["brings"]
        assert task["turn"] == (turn - 1) % (1 << 32)
        assert (task["first"], task["present"], task["rows"]) == (first, rows, height)
        base = (self.bases[k] + model.size * place) % self.params.slots
        assert task["region"] == {"base": base, "count": model.size}
        self.seen["load"] += 1
        model.loaded(turn)

    def begin_jobs(self):
        for k, coming in enumerate(self.coming):
            if coming:
                if coming[1] == 0:
                    self.models[k], self.coming[k] = coming[0], None
                    self.set_registers(k, coming[0])
                coming[1] -= 1
            if self.models[k] and not self.table[k]["active"] and self.was_active[k]:
                self.models[k].stopped = True
        self.was_active = [entry["active"] for entry in self.table]
        self.bases = [entry["base"] for entry in self.table]
        self.ports = [entry["ports"] for entry in self.table]

    def set_registers(self, k, model):
        """Let a job that has just begun be far in its turns and in its program."""
        dut, job = self.dut, getattr(self.dut, f"job_{k}")
        job.lo.value, job.after.value = model.lo, model.lo + 1
        walk = getattr(dut.opener, f"walk_{k}")
        walk.value = model.first_step

    was_active = bases = ports = (0,) * 32  # of the cycle before


@crossed(stall=[never, rarely, often], noise=[0, 0.8], ms=2)
async def jobs_come_and_go(dut, stall, noise):
    bench = await TurnTableBench(dut, stall=stall, noise=noise).start()
    rounds = 15 + 45 // bench.params.jobs
    while rounds > 0 or len(bench.seen) < 5:  # up to the time-out, until all has been seen
        rounds -= 1
        for k in random.sample(range(bench.params.jobs), bench.params.jobs):
            if random.random() < 0.7:
                await bench.start_job(k)
            else:
                bench.stop_job(k)
            bench.workers = random.choice((0, 0.2, 0.9))
            for _ in range(random.choice((1, 10, 300))):
                await bench.cycle()


@crossed(cycles=[0, 1, 2, 3], ms=2)
async def a_reset_beside_the_end_of_a_turn_leaves_nothing(dut, cycles):
    """No window is emptied by it and no port is reported to, however near the reset is."""
    for _ in range(8):
        bench = await TurnTableBench(dut, stall=never, noise=0).start()
        bench.workers = 0.9
        while not dut.ends.value:
            if not random.randrange(300):  # again and again, as some jobs have no port, or no end
                await bench.start_job(0)
            await bench.cycle()
        for _ in range(cycles):
            await bench.cycle()
        dut.table.value = 0
        await bench.reset(1)
        for _ in range(4):
            await bench.edge
            assert not dut.clear.value
            assert not dut.advance.value
