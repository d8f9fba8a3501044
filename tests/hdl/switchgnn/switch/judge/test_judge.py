"""Judges a frame per cycle, and compares verdicts, tasks and what is told with the golden rule."""

import random
from dataclasses import replace

from hdl.switchgnn import protocol
from hdl.switchgnn.switch.judge.judge import Judge
from hdl.switchgnn.switch.judge.port_window import ACK_SETTINGS
from hdl.switchgnn.switch.judge.verdict import Verdict
from hdl.switchgnn.switch.sizes import OPEN_TURNS
from hdl.switchgnn.switch.tasks.task_params import TaskKind
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack
from sim.harness.streams import crossed, start
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.golden.job_state import Entry, Job
from sim.switchgnn.golden.switch_rule import switch_rule
from sim.switchgnn.golden.window import Window
from tests.hdl.switchgnn.extremes import some_number
from tests.hdl.switchgnn.switch.sizes import TINY
from tests.simulated import simulated

SIZES = [TINY, replace(TINY, ports=2, banks=4, window=16, slots=32)]
FRAMES = 700  # of a job
ROUNDS = 10  # of the jobs, at most
NO_FRAME = {"kind": protocol.Kind.FEATURE}
REFUSALS = [Verdict.WRONG_RUN, Verdict.WRONG_WORKER, Verdict.WRONG_JOB]
REFUSALS += [Verdict.MALFORMED, Verdict.FOREIGN, Verdict.CORRUPT]
BRING = (Kind.FEATURE, Kind.PARTIAL, Kind.RAW, Kind.RESULT)

test_judge = simulated(Judge, SIZES, __name__, ids=["tiny", "four banks"])


