"""Decides whether a tenant's command is refused, and why."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.switch.params import PacketSwitchParams
from hdl.switch.tenancy import SHARING, TENANT_COMMAND
from hdl.switch.tenancy_head import Reason, TenancyKind


class TenantJudge(Component):
    """Finds the first reason to refuse a command, and the job that is in the way.

    ``command``, its job's ``entry`` and ``closed``, the epoch of the job's last grant that is over,
    must be stable from ``begin`` on. Then ``other`` is every job of the table once, with its
    ``number``, one a cycle, in ascending order; ``counts`` says that it holds the switch and is not
    the command's job. :attr:`latency` cycles after the last of them ``reason`` is valid: NONE, or
    why the command is refused; ``owner`` and ``owner_epoch`` are those of
    :data:`hdl.switch.tenancy.TENANT_ANSWER`. ``repeated`` says that the job already has the grant
    that the command acquires.
    """

    latency = 2

    def __init__(self, params: PacketSwitchParams) -> None:
        super().__init__(
            params,
            begin=In(1),
            command=In(TENANT_COMMAND),
            sharing=In(SHARING),
            entry=In(params.job),
            closed=In(32),
            other=In(params.job),
            number=In(params.job_bits),
            counts=In(1),
            reason=Out(Reason),
            owner=Out(16),
            owner_epoch=Out(32),
            repeated=Out(1),
        )

    def build(self, m: Module) -> None:
        other, counts, apart = self.other, self.counts, self.sharing.apart
        ports = (self.entry.ports | self.entry.parent) & (other.ports | other.parent)
        slots = (self.entry.base < other.end) & (other.base < self.entry.end)
        holders = Signal(range(self.params.jobs + 1))
        too_many = Signal()
        with m.If(self.begin):
            m.d.sync += holders.eq(0)
        with m.Elif(counts):
            m.d.sync += holders.eq(holders + 1)
        m.d.sync += too_many.eq(~apart & (holders >= self.sharing.most))
        _, holder = self.first(m, "holder", counts)
        ports_taken, port_holder = self.first(m, "port_holder", counts & apart & ports.any())
        slots_taken, slot_holder = self.first(m, "slot_holder", counts & slots)
        alone, acquires = self.judge_alone(m)
        taken = Signal(Reason)
        owner = Signal.like(holder)
        # If no other job is in the way, the answer names the command's own job.
        itself = Mux(self.entry.active & (alone != Reason.NO_SUCH_JOB), self.entry.epoch, 0)
        with m.If(alone != Reason.NONE):
            m.d.comb += [taken.eq(alone), owner.number.eq(self.command.job), owner.epoch.eq(itself)]
        with m.Elif(acquires & too_many):
            m.d.comb += [taken.eq(Reason.SWITCH_TAKEN), owner.eq(holder)]
        with m.Elif(acquires & ports_taken):
            m.d.comb += [taken.eq(Reason.PORTS_TAKEN), owner.eq(port_holder)]
        with m.Elif(acquires & slots_taken):
            m.d.comb += [taken.eq(Reason.SLOTS_TAKEN), owner.eq(slot_holder)]
        m.d.comb += [
            self.reason.eq(taken),
            self.owner.eq(owner.number),
            self.owner_epoch.eq(owner.epoch),
        ]

    def first(self, m: Module, name: str, meets: Value) -> tuple[Signal, Any]:
        """Return whether any job ``meets`` the command, and the first that does, or its own job."""
        job = data.StructLayout({"number": 16, "epoch": 32})
        met = Signal(name=f"{name}_met")
        result = Signal(name=f"{name}_result")
        first = Signal(job, name=name)
        number = delay(m, self.number, 1, f"{name}_number")
        epoch = delay(m, self.other.epoch, 1, f"{name}_epoch")
        m.d.sync += met.eq(meets)
        with m.If(self.begin):
            m.d.sync += [result.eq(0), first.number.eq(self.command.job), first.epoch.eq(0)]
        with m.Elif(met & ~result):
            m.d.sync += [result.eq(1), first.number.eq(number), first.epoch.eq(epoch)]
        return result, first

    def judge_alone(self, m: Module) -> tuple[Any, Value]:
        """Return why the command is refused without regard to other jobs, and if it acquires."""
        command, entry = self.command, self.entry
        bad_ports = Signal()
        end = Signal(33, reset_less=True)  # registered, so that no path has two carry chains
        bad_slots = Signal()
        below = Signal()
        closed = Signal()
        same = Signal()
        parent = Signal(1 << len(command.parent))  # the bit of the port towards the parent
        m.d.comb += parent.eq(Mux(command.has_parent, 1 << command.parent, 0))
        everyone = command.ports | parent
        m.d.sync += [
            bad_ports.eq(
                (command.ports == 0)
                | (everyone >> self.params.ports).any()
                | (command.ports & parent).any()
            ),
            end.eq(command.base + command.count),
            bad_slots.eq((command.count == 0) | (end > self.params.slots)),
            below.eq(command.epoch < self.closed),
            closed.eq(command.epoch <= self.closed),
            same.eq(command.epoch == entry.epoch),
        ]
        registers = command.kind == TenancyKind.REGISTER
        acquires = command.kind == TenancyKind.ACQUIRE
        m.d.comb += self.repeated.eq(acquires & entry.active & ~entry.draining & same)
        reason = Signal(Reason)
        with m.If(command.job >= self.params.jobs):
            m.d.comb += reason.eq(Reason.NO_SUCH_JOB)
        with m.Elif(registers & bad_ports):
            m.d.comb += reason.eq(Reason.BAD_PORTS)
        with m.Elif(registers & bad_slots):
            m.d.comb += reason.eq(Reason.BAD_SLOTS)
        with m.Elif(acquires & ~entry.registered):
            m.d.comb += reason.eq(Reason.NOT_REGISTERED)
        with m.Elif((registers & below) | (acquires & closed)):
            m.d.comb += reason.eq(Reason.OLD)
        with m.Elif((registers | (acquires & ~self.repeated)) & entry.active):
            m.d.comb += reason.eq(Reason.HELD)
        return reason, acquires & ~self.repeated
