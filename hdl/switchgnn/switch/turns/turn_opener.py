"""Carries out a job's turn program: loads the aggregators before a turn opens."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.arithmetic import half, index_of, low_bits
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.common.round_robin import next_above
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import OPEN_TURNS, PROGRAM_STEPS, TURN_BITS
from hdl.switchgnn.switch.tasks.task_params import TaskKind


class State(enum.Enum, shape=2):
    """Names the states of a turn that is being opened."""

    IDLE = 0
    READ = 1  #: the step of its job's program is being read
    DECIDE = 2  #: the step was read
    LOAD = 3  #: the block is being loaded


class TurnOpener(Component):
    """Opens waiting turns, one at a time, by their jobs' turn programs; jobs are round robin.

    A job's program has up to 256 steps, each with a block and a number of turns, and is repeated
    from the first step after the last one. ``waits`` has a bit for each job; ``turns`` and
    ``places`` give the turn that waits. A turn whose aggregators hold its block already is
    ``opened`` at once, any other turn when a task ``load`` was taken. The load writes as many rows
    as this block or the previous one has, whichever are more; if both have none, there is no load.
    ``begin`` restarts the program of a job, with nothing loaded. ``stop`` says that no turn of a
    job waits from the next cycle on.

    The host writes ``step`` of ``job`` with ``write``. Latency: 5 cycles from a turn that waits to
    its opening without a load.
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        self.walk = data.StructLayout(
            {
                "step": exact_log2(PROGRAM_STEPS),
                "begun": 1,  # the remaining turns of the step are counted
                "left": TURN_BITS,
            }
        )
        self.held = data.StructLayout(
            {"valid": 1, "first": params.descriptor_bits, "height": params.count_bits}
        )
        self.memory = MemoryParams(
            shape=params.step, depth=max(2, params.jobs * PROGRAM_STEPS), style="block"
        )
        super().__init__(
            params,
            write=In(1),
            write_job=In(params.job_bits),
            write_step=In(exact_log2(PROGRAM_STEPS)),
            written=In(params.step),
            begin=In(params.jobs),
            stop=In(params.jobs),
            waits=In(params.jobs),
            turns=In(TURN_BITS).array(params.jobs),
            places=In(params.jobs),
            regions=In(data.ArrayLayout(params.region, 2)).array(params.jobs),
            last_steps=In(exact_log2(PROGRAM_STEPS)).array(params.jobs),
            opened=Out(params.jobs),
            load=Out(stream.Signature(params.task)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.steps = steps = DualPortMemory(self.memory)
        jobs = range(params.jobs)
        walks = [Signal(self.walk, name=f"walk_{k}") for k in jobs]
        held = [Signal(data.ArrayLayout(self.held, OPEN_TURNS), name=f"held_{k}") for k in jobs]
        state = Signal(State)
        chosen = Signal(params.jobs, init=1)  # the chosen job, one-hot
        job = index_of(chosen, params.job_bits)
        place = Signal(reset_less=True)
        m.d.sync += place.eq((self.places & chosen).any())
        elapsed = Signal(range(DualPortMemory.latency + 1))
        walk = self.walk(Array(w.as_value() for w in walks)[job])
        old = self.held(half(Array(h.as_value() for h in held)[job], place))
        step = params.step(steps.read_data)
        m.d.comb += [
            steps.read_address.eq(low_bits(Cat(walk.step, job), self.memory.address_bits)),
            steps.write_address.eq(
                low_bits(Cat(self.write_step, self.write_job), self.memory.address_bits)
            ),
            steps.write.eq(self.write),
            steps.write_data.eq(self.written),
        ]
        same = Signal(reset_less=True)
        height = Signal(params.count_bits, reset_less=True)
        region = params.region(half(Array(r.as_value() for r in self.regions)[job], place))
        opening = Signal()
        changes = self.begin | self.stop
        stays = Signal()  # the chosen job was neither stopped nor started again
        m.d.sync += stays.eq((stays | (state == State.IDLE)) & ~(changes & chosen).any())
        with m.Switch(state):
            with m.Case(State.IDLE):
                m.d.sync += elapsed.eq(0)
                with m.If(self.waits.any() & ~changes.any()):
                    m.d.sync += [chosen.eq(next_above(self.waits, chosen)), state.eq(State.READ)]
            with m.Case(State.READ):
                m.d.sync += elapsed.eq(elapsed + 1)
                with m.If(elapsed == DualPortMemory.latency):
                    m.d.sync += state.eq(State.DECIDE)
                rows = Mux(old.valid, old.height, region.count)
                equal = old.valid & (old.first == step.first) & (old.height == step.height)
                m.d.sync += [
                    same.eq(equal | ~(step.height | rows).any()),
                    height.eq(Mux(step.height > rows, step.height, rows)),
                ]
            with m.Case(State.DECIDE):
                m.d.comb += opening.eq(same)
                m.d.sync += state.eq(Mux(same, State.IDLE, State.LOAD))
            with m.Case(State.LOAD):
                m.d.comb += [self.load.valid.eq(1), opening.eq(self.load.ready)]
                with m.If(self.load.ready):
                    m.d.sync += state.eq(State.IDLE)
        self.fill_task(m, job, step, height, region)
        with m.If((state != State.IDLE) & ~stays):
            m.d.comb += [self.load.valid.eq(0), opening.eq(0)]
            m.d.sync += state.eq(State.IDLE)
        m.d.comb += self.opened.eq(Mux(opening, chosen, 0))
        for k in jobs:
            self.move_on(m, walks[k], held[k], k, step, place)
        expect(
            m,
            self,
            opens_what_waits=lambda: ~(self.load.valid | opening) | (self.waits & chosen).any(),
        )

    def fill_task(self, m: Module, job, step, height, region) -> None:
        """Fill the task that loads a block; its tag is that of the turn before."""
        task = self.load.payload
        m.d.comb += [
            task.kind.eq(TaskKind.LOAD),
            task.job.eq(job),
            task.turn.eq((Array(self.turns)[job] - 1)[:TURN_BITS]),
            task.region.eq(region),
            task.first.eq(low_bits(step.first, len(task.first))),
            task.rows.eq(height),
            task.present.eq(step.height),
        ]

    def move_on(self, m: Module, walk, held, k: int, step, place) -> None:
        """Move on in the program of a job, and record the block that its aggregators hold."""
        left = Mux(walk.begun, walk.left, step.turns)
        with m.If(self.begin[k]):
            m.d.sync += [walk.eq(0), held.eq(0)]
        with m.Elif(self.opened[k]):
            m.d.sync += [walk.left.eq((left - 1)[:TURN_BITS]), walk.begun.eq(left > 1)]
            with m.If(left <= 1):
                last = walk.step == self.last_steps[k]
                m.d.sync += walk.step.eq(Mux(last, 0, walk.step + 1))
            for turn in range(OPEN_TURNS):
                with m.If(place == turn):
                    m.d.sync += [
                        held[turn].valid.eq(1),
                        held[turn].first.eq(step.first),
                        held[turn].height.eq(step.height),
                    ]
