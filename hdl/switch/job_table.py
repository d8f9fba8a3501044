"""Decides which packets belong to a job of the switch, and refuses all others."""

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay, low_bits
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.switch.frame_filter import Quality
from hdl.switch.job_control import JobControl
from hdl.switch.params import COMMAND, PacketSwitchParams, Refusal
from hdl.switch.tenancy import SHARING, TENANT_ANSWER, TENANT_COMMAND
from hdl.switch.tenant_control import TenantControl


class JobTable(Component):
    """Checks a packet a cycle; of the reasons to refuse it, the last one that applies counts.

    ``packet`` came at the port ``sender``. If it belongs to an active job of that port, and has the
    job's epoch and one of its slots, it leaves as ``request`` with ``valid``; otherwise ``refused``
    says why not. ``slot`` is the entry of the request that leaves :attr:`latency` cycles later, so
    that the slot's state can be read meanwhile, and ``ahead`` is the header of the request that
    leaves a cycle later, so that the rule can begin with it.

    A job that starts clears its slots through the same pipeline (:class:`JobControl`): ``clear`` is
    then high in place of ``valid``, and ``request.everyone`` is the only field that is valid. So
    every packet is checked against the job as it was when the slot was read. Commands, ``busy``,
    ``reason``, ``waiting`` and ``hold`` are those of :class:`JobControl`; ``active`` has a bit for
    each job.

    If jobs are tenants, there is a :class:`TenantControl` in place of the :class:`JobControl`, with
    its ``commands``, ``answered``, ``answer``, ``sharing``, ``progress`` and ``unfinished``, with
    its ``refused`` as ``refused_jobs``, and with the ``table`` for others to read.
    ``request.draining`` says that the job drains. Each packet, refused or not, sets the bit of its
    job in ``of``, unless it names no job. If tenants may have parents, packets of the parent's port
    are let through as well; ``longer`` says that the packet of ``of`` has further bytes.

    If packets name no slot there is neither ``slot`` nor ``clear``; ``preparing`` and ``prepared``
    are those of :class:`JobControl`, and the rule reads the jobs from ``table``.
    """

    latency = 2

    def __init__(self, params: PacketSwitchParams) -> None:
        by_slot = {
            "waiting": In(1),
            "hold": Out(1),
            "slot": Out(params.entry_bits),
            "clear": Out(1),
        }
        by_host = {"command": In(COMMAND), "busy": Out(1), "reason": Out(Refusal)}
        by_tenant = {
            "commands": In(stream.Signature(TENANT_COMMAND)),
            "answered": Out(1),
            "answer": Out(TENANT_ANSWER),
            "sharing": In(SHARING),
            "refused_jobs": Out(params.jobs),
            "progress": In(params.progress),
            "unfinished": Out(params.jobs),
            "table": Out(data.ArrayLayout(params.job, params.jobs)),
            "of": Out(params.jobs),
            **({"longer": Out(1)} if params.parents else {}),
        }
        by_rule = {
            "preparing": Out(1),
            "prepared": In(1),
            "table": Out(data.ArrayLayout(params.job, params.jobs)),
        }
        super().__init__(
            params,
            **(by_tenant if params.tenants else by_host),
            active=Out(params.jobs),
            **(by_slot if params.slot_field else by_rule),
            packet_valid=In(1),
            sender=In(params.ports),
            packet=In(params.packet),
            valid=Out(1),
            ahead=Out(params.header),
            request=Out(params.request),
            refused=Out(params.verdict),
        )

    def build(self, m: Module) -> None:
        params = self.params
        control = TenantControl(params) if params.tenants else JobControl(params)
        m.submodules.control = control
        jobs = range(params.jobs)
        if isinstance(control, TenantControl):
            self.command_tenants(m, control)
        else:
            m.d.comb += [
                control.command.eq(self.command),
                self.busy.eq(control.busy),
                self.reason.eq(control.reason),
            ]
        m.d.comb += [self.active[k].eq(control.table[k].active) for k in jobs]
        # The job that the packet names, or the job that is being started.
        job = Signal(params.job, reset_less=True)
        judged_packet = Signal(params.packet, reset_less=True)
        judged_sender = Signal(params.ports, reset_less=True)
        judging = Signal()
        table = Array(control.table[k].as_value() for k in jobs)
        m.d.sync += [
            job.eq(params.job(table[self.packet.header.job])),
            judged_packet.eq(self.packet),
            judged_sender.eq(self.sender),
            judging.eq(self.packet_valid),
        ]
        if params.slot_field:
            self.clear_slots(m, control, job)
        else:
            m.d.comb += [
                self.preparing.eq(control.preparing),
                control.prepared.eq(self.prepared),
                self.table.eq(control.table),
            ]
        verdict = judge(m, params, judged_packet, judged_sender, job)
        nothing = params.verdict.NONE
        good = verdict == nothing
        request = Signal(params.request, reset_less=True)
        m.d.comb += [self.ahead.eq(judged_packet.header), self.request.eq(request)]
        m.d.sync += [
            request.sender.eq(judged_sender),
            request.everyone.eq(job.ports),
            request.header.eq(judged_packet.header),
            *(request[name].eq(judged_packet[name]) for name in params.brought),
            self.valid.eq(judging & good),
            self.refused.eq(Mux(judging, verdict, nothing)),
        ]
        if params.tenants:
            self.report_tenants(m, job, judging, judged_packet, judged_sender, request)
        others = self.sender & (self.sender - 1)
        expect(
            m,
            self,
            one_port_sends=lambda: ~self.packet_valid | ((self.sender != 0) & (others == 0)),
        )
        if not params.tenants:
            expect(m, self, operands_hold_still=lambda: self.operands_hold_still(m))

    def clear_slots(self, m: Module, control: Any, job) -> None:
        """Send slots that are to be cleared through the pipeline of packets."""
        requested = self.params.entry_of(self.packet.header)
        clearing = Signal()
        m.d.comb += [
            control.waiting.eq(self.waiting),
            self.hold.eq(control.hold),
            self.slot.eq(Mux(control.clear, control.slot, requested)[: self.params.entry_bits]),
        ]
        m.d.sync += [clearing.eq(control.clear), self.clear.eq(clearing)]
        with m.If(control.clear):
            m.d.sync += job.ports.eq(control.ports)
        expect(
            m,
            self,
            no_packet_behind_hold=lambda: (
                ~(delay(m, self.hold, 1, "held", reset_less=False) & self.packet_valid)
            ),
        )

    def command_tenants(self, m: Module, control: TenantControl) -> None:
        """Connect the :class:`TenantControl`: commands, answers, and the progress of uses."""
        connect(m, flipped(self.commands), control.commands)
        m.d.comb += [
            self.answered.eq(control.answered),
            self.answer.eq(control.answer),
            control.sharing.eq(self.sharing),
            control.progress.eq(self.progress),
            self.refused_jobs.eq(control.refused),
            self.unfinished.eq(control.unfinished),
            self.table.eq(control.table),
        ]

    def report_tenants(self, m: Module, job, judging, packet, sender, request) -> None:
        """Register the job of a packet (``of``), and whether it drains."""
        named = judging & (packet.quality == Quality.GOOD) & packet.known
        m.d.sync += [
            request.draining.eq(job.draining),
            *(self.of[k].eq(named & (packet.header.job == k)) for k in range(self.params.jobs)),
        ]
        if self.params.parents:
            m.d.sync += [
                self.longer.eq(packet.longer),
                request.parent.eq(job.parent),
                request.root.eq(job.parent == 0),
                request.from_parent.eq((job.parent & sender).any()),
            ]

    def operands_hold_still(self, m: Module) -> Value:
        """Return whether a job's operands are stable from ``start`` on, and while ``busy``."""
        operands = self.command.as_value()[COMMAND["job"].offset :]
        started = delay(m, self.busy | self.command.start, 1, "started", reset_less=False)
        return ~(self.busy & started) | (operands == delay(m, operands, 1, "operands"))


