import random
from collections import Counter
from itertools import product

import cocotb
from amaranth.hdl import Shape

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.host.control import READS, RESET_CYCLES, Cause, Control
from hdl.p4sgd.transport.params import NETWORK_SETTINGS
from hdl.p4sgd.worker_params import ADDRESS_BITS, LOSS_SETTINGS, Loss, WorkerParams
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack
from sim.harness.verilator import params_in_simulator
from tests.hdl.stateful import follow
from tests.simulated import simulated

ENGINES = [
    EngineParams(chunks=100, fifo_words=300),
    EngineParams(banks=4, max_bits=3, chunks=64, fifo_words=100, l2=True),
    EngineParams(banks=2, lanes=128, chunks=50, fifo_words=100, data_parallel=True, ping_pong=True),
    EngineParams(banks=16, max_bits=16, chunks=64, fifo_words=200),
    EngineParams(chunks=100, fifo_words=300, max_tile=4),
]
ONES = ("bits", "chunks", "batch_micro_batches", "epoch_micro_batches", "tail_samples", "epochs")
LEGAL = {
    "settings": dict.fromkeys(ONES, 1) | {"bits": 2, "l2_shift": 0, "data_parallel": 0, "tile": 0},
    "loss": {"loss": Loss.LINEAR.value, "exponent": 1},
    "network": {"worker": 2, "workers": 0b101, "slot_base": 0, "slot_count": 8, "timeout": 1},
    "word_address": 0,
    "label_address": 0,
    "reads": {"word_beats": 1, "word_stride": 0, "word_runs": 1, "label_beats": 1},
    "join": 1,
    "vanilla": 0,
    "network_open": 1,
}
SLOTS = 1 << 16  #: at the switch, of all jobs

test_control = simulated(
    Control,
    [
        *(WorkerParams(engines=1, engine=engine) for engine in ENGINES),
        WorkerParams(engines=3, classes=3, engine=ENGINES[3]),
    ],
    __name__,
)


