"""Registers, grants, drains and releases the tenants of a switch."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.switch.params import PacketSwitchParams
from hdl.switch.slot_clearing import clear_slots
from hdl.switch.tenancy import SHARING, TENANT_ANSWER, TENANT_COMMAND
from hdl.switch.tenancy_head import Reason, TenancyKind
from hdl.switch.tenant_judge import TenantJudge
from hdl.switch.tenant_uses import TenantUses

#: cycles from a command to its answer, besides one for each job of the table
DECIDING = 4


class State(enum.Enum, shape=3):
    """Names the steps of a command."""

    TAKE = 0  #: no command is under way
    READ = 1  #: the entry of the command's job is read
    BEGIN = 2
    COMPARE = 3  #: the job is compared with the others, one a cycle
    DECIDE = 4
    CLEAR = 5  #: acquire: slots are cleared
    END = 6  #: release: packets in the pipeline are waited for
    ANSWER = 7


class TenantControl(Component):
    """Keeps the ``table`` of tenants and carries out ``commands`` (MINA, "RTL: one data plane").

    A command is taken when the one before is answered: ``answered`` pulses with ``answer``. Each
    command is one atomic attempt, and is never queued; the golden
    :func:`sim.golden.tenancy.tenancy_rule` defines its outcome. REGISTER enters a job's ports and
    slots, which other jobs may have, too, the port towards its parent, if it has one, and an epoch
    that all its grants must exceed. ACQUIRE is granted, or refused because other jobs are in the
    way under the rule ``sharing``; then the job's bit of ``refused`` pulses. A grant has the
    command's epoch, which no earlier grant had; the slots are cleared before the answer. RELEASE
    with ``force`` ends a grant at once, and so does RELEASE if no use of a slot is under way
    (``progress``). Otherwise the job drains: it stays ``active``, may begin no use, and its grant
    ends when its last use has ended.

    Latency: :attr:`latency` cycles from a command to ``answered``; the end of a grant takes
    :attr:`ending` cycles more, and a grant at most four more for each slot. ``unfinished`` says
    which jobs have uses under way; ``hold``, ``waiting``, ``clear``, ``slot`` and ``ports`` are
    those of :class:`hdl.switch.job_control.JobControl`.
    """

    def __init__(self, params: PacketSwitchParams) -> None:
        self.latency = params.jobs + DECIDING + TenantJudge.latency
        #: cycles until an end is answered: by then no packet of the grant is in the pipeline
        self.ending = params.settling + 2
        super().__init__(
            params,
            commands=In(stream.Signature(TENANT_COMMAND)),
            answered=Out(1),
            answer=Out(TENANT_ANSWER),
            sharing=In(SHARING),
            refused=Out(params.jobs),
            table=Out(data.ArrayLayout(params.job, params.jobs)),
            progress=In(params.progress),
            unfinished=Out(params.jobs),
            waiting=In(1),
            hold=Out(1),
            clear=Out(1),
            slot=Out(params.slot_bits),
            ports=Out(params.ports),
        )

    def build(self, m: Module) -> None:
        params = self.params
        command = Signal(TENANT_COMMAND, reset_less=True)
        state = Signal(State)
        step = Signal(range(max(params.jobs + TenantJudge.latency, self.ending)))
        m.submodules.judge = judge = TenantJudge(params)
        closed = Array(Signal(32, name=f"closed_{k}") for k in range(params.jobs))
        m.d.comb += judge.command.eq(command)
        self.look(m, judge, state, step, closed)
        cleared = clear_slots(
            m,
            self,
            begin=state == State.DECIDE,
            clearing=state == State.CLEAR,
            base=judge.entry.base,
            end=judge.entry.end,
            ports=judge.entry.ports,
        )
        tenant: Any = Array(self.table)[command.job[: params.job_bits]]
        m.d.comb += [
            self.commands.ready.eq(state == State.TAKE),
            self.answered.eq(state == State.ANSWER),
        ]
        m.d.sync += step.eq(step + 1)
        with m.Switch(state):
            with m.Case(State.TAKE):
                m.d.sync += command.eq(self.commands.payload)
                with m.If(self.commands.valid):
                    m.d.sync += state.eq(State.READ)
            with m.Case(State.READ):
                m.d.sync += state.eq(State.BEGIN)
            with m.Case(State.BEGIN):
                m.d.sync += [step.eq(0), state.eq(State.COMPARE)]
            with m.Case(State.COMPARE), m.If(step == params.jobs + judge.latency - 1):
                m.d.sync += state.eq(State.DECIDE)
            with m.Case(State.DECIDE):
                m.d.sync += step.eq(0)
                self.decide(m, judge, state, tenant, closed)
            with m.Case(State.CLEAR), m.If(cleared):
                m.d.sync += [
                    state.eq(State.ANSWER),
                    tenant.active.eq(1),
                    tenant.epoch.eq(command.epoch),
                ]
            with m.Case(State.END), m.If(step == self.ending - 1):
                m.d.sync += state.eq(State.ANSWER)
                with m.If(tenant.active):
                    m.d.sync += self.answer.kind.eq(TenancyKind.DRAINING)
            with m.Case(State.ANSWER):
                m.d.sync += state.eq(State.TAKE)
        self.drain(m)

    def look(self, m: Module, judge: TenantJudge, state: Any, step: Signal, closed: Any) -> None:
        """Show the judge the entry of the command's job, then that of every job, one a cycle."""
        params, own = self.params, judge.command.job[: self.params.job_bits]
        entry = Signal(params.job, reset_less=True)
        seen = Signal(params.job, reset_less=True)
        over = Signal(32, reset_less=True)
        index = Signal(params.job_bits)
        m.d.comb += index.eq(Mux(state == State.COMPARE, step, own)[: params.job_bits])
        number = delay(m, index, 1, "number")
        m.d.sync += seen.eq(Array(self.table)[index])
        with m.If(state == State.BEGIN):
            m.d.sync += [entry.eq(seen), over.eq(closed[own])]
        m.d.comb += [
            judge.begin.eq(state == State.BEGIN),
            judge.sharing.eq(self.sharing),
            judge.entry.eq(entry),
            judge.closed.eq(over),
            judge.other.eq(seen),
            judge.number.eq(number),
            judge.counts.eq(seen.active & (number != own)),  # only jobs that hold the switch matter
        ]

    def decide(self, m: Module, judge: TenantJudge, state: Any, tenant: Any, closed: Any) -> None:
        """Carry the command out, or begin to, unless the judge refuses it."""
        params, command, answer = self.params, judge.command, self.answer
        own = command.job[: params.job_bits]
        m.d.sync += [
            state.eq(State.ANSWER),
            answer.reason.eq(judge.reason),
            answer.owner.eq(judge.owner),
            answer.owner_epoch.eq(judge.owner_epoch),
        ]
        with m.If(judge.reason != Reason.NONE):
            m.d.sync += answer.kind.eq(TenancyKind.REFUSED)
            taken = [Reason.SWITCH_TAKEN, Reason.PORTS_TAKEN, Reason.SLOTS_TAKEN]
            m.d.comb += Array(self.refused)[own].eq(Cat(judge.reason == t for t in taken).any())
        with m.Elif(command.kind == TenancyKind.REGISTER):
            m.d.sync += [
                answer.kind.eq(TenancyKind.REGISTERED),
                tenant.registered.eq(1),
                tenant.ports.eq(command.ports[: params.ports]),
                tenant.parent.eq(Mux(command.has_parent, 1 << command.parent, 0)[: params.ports]),
                tenant.base.eq(command.base),
                tenant.end.eq((command.base + command.count)[:17]),
                closed[own].eq(command.epoch),
            ]
        with m.Elif(command.kind == TenancyKind.ACQUIRE):
            m.d.sync += answer.kind.eq(TenancyKind.GRANTED)
            with m.If(~judge.repeated):
                m.d.sync += state.eq(State.CLEAR)
        with m.Else():
            m.d.sync += answer.kind.eq(TenancyKind.RELEASED)
            with m.If(tenant.registered & (command.epoch > judge.closed)):
                m.d.sync += closed[own].eq(command.epoch)
            with m.If(tenant.active & (judge.entry.epoch <= command.epoch)):
                m.d.sync += state.eq(State.END)
                with m.If(command.force):
                    m.d.sync += [tenant.active.eq(0), tenant.draining.eq(0), tenant.epoch.eq(0)]
                with m.Else():
                    m.d.sync += tenant.draining.eq(1)

    def drain(self, m: Module) -> None:
        """End the grant of every job that has drained."""
        m.submodules.uses = uses = TenantUses(self.params)
        table: list[Any] = list(self.table)
        m.d.comb += [
            uses.active.eq(Cat(job.active for job in table)),
            uses.draining.eq(Cat(job.draining for job in table)),
            uses.progress.eq(self.progress),
            self.unfinished.eq(uses.unfinished),
        ]
        for job, drained in zip(table, uses.drained, strict=True):
            with m.If(drained):
                m.d.sync += [job.active.eq(0), job.draining.eq(0), job.epoch.eq(0)]
