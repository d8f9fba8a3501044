"""Tracks the turns of all jobs, and gives each port the state of its job."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hdl.common.arithmetic import delay, half, low_bits
from hdl.common.component import Component
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import ABOVE_BITS, OPEN_TURNS, PROGRAM_STEPS, TURN_BITS
from hdl.switchgnn.switch.turns.job_turns import JobTurns
from hdl.switchgnn.switch.turns.turn_opener import TurnOpener

STEP_BITS = exact_log2(PROGRAM_STEPS)


class TurnTable(Component):
    """Tracks the turns of the jobs in ``table``, and looks up the ``turn`` and ``job`` of a frame.

    ``about`` is the relation of that turn to the job, a cycle later. ``done`` says that ``sender``
    has all of the oldest open turn of ``done_job``; ``ends``, ``quiet`` and the other signals of a
    turn are those of :class:`JobTurns`, and tasks to ``load`` those of :class:`TurnOpener`.
    ``begin`` starts the job ``started``, with ``tables``; ``table`` has its entry already, and it
    may be active two cycles later. Until then a ``done`` of its earlier run has no effect. A job
    that was stopped opens no more turns, because it could load aggregators that another job has by
    then.

    ``ports`` and ``regions`` give each port the state of its job; ``clear`` says for each port
    which of its windows must be emptied: those of turns that ended in the cycle before, while
    frames of the next turn still wait at their ports. ``advance`` says that the job of a port has a
    new oldest turn, which ``ports`` already has.

    In a switch with links, the last ``above`` ports lead to the switches above. Their bits of
    ``advance`` say instead that a DONE of the oldest turn of their job must leave; ``advanced``
    says that the switch at ``sender`` has ended the oldest turn of ``done_job``.
    """

    latency = 1

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            table=In(data.ArrayLayout(params.job, params.jobs)),
            begin=In(1),
            started=In(params.job_bits),
            tables=In(params.job_tables),
            write=In(1),
            write_step=In(STEP_BITS),
            written=In(params.step),
            job=In(params.job_bits),
            turn=In(TURN_BITS),
            about=Out(params.job_turns),
            done=In(1),
            done_job=In(params.job_bits),
            sender=In(params.ports),
            quiet=In(1),
            ends=Out(1),
            ended=Out(params.jobs),
            load=Out(stream.Signature(params.task)),
            ports=Out(data.ArrayLayout(params.port_job, params.ports)),
            regions=Out(data.ArrayLayout(params.port_region, params.ports)),
            clear=Out(data.ArrayLayout(OPEN_TURNS, params.ports)),
            advance=Out(params.ports),
            **({"above": In(ABOVE_BITS), "advanced": In(1)} if params.links else {}),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.opener = opener = TurnOpener(params)
        connect(m, opener.load, flipped(self.load))
        m.d.comb += [
            opener.write.eq(self.write),
            opener.write_job.eq(self.started),
            opener.write_step.eq(self.write_step),
            opener.written.eq(self.written),
        ]
        jobs = [self.add_job(m, opener, k) for k in range(params.jobs)]
        odd = Signal(reset_less=True)  # the frame's turn is odd
        job = Signal(params.job_bits, reset_less=True)
        m.d.sync += [job.eq(self.job), odd.eq(self.turn[0])]
        self.report(m, jobs, job, odd)
        m.d.comb += self.ends.eq(Cat(turns.ends for turns, _ in jobs).any())
        for k in range(params.ports):
            self.report_port(m, jobs, k)

    def add_job(self, m: Module, opener: TurnOpener, k: int) -> tuple[JobTurns, Any]:
        """Add the turns of a job; return them and the operands of its start."""
        params, entry = self.params, self.table[k]
        m.submodules[f"job_{k}"] = turns = JobTurns(params)
        tables = Signal(params.job_tables, name=f"tables_{k}", reset_less=True)
        begin = self.begin & (self.started == k)
        # A turn has all aggregators of its job, or half of them.
        region = Signal(data.ArrayLayout(params.region, OPEN_TURNS), name=f"region_{k}")
        size = Signal(params.count_bits, name=f"size_{k}", reset_less=True)
        m.d.sync += size.eq(low_bits(entry.end - entry.base, params.count_bits))
        count = Mux(tables.two, size >> 1, size)
        with m.If(begin):
            m.d.sync += tables.eq(self.tables)
        was_active = delay(m, entry.active, 1, f"was_active_{k}", reset_less=False)
        if params.links:
            m.d.comb += [
                turns.up.eq(params.above_mask(self.above)),
                turns.advanced.eq(self.advanced & (self.done_job == k)),
            ]
        for turn, skipped in enumerate((0, size >> 1)):  # place 1 exists only with two open turns
            m.d.sync += [
                region[turn].base.eq(low_bits(entry.base + skipped, params.slot_bits)),
                region[turn].count.eq(count),
                *(region[turn][name].eq(tables[name]) for name in params.maximum),
            ]
        m.d.comb += [
            turns.begin.eq(delay(m, begin, self.latency, f"begin_{k}", reset_less=False)),
            turns.stop.eq(was_active & ~entry.active),
            turns.two.eq(tables.two),
            # Delayed, because a job may be stopped and get other ports in this cycle.
            turns.ports.eq(delay(m, entry.ports, 1, f"ports_{k}")),
            turns.turn.eq(self.turn),
            turns.done.eq(self.done & (self.done_job == k)),
            turns.sender.eq(self.sender),
            turns.quiet.eq(self.quiet),
            self.ended[k].eq(turns.ended),
            opener.begin[k].eq(turns.begin),
            opener.stop[k].eq(turns.stop),
            opener.waits[k].eq(turns.waits),
            opener.turns[k].eq(turns.turn_waits),
            opener.places[k].eq(turns.opens),
            opener.regions[k].eq(region),
            opener.last_steps[k].eq(tables.last_step),
            turns.opened.eq(opener.opened[k]),
        ]
        return turns, (tables, region)

    def report(self, m: Module, jobs: list, job: Value, odd: Value) -> None:
        """Return the relation of the frame's turn to its job."""
        about = self.about
        two = Array(tables.two for _, (tables, _) in jobs)[job]
        place = odd & two
        m.d.comb += [
            *(
                about[name].eq(Array(getattr(turns, name) for turns, _ in jobs)[job])
                for name in ("past", "lowest", "following")
            ),
            about.place.eq(place),
            about.loaded.eq(half(Array(turns.loaded for turns, _ in jobs)[job], place)),
            about.region.as_value().eq(
                half(Array(region.as_value() for _, (_, region) in jobs)[job], place)
            ),
            about.lists.as_value().eq(
                Array(tables.lists.as_value() for _, (tables, _) in jobs)[job]
            ),
        ]

    def report_port(self, m: Module, jobs: list, k: int) -> None:
        """Give a port the state of its job."""
        params = self.params
        own = Cat(entry.active & entry.ports[k] for entry in self.table)
        reported = Signal(params.port_job, name=f"reported_{k}")
        region = Signal(params.port_region, name=f"port_region_{k}", reset_less=True)
        number = Cat(
            Cat(own[j] for j in range(params.jobs) if j >> bit & 1).any()
            for bit in range(params.job_bits)
        )
        m.d.sync += [
            reported.active.eq(own.any()),
            reported.job.eq(number),
            reported.epoch.eq(Array(entry.epoch for entry in self.table)[number]),
            reported.lo.eq(Array(turn.lo for turn, _ in jobs)[number]),
            region.base.eq(Array(r[0].base for _, (_, r) in jobs)[number]),
            region.count.eq(Array(r[0].count for _, (_, r) in jobs)[number]),
            region.two.eq(Array(tables.two for _, (tables, _) in jobs)[number]),
        ]
        m.d.comb += [self.ports[k].eq(reported), self.regions[k].eq(region)]
        # The windows of a turn that ends are empty two cycles later, as the port's ``lo`` changes.
        ended = Cat(turn.ended & turn.ports[k] for turn, _ in jobs)
        begun = Cat(turn.begin & turn.ports[k] for turn, _ in jobs)
        for place in range(OPEN_TURNS):
            near = Cat(turn.place == place for turn, _ in jobs)
            m.d.sync += self.clear[k][place].eq((ended & near).any() | begun.any())
        advance = delay(m, ended.any(), 2, f"advance_{k}", reset_less=False)
        if k >= params.first_link:
            said = Cat(turn.said & turn.ports[k] for turn, _ in jobs).any()
            advance = Mux(params.above_mask(self.above)[k], said, advance)
        m.d.comb += self.advance[k].eq(advance)