class JudgeBench(Bench):
    """Has a job whose turns stand still; a frame is shown ahead, then judged, then told of."""

    def __init__(self, dut, loaded):
        super().__init__(dut)
        params = self.params
        self.everyone = random.randrange(1, 1 << params.ports)
        self.count = random.randrange(1, params.slots // OPEN_TURNS)
        drawn = random.getrandbits(32)
        self.lo = random.choice((0, 1, 2**32 - 3, drawn, drawn, drawn))
        self.number, self.base = random.randrange(params.jobs), random.randrange(params.slots)
        self.lists = {name: random.getrandbits(params.row_bits) for name in ("base", "count")}
        self.loaded, open_turns = loaded, len(loaded)
        self.setup = JobSetup(
            ports=(1 << params.ports) - 1,
            banks=params.banks,
            depth=self.count,
            window=params.window,
            open_turns=open_turns,
            ack_every=1000,
        )
        self.job = self.at_start()
        self.due = []  # by cycle: what is told then
        self.seen = set()
        dut.settings.value = random.getrandbits(ACK_SETTINGS.size)  # acks are no verdicts
        region = {"base": self.base, "count": self.count, "two": open_turns - 1}
        self.fill("regions", params.port_region, region)
        port_job = {"active": 1, "job": self.number, "epoch": 3, "lo": self.lo}
        self.fill("port_jobs", params.port_job, port_job)

    def fill(self, name, layout, values):
        """Return the same for each port."""
        word = pack(layout, values)
        number = sum(word << k * layout.size for k in range(self.params.ports))
        getattr(self.dut, name).value = number

    def at_start(self):
        """Return the job with empty windows; all sums of turns that are loaded are complete."""
        setup, job = self.setup, Job.at_start(self.setup)
        entries, loaded = list(job.entries), list(job.loaded)
        for turn in range(self.lo, self.lo + setup.open_turns):
            if not self.loaded[turn - self.lo]:
                continue
            loaded[setup.slot(turn)] = setup.block(turn)
            for k in range(setup.size):
                entry = Entry(expected=1, tag=turn, complete=True)
                entries[setup.place(turn, k)] = entry
        return replace(job, lo=self.lo, loaded=tuple(loaded), entries=tuple(entries))

    def frame(self, port):
        """Draw a frame near the windows, the turns and the tables, or far from them."""
        turn = max(0, self.lo + random.choice((-1, 0, 0, 0, 1, 1, 2, 40))) % (1 << 32)
        window = self.window(port, turn)
        near = max(0, window.base + random.randrange(-3, self.setup.window + 3))
        return Frame(
            kind=random.choice(
                [Kind.FEATURE] * 5 + [Kind.PARTIAL, Kind.FETCH, Kind.DONE] * 2 + list(Kind)
            ),
            turn=turn,
            seq=random.choice((near, near, near, window.base, 2**32 - 1)),
            list=self.some_list(),
            rows=random.randrange(1 << 16),
            source=random.getrandbits(32),
            raw=random.randrange(1 << self.params.ports),
            bm=1 << port,
        )

    def some_list(self):
        """Draw a list near the ends of the job's aggregators and rows, or such with one bit
        changed.
        """
        near = random.choice((0, 1, self.setup.size - 1, self.setup.size, self.lists["count"], 9))
        return random.choice((near, near, near, near | 1 << random.randrange(32), 2**32 - 1))

    def window(self, port, turn):
        return self.job.open[self.setup.slot(turn)].arrivals[port].window

    def about(self, turn):
        """Return what the turn table says of a turn."""
        ahead = turn - self.lo
        is_open = 0 <= ahead < self.setup.open_turns
        place = self.setup.slot(turn)
        return {
            "past": int(ahead < 0),
            "lowest": int(ahead == 0),
            "following": int(is_open and ahead == 1),
            "place": place,
            "loaded": int(is_open and self.loaded[ahead]),
            "region": {
                "base": (self.base + place * self.count) % self.params.slots,
                "count": self.count,
            },
            "lists": self.lists,
        }

    async def step(self, request, following):
        """Judge ``request``, and show the header of ``following`` ahead; None means no frame."""
        dut, params = self.dut, self.params
        dut.ahead.value = pack(params.header, following.header if following else NO_FRAME)
        dut.valid.value = int(request is not None and request.refused is None)
        dut.refused.value = self.refused(request).value
        dut.acked.value = random.getrandbits(OPEN_TURNS * params.ports)
        dut.brings.value = int(request is not None and request.brings)
        if request:
            words = {"sender": 1 << request.port, "everyone": self.everyone}
            dut.request.value = pack(params.request, words | {"header": request.header})
            dut.about.value = pack(params.job_turns, self.about(request.frame.turn))
        await self.edge
        self.check_now(request)
        self.due.append(self.judged(request) if request else None)
        if len(self.due) > Judge.latency:
            self.check(self.due.pop(0))

    def refused(self, request):
        """Return why a frame is none of a job's; of one that is, this says nothing."""
        if request is None:
            return Verdict.NONE
        return request.refused or random.choice(list(Verdict))

    def check_now(self, request):
        """Check who is done, and who is told that a turn is over."""
        done = request and request.refused is None and request.frame.kind is Kind.DONE
        turn = request.frame.turn if request else 0
        assert bool(self.dut.done.value) == bool(done and turn == self.lo)
        if self.dut.done.value:
            reported = int(self.dut.done_job.value), int(self.dut.done_sender.value)
            assert reported == (self.number, 1 << request.port)
        over = 1 << request.port if done and turn < self.lo else 0
        assert int(self.dut.over.value) == over

    def judged(self, request):
        """Return what the golden rule says of a frame."""
        if request.refused:
            return request, request.refused
        frame, port = request.frame, request.port
        outcome = switch_rule(self.setup, self.job, frame, port)
        verdict = Verdict[outcome.verdict.name]
        if verdict is Verdict.ADDED:
            place = self.setup.slot(frame.turn)
            shown = self.acks(port)[place]["base"]  # a window may be late: it says so itself
            if frame.seq >= shown + self.setup.window:
                return request, Verdict.AHEAD
        if verdict in (Verdict.ADDED, Verdict.REPEATED):
            self.job = replace(self.job, open=outcome.job.open)
        return request, verdict

    def acks(self, port):
        """Return what is told of a port's windows."""
        value, size = int(getattr(self.dut, f"acks_{port}").value), self.params.ack_state.size
        words = [value >> k * size & (1 << size) - 1 for k in range(OPEN_TURNS)]
        return [unpack(self.params.ack_state, word) for word in words]

    def check(self, expected):
        """Check the verdict, and what is to be done."""
        dut = self.dut
        request, verdict = expected or (None, Verdict.NONE)
        self.seen.add(verdict)
        assert Verdict(int(dut.verdict.value)) is verdict, (request, verdict)
        brings = bool(request and request.brings)
        assert bool(dut.task_valid.value) == (brings or verdict is Verdict.FETCHED)
        demands = verdict is Verdict.PASSED and request.frame.kind is Kind.RAWFETCH
        if not demands:
            assert not dut.raw_request_to.value
        if request is None:
            return
        frame, copied = request.frame, request.frame.raw & self.everyone
        assert int(dut.sender.value) == 1 << request.port
        if demands:
            assert int(dut.raw_request_to.value) == copied
            reported = unpack(self.params.raw_request, int(dut.raw_request.value))
            requesting = 1 << request.port
            assert reported == {
                "turn": frame.turn,
                "source": frame.source,
                "requesting": requesting,
            }
        if dut.task_valid.value:
            task = unpack(self.params.task, int(dut.task.value))
            self.check_task(task, frame, verdict, brings, copied)

    def check_task(self, task, frame, verdict, brings, copied):
        kinds = {
            (Verdict.ADDED, Kind.FEATURE): TaskKind.ROWS,
            (Verdict.ADDED, Kind.PARTIAL): TaskKind.ONE,
            (Verdict.PASSED, Kind.RAW): TaskKind.ROWS,
            (Verdict.FETCHED, Kind.FETCH): TaskKind.FETCH,
        }
        kind = kinds.get((verdict, frame.kind), TaskKind.DROP)
        self.seen.add(kind)
        assert task["kind"] is kind
        assert bool(task["brings"]) == brings
        if kind is TaskKind.DROP:
            return
        named = (self.number, frame.turn, frame.list)
        assert (task["job"], task["turn"], task["list"]) == named
        assert task["region"] == self.about(frame.turn)["region"]
        if kind is TaskKind.ROWS:
            assert task["rows"] == (0 if frame.kind is Kind.RAW else frame.rows)
            assert (task["source"], task["raw"]) == (frame.source, copied)
            places = 1 << self.params.table_bits
            assert task["first"] == (self.lists["base"] + frame.list) % places
            assert task["present"] == max(0, self.lists["count"] - frame.list)

    def check_windows(self):
        """Check that each port's windows are the golden ones, each with its turn."""
        for port in range(self.params.ports):
            shown = self.acks(port)
            for turn in range(self.lo, self.lo + self.setup.open_turns):
                state = shown[self.setup.slot(turn)]
                reported = Window().acknowledged(state["base"], state["arrived"])
                assert reported == self.window(port, turn)
                assert state["turn"] == turn % (1 << 32)


class Request:
    """A frame after its port: of the job, or refused."""

    def __init__(self, bench):
        self.port = random.randrange(bench.params.ports)
        self.frame = bench.frame(self.port)
        self.refused = random.choice(REFUSALS) if random.random() < 0.1 else None
        self.brings = self.frame.kind in BRING
        frame = self.frame
        self.header = {
            "job": bench.number,
            "epoch": some_number(16),
            "kind": protocol.Kind[frame.kind.name],
            **{name: getattr(frame, name) for name in ("turn", "seq", "list", "source")},
            **{name: getattr(frame, name) for name in ("raw", "rows")},
        }


async def judge_job(dut, loaded, gaps):
    """Judge frames of one job; return the verdicts and the kinds of task that came."""
    bench = JudgeBench(dut, loaded)
    dut.clear.value = (1 << OPEN_TURNS * bench.params.ports) - 1
    await bench.step(None, None)
    dut.clear.value = 0
    request = None
    left = FRAMES
    while left:
        following = Request(bench) if random.random() >= gaps else None
        await bench.step(request, following)
        request, left = following, left - (following is not None)
    for _ in range(20):
        await bench.step(None, None)
    bench.check_windows()
    assert not dut.busy.value
    return bench.seen


@crossed(loads=[[(1,), (0,), (1,)], [(1, 1), (0, 1), (1, 0)]], gaps=[0, 0.5])
async def frames_are_judged_as_the_rule_says(dut, loads, gaps):
    """Jobs follow, some of whose open turns are loaded, until every kind of case has come."""
    unmet = set(Verdict) | set(TaskKind) - {TaskKind.LOAD, TaskKind.FENCE}
    await start(dut)
    for _ in range(ROUNDS):
        for loaded in loads:
            unmet -= await judge_job(dut, loaded, gaps)
        if not unmet:
            return
    assert not unmet