def may_run(params, case):
    """Return whether a run may begin with what is set."""
    engine, set_, network = params.engine, case["settings"], case["network"]
    words, batch = set_["bits"] * set_["chunks"], set_["batch_micro_batches"]
    decays = engine.l2 and 4 <= set_["l2_shift"] <= 23
    legal = [
        engine.min_bits <= set_["bits"] <= engine.max_bits,
        1 <= set_["chunks"] <= engine.chunks,
        words <= engine.fifo_words or engine.max_tile,
        1 << set_["tile"] <= max(1, engine.max_tile),
        batch % (1 << set_["tile"]) == 0,
        batch and set_["epoch_micro_batches"] and set_["epochs"],
        1 <= set_["tail_samples"] <= engine.banks,
        not set_["l2_shift"] or decays,
        case["loss"]["exponent"],
        case["loss"]["loss"] in [loss.value for loss in Loss],
        *(
            case[name] % 32 == 0 and case[name] < 1 << params.address_bits
            for name in ("word_address", "label_address")
        ),
    ]
    reads, size = case["reads"], 1 << params.address_bits - 5
    skipped = max(0, reads["word_runs"] - 1) * reads["word_stride"]
    legal += [case["word_address"] // 32 + skipped + reads["word_beats"] <= size]
    legal += [case["label_address"] // 32 + reads["label_beats"] <= size]
    if not case["join"]:
        end = network["slot_base"] + network["slot_count"]
        legal += [case["network_open"], network["timeout"]]
        legal += [1 <= network["slot_count"] <= params.slots, end <= SLOTS]
        legal += [network["workers"] >> network["worker"] & 1]
    if case["vanilla"]:  # all words and slots of a mini-batch are taken before its first is done
        legal += [not case["join"], words * batch <= engine.fifo_words, not engine.max_tile]
        legal += [batch * params.packets <= network["slot_count"]]
    if set_["data_parallel"]:
        legal += [not case["join"], not case["vanilla"], engine.data_parallel]
    return all(legal)


def edges(bits, bound):
    """Return 0, all ones, powers of two and, where there is a bound, what is about it and far."""
    some = {0, -1, *(1 << k for k in range(bits))}
    if bound:
        some |= {bound - 1, bound, bound + 1, *(1 | 1 << k for k in range(bits))}
    return sorted({number % (1 << bits) for number in some})


def powers_below(*ends):
    """Return powers of two that are at most each of ``ends``, in all combinations."""
    return product(*([1 << bit for bit in range(end.bit_length())] for end in ends))


def layouts(params):
    own = {"settings": params.settings, "loss": LOSS_SETTINGS, "network": NETWORK_SETTINGS}
    return own | {"reads": READS}


def changes(params):
    """Yield changes of what is legal: of one field to every edge, and of those that go together."""
    engine, slots = params.engine, params.slots
    bounds = {"bits": engine.max_bits, "chunks": engine.chunks, "tail_samples": engine.banks}
    bounds |= {"slot_count": slots, "slot_base": SLOTS - 8, "l2_shift": 23}
    for port, layout in layouts(params).items():
        for name in sorted(LEGAL[port].keys() - {"worker", "workers"}):
            for value in edges(Shape.cast(layout[name].shape).width, bounds.get(name)):
                yield {port: {name: value}, "join": int(port != "network")}
    for name in ("word_address", "label_address"):
        yield from ({name: 1 << bit} for bit in range(ADDRESS_BITS))
    yield from about_the_end(1 << params.address_bits - 5)
    for bits in range(1, engine.max_bits + 1):
        for chunks in (engine.fifo_words // bits, engine.fifo_words // bits + 1):
            yield {"settings": {"bits": bits, "chunks": min(chunks, engine.chunks)}}
    for bits, chunks, batch in powers_below(engine.max_bits, engine.chunks, slots):
        set_ = {"bits": bits, "chunks": chunks, "batch_micro_batches": batch}
        yield {"settings": set_, "join": 0, "vanilla": 1, "network": {"slot_count": slots}}
    for bits, chunks, batch, slots_ in (
        *((3, 1, batch, 8) for batch in (7, 8, 9)),
        *((3, engine.fifo_words // 6 + more, 2, 8) for more in (-1, 0, 1)),
    ):
        set_ = {"bits": bits, "chunks": chunks, "batch_micro_batches": batch}
        for join in (0, 1):
            yield {"settings": set_, "join": join, "vanilla": 1, "network": {"slot_count": slots_}}
    for count, more in product((2, 8, 16), (-1, 0, 1)):
        yield {"join": 0, "network": {"slot_base": SLOTS - count + more, "slot_count": count}}
    for tile, batch in product(range(8), range(1, 20)):
        yield {"settings": {"tile": tile, "batch_micro_batches": batch}}
    for worker in range(32):
        for workers in (1 << worker, ~(1 << worker) % (1 << 32)):
            yield {"join": 0, "network": {"worker": worker, "workers": workers}}
    for join, vanilla, parallel, open_ in product((0, 1), repeat=4):
        exchange = {"settings": {"data_parallel": parallel}, "network_open": open_}
        yield exchange | {"join": join, "vanilla": vanilla}


def about_the_end(size):
    """Yield reads that end a beat before the memory does, with it, and a beat beyond."""
    most = min(size, 1 << 29)  # of a count, exclusively
    for more in (-1, 0, 1):
        for beats in (1, random.randrange(1, most // 2)):
            place = 32 * (size - beats + more)
            yield {"label_address": place, "reads": {"label_beats": beats}}
            yield {"word_address": place, "reads": {"word_beats": beats}}
        for _ in range(20):
            stride = random.randrange(1, 1 << random.randrange(1, most.bit_length() - 1))
            runs = random.randrange(2, min(size // stride + 2, 1 << 29))
            left = size - (runs - 1) * stride
            beats = random.randrange(1, min(left, most - 2) + 1) if left > 0 else 1
            reads = {"word_beats": beats, "word_stride": stride, "word_runs": runs}
            yield {"word_address": max(0, 32 * (left - beats + more)), "reads": reads}


def cases(params):
    """Return inputs, and whether a run may begin with them, in a random order.

    They have any value where any will do, and their structs are bits, which is quicker.
    """
    some = []
    for change in changes(params):
        case = LEGAL | change
        packed = {}
        for port, layout in layouts(params).items():
            case[port] = LEGAL[port] | change.get(port, {})
            ignored = {
                name: unpack(field.shape, random.getrandbits(Shape.cast(field.shape).width))
                for name, field in layout
                if name not in case[port]
            }
            packed[port] = pack(layout, ignored | case[port])
        some.append((case | packed, may_run(params, case)))
    return random.sample(some, len(some))


class Model:
    """Has the worker's state, as the host and the core bring it from one to the next."""

    memory = ("memory_broken", "words_failed", "labels_failed", "weights_failed")
    faults = (*memory, "starved", "abandoned")

    def __init__(self, params):
        self.cases = cases(params)
        legal = [item for item in self.cases if item[1]]
        self.runs = [[item for item in legal if item[0]["join"] == join] for join in (0, 1)]
        (self.case, self.legal), self.started = self.cases[0], 0
        self.held = dict.fromkeys(("memory_owes", "readers_busy"), 0)
        self.opening = 0  #: cycles for which a job is being opened yet
        self.failures = Counter()
        self.undone = 0  #: resets in the cycle in which a run would begin
        self.forget()

    def forget(self):
        self.state, self.cause, self.done = "idle", Cause.NONE, 0
        self.since = 0  #: cycles in this state
        self.ticks = self.left = 0  #: ticks since the reset began; its cycles
        self.begins = 0

    def preset(self):
        """Draw how often faults, resets and changes come in the coming cycles."""
        self.rare, self.common = random.choice([*[(0, 0)] * 3, (0.05, 0.1), (0.1, 0.1), (0.3, 0.2)])
        self.possible = random.sample(self.faults, random.randint(1, 3))
        if not self.common:  # to see many settings
            self.held = dict.fromkeys(self.held, 0)
        return {}

    def draw(self):
        chance = random.random
        start = int(chance() < 0.7)
        if self.state == "idle":
            if self.rare:
                self.case, self.legal = random.choice(random.choice(self.runs))
            else:
                self.case, self.legal = self.cases[self.started % len(self.cases)]
                self.started += start
        for name in self.held:
            self.held[name] ^= chance() < self.common / 2
        if self.state in ("idle", "begin") and chance() < self.common / 4:
            self.opening = random.randrange(1, 9)
        inputs = {name: int(chance() < self.rare) for name in self.possible}
        inputs = dict.fromkeys(self.faults, 0) | inputs
        ends = "failed" if self.rare else ("failed", "run")
        inputs |= {"model_busy": int(chance() < 3 * self.common)}
        decides = self.judged({"network_busy": self.opening > 0})
        ends = self.state in ends or (decides and self.common > 0.1)
        resets = max(self.rare / 5, 0.5 * ends)
        inputs |= {"start": start, "soft_reset": int(chance() < resets)}
        inputs |= {name: random.getrandbits(1) for name in ("memory_silent", "peers_missing")}
        inputs |= {name: int(chance() < 0.3) for name in ("tick", "network_idle")}
        inputs |= {"finished": int(chance() < (0.1 if self.rare else 0.3))}
        if self.opening:  # whether there is a job counts when none is being opened
            inputs |= {"network_open": random.getrandbits(1)}
        inputs |= {"network_busy": int(self.opening > 0), "rst": int(chance() < self.rare / 10)}
        return self.case | self.held | inputs

    def judged(self, inputs):
        """Return whether it is known by now whether the run may begin."""
        waited = self.since >= Control.check_latency - 1
        return self.state == "begin" and waited and not inputs["network_busy"]

    def outputs(self, inputs):
        state, model_busy = self.state, inputs["model_busy"]
        resets = state == "reset" and self.left == RESET_CYCLES
        return {
            "begin": self.begins,
            "idle": int(state == "idle"),
            "busy": int(state not in ("idle", "failed")),
            "running": int(state in ("settle", "run")),
            "halt": int(state == "failed" or resets),
            "revive": int(state == "reset"),
            "core_reset": int(state == "reset" and not model_busy),
            "done": self.done,
            "failed": int(state == "failed"),
            "cause": self.cause,
        }

    def step(self, inputs):
        self.opening -= self.opening > 0
        if inputs["rst"]:
            return self.forget()
        silent = inputs["memory_silent"]
        memory = {
            "memory_broken": Cause.MEMORY_SILENT if silent else Cause.MEMORY_BEATS,
            "words_failed": Cause.WORD_READ,
            "labels_failed": Cause.LABEL_READ,
            "weights_failed": Cause.WEIGHTS,
        }
        running = self.state in ("settle", "run")
        self.begins = 0
        if causes := [cause for name, cause in memory.items() if inputs[name] and running]:
            self.fail(causes[0])
        else:
            getattr(self, self.state)(inputs)
        if inputs["soft_reset"]:
            self.undone += self.begins
            self.begins = 0
            self.go("reset")
            self.left, self.ticks = RESET_CYCLES, 0
        self.since += 1

    def go(self, state):
        self.state, self.since = state, -1

    def fail(self, cause):
        self.go("failed")
        self.cause, self.done = cause, 0
        self.failures[cause] += 1

    def idle(self, inputs):
        if inputs["start"]:
            self.go("begin")
            self.done = 0

    def begin(self, inputs):
        if inputs["network_busy"]:
            self.since = -1
        elif self.judged(inputs) and not self.legal:
            self.fail(Cause.CONFIGURATION)
        elif self.judged(inputs) and not inputs["model_busy"]:
            self.begins = 1
            self.go("settle")

    def settle(self, inputs):
        """Listen to no old ``finished`` or ``starved``."""
        if self.since == 2:
            self.go("run")

    def run(self, inputs):
        if inputs["finished"] and (inputs["join"] or inputs["network_idle"]):
            self.go("idle")
            self.done = 1
            if inputs["readers_busy"]:
                self.fail(Cause.LONG_PLAN)
        elif inputs["starved"]:
            self.fail(Cause.SHORT_PLAN)
        elif inputs["abandoned"] and not inputs["join"]:
            self.fail(Cause.PEERS if inputs["peers_missing"] else Cause.NETWORK)

    def failed(self, inputs):
        """Wait for a reset."""

    def reset(self, inputs):
        self.done, self.cause = 0, Cause.NONE
        owes = inputs["memory_owes"] and self.ticks < 4
        if self.left > 1:
            self.left -= not inputs["model_busy"]
        elif not inputs["readers_busy"] and not owes:
            self.go("idle")
        self.ticks += inputs["tick"]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def begins_ends_fails_and_recovers(dut):
    """Every setting at its bounds is judged; faults, resets and starts come in any cycle."""
    model = Model(params_in_simulator(WorkerParams))
    await Bench(dut).begin()
    await follow(dut, model, runs=600)
    causes = set(Cause) - {Cause.NONE}
    while (
        model.started <= len(model.cases)
        or min(model.failures[c] for c in causes) < 2
        or not model.undone
    ):
        await follow(dut, model, runs=50)  # until the test's time is over