def judge(m: Module, params: PacketSwitchParams, packet: Any, sender: Value, job: Any) -> Any:
    """Return why ``packet`` is refused: the last of REFUSALS that applies, or NONE.

    Without a grant a tenant is there, and is refused as NOT_GRANTED.
    """
    header, kinds = packet.header, params.verdict
    known = job.registered if params.tenants else job.active
    verdict = Signal(kinds)
    with m.If(packet.quality == Quality.CORRUPT):
        m.d.comb += verdict.eq(kinds.CORRUPT)
    with m.Elif(packet.quality == Quality.FOREIGN):
        m.d.comb += verdict.eq(kinds.FOREIGN)
    with m.Elif(packet.quality == Quality.MALFORMED):
        m.d.comb += verdict.eq(kinds.MALFORMED)
    ports = job.ports | job.parent if params.parents else job.ports
    with m.Elif(~packet.known | ~known | ~(ports & sender).any()):
        m.d.comb += verdict.eq(kinds.WRONG_JOB)
    own = packet.own
    if params.parents:
        from_parent = (job.parent & sender).any()
        own = Mux(from_parent, packet.to_switch, packet.own)
        with m.Elif(~Mux(from_parent, packet.down, packet.up)):
            m.d.comb += verdict.eq(kinds.WRONG_WAY)
    with m.Elif(~own):
        m.d.comb += verdict.eq(kinds.WRONG_WORKER)
    if params.tenants:
        with m.Elif(~job.active):
            m.d.comb += verdict.eq(kinds.NOT_GRANTED)
    with m.Elif(header.epoch != low_bits(job.epoch, len(header.epoch))):
        m.d.comb += verdict.eq(kinds.WRONG_RUN)
    if params.slot_field:
        slot = header[params.slot_field]
        with m.Elif((slot < job.base) | (slot >= job.end)):
            m.d.comb += verdict.eq(kinds.WRONG_SLOT)
    return verdict
