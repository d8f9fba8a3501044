"""Connects a gather engine between host memory (PCI Express) and device memory."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.bus_watch import BUS, BusTimer, any_of
from hdl.common.component import Component
from hdl.common.local_reset import BLOCK_RESET_CYCLES, add_block, add_with_reset
from hdl.common.register_block import RegisterBlock
from hdl.common.ring_registers import set_ring
from hdl.gather.axi_requester import WHOLE, AxiRequester, lead_out
from hdl.gather.card_reader import CardReader
from hdl.gather.engine_counters import EngineCounters
from hdl.gather.engine_params import DESCRIPTORS, WORK, GatherEngineParams
from hdl.gather.registers import constants, engine_registers
from hdl.gather.row_fetcher import RowFetcher
from hdl.gather.row_output import RowOutput
from hdl.gather.work_control import WorkControl
from hdl.gather.work_fetch import WorkFetch
from hdl.gather.work_sources import WorkSources
from hdl.pcie.axis import PcieStreamSignature, cc_user, cq_user, rc_user, rq_user
from hdl.pcie.completer import Completer
from hdl.pcie.descriptors import Cause
from hdl.pcie.function_reset import FUNCTION, FunctionReset
from hdl.pcie.interrupt_sender import BLOCK_VECTORS, InterruptSender
from hdl.pcie.requester import Requester
from hdl.pcie.write_fence import NUMBERS


def block_ports(params: GatherEngineParams) -> dict[str, Any]:
    """Return the ports to AMD's block for PCI Express."""
    bits = params.data_bits
    return {
        "cq": In(PcieStreamSignature(data_bits=bits, user=cq_user(bits))),
        "cc": Out(PcieStreamSignature(data_bits=bits, user=cc_user(bits))),
        "rq": Out(PcieStreamSignature(data_bits=bits, user=rq_user(bits))),
        "rc": In(PcieStreamSignature(data_bits=bits, user=rc_user(bits))),
        "limit": In(3),
        **({"payload_limit": In(2)} if params.to_host else {}),
        "credits": In(4),
        "numbers": In(NUMBERS),
        "msix_enable": In(1),
        "msix_vector": Out(BLOCK_VECTORS),
        "msix_send": Out(1),
        "msix_sent": In(1),
        "msix_failed": In(1),
        "function": In(FUNCTION),
    }


class GatherEngine(Component):
    """Copies the rows ``table[idx]`` of an array of idxs from host memory to where they are used.

    It is the accelerator's side of "Large Graph Convolutional Network Training with GPU-Oriented
    Data Communication Architecture" (3.2, 4.4): no processor has to gather the rows first. The host
    writes a work request to the registers (:mod:`hdl.gather.registers`) and submits it. The engine
    reads the idxs and their rows, writes the rows to consecutive addresses of device memory (or of
    the bus, or streams them, as ``params.outputs`` and the request say), then
    writes a completion to host memory and requests interrupt 0. A row whose idx is not in the table
    is zero.

    ``cq``, ``cc``, ``rq`` and ``rc`` are the streams of AMD's block for PCI Express; ``limit`` is
    its ``cfg_max_read_req``, ``credits`` its ``pcie_tfc_nph_av``, ``numbers`` its
    ``pcie_rq_seq_num0`` and ``1``. The ports ``msix`` are the block's for interrupts
    (:class:`hdl.pcie.interrupt_sender.InterruptSender`).

    A build whose ``outputs`` have the host writes the rows of ``posted`` requests to addresses of
    the bus, of host memory or of a peer, by posted writes of at most 512 bytes, and at most
    ``payload_limit``, the block's ``cfg_max_payload``. A request's completion follows its rows on
    the same stream, so the host sees it after them. Without that output there is no such port, as
    completions are shorter than the smallest limit.

    ``function`` is the block's handshake for a reset
    (:data:`hdl.pcie.function_reset.FUNCTION`). A reset of the function, or the loss of bus
    mastership, drops all work requests and abandons what they have under way; ``done`` says
    that nothing of them is left. Work requests that are submitted before the host has made the
    function a bus master again are dropped, too. With ``params.descriptors``, a ring stays
    closed until the host has disabled it and enables it again, as after a ``stop``.

    With ``params.host_bus`` axi there is none of these ports: registers are behind ``s_axil``, host
    memory behind ``m_axi_host`` (:class:`AxiRequester`), device memory behind ``m_axi_device``, and
    ``busy`` is high while there is a work request. What registers say of a block is 0 then.

    Work requests are carried out one at a time, in order. With ``params.descriptors``, those of
    registers and those of the ring are each in order, and in turn while both have some.
    Throughput: an idx, a read and a beat of rows a cycle. Latency: :attr:`request_latency` from
    an idx to its first read on ``rq``, :attr:`row_latency` from its last completion on ``rc``
    to a burst of its last beat.
    """

    register_map = staticmethod(engine_registers)
    reset_cycles = BLOCK_RESET_CYCLES

    def __init__(self, params: GatherEngineParams) -> None:
        self.registers = engine_registers(params)
        fetcher = RowFetcher(params)
        over = params.over_pcie
        requester = Requester(params.requester) if over else AxiRequester(params)
        self.request_latency = fetcher.request_latency + requester.request_latency
        self.row_latency = requester.latency + fetcher.latency + RowOutput.latency
        self.latencies = {
            "idx to its first read": self.request_latency,
            "row's last completion to its last burst": self.row_latency,
        }
        if over:
            host = block_ports(params)
        else:
            host = {"m_axi_host": requester.signature.members["m_axi"], "busy": Out(1)}
            lite = AxiLiteSignature(address_bits=self.registers.address_bits)
            host = {"s_axil": In(lite), **host}
        super().__init__(params, **host, **{name: Out(end) for name, end in params.ends.items()})

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.registers = registers = RegisterBlock(self.registers)
        self.add_host(m, registers)
        m.submodules.output = RowOutput(params)
        m.submodules.sources = WorkSources(params)
        m.submodules.control = control = WorkControl(params)
        add_with_reset(m, "fetcher", RowFetcher(params), control.halt)
        m.submodules.counters = EngineCounters(params)
        self.reach_host(m)
        self.fetch_work(m, registers)
        self.move_rows(m)
        timer = self.settle(m, registers)
        self.report(m, registers)
        if params.over_pcie:
            self.obey_block(m, registers, timer)
            self.interrupt(m, registers)
        else:
            m.d.comb += self.busy.eq(~control.empty)

    def add_host(self, m: Module, registers: RegisterBlock) -> None:
        """Add what leads to the host's memory, and to its accesses to registers."""
        params = self.params
        if not params.over_pcie:
            add_block(m, "requester", AxiRequester(params))
            connect(m, flipped(self.s_axil), registers.axil)
            connect(m, m.submodules.requester.m_axi, flipped(self.m_axi_host))
            return
        sizes = {"data_bits": params.data_bits, "address_bits": self.registers.address_bits}
        m.submodules.completer = completer = Completer.sized(**sizes)
        add_block(m, "requester", Requester(params.requester))
        m.submodules.reset = FunctionReset()
        connect(m, flipped(self.cq), completer.cq)
        connect(m, completer.cc, flipped(self.cc))
        connect(m, completer.axil, registers.axil)

    def reach_host(self, m: Module) -> None:
        """Connect the requester, which reads rows and idxs and writes completions."""
        parts = m.submodules
        requester, fetcher, control = parts.requester, parts.fetcher, parts.control
        beats = requester.beats
        owner = beats.payload.user[self.params.reads.user_bits :]
        of_work = owner != DESCRIPTORS if self.params.descriptors else Const(1)
        connect(m, fetcher.requested, requester.requests)
        connect(m, beats, fetcher.answers)
        with m.If(control.halt):
            m.d.comb += beats.ready.eq(1)  # beats of a stopped request are dropped
        self.write_host(m)
        m.d.comb += [
            control.failure.eq(
                Mux(beats.valid & beats.ready & of_work, beats.payload.cause, Cause.NONE)
            ),
            control.idle.eq(requester.idle & ~self.read_card(m)),
            requester.forget.eq(control.halt),
        ]
        if not self.params.over_pcie:
            m.d.comb += [
                control.visible.eq(requester.visible),
                requester.limit.eq(fetcher.read_limit),
                fetcher.limit.eq(WHOLE),
            ]

    def write_host(self, m: Module) -> None:
        """Let the requester write rows, if the build posts them, and completions behind them."""
        parts = m.submodules
        requester, control, output = parts.requester, parts.control, parts.output
        if not self.params.to_host:
            connect(m, control.writes, requester.writes)
            connect(m, control.data, requester.data)
            return
        m.d.comb += [output.size.eq(control.size), requester.limits.payload.eq(self.payload_limit)]
        # A completion is written when all rows have left, and would wait for them.
        for rows, completion, to in (
            (output.writes, control.writes, requester.writes),
            (output.posts, control.data, requester.data),
        ):
            m.d.comb += [
                Value.cast(to.payload).eq(
                    Mux(rows.valid, Value.cast(rows.payload), Value.cast(completion.payload))
                ),
                to.valid.eq(rows.valid | completion.valid),
                rows.ready.eq(to.ready),
                completion.ready.eq(to.ready & ~rows.valid),
            ]

    def obey_block(self, m: Module, registers: RegisterBlock, timer: BusTimer) -> None:
        """Connect the block for PCI Express, whose function's reset ends all work requests."""
        parts, status = m.submodules, registers.status
        reset, requester, control = parts.reset, parts.requester, parts.control
        completer, counters = parts.completer, parts.counters
        starts = rc_user(self.params.data_bits)(self.rc.tuser).starts
        comes = self.rc.tvalid & self.rc.tready
        connect(m, requester.rq, flipped(self.rq))
        connect(m, flipped(self.rc), requester.rc)
        connect(m, flipped(self.function), reset.function)
        with m.If(registers.control.submit):
            m.d.sync += status.was_reset.eq(status.was_reset & reset.stop)
        with m.If(reset.begins | control.forgotten):
            m.d.sync += status.was_reset.eq(1)
        m.d.comb += [
            # Of what is written, completions alone have a user bit.
            control.visible.eq(requester.visible.valid & requester.visible.user.any()),
            requester.stop.eq(control.halt | reset.stop),
            requester.numbers.eq(self.numbers),
            requester.limits.read.eq(parts.fetcher.read_limit),
            requester.credits.eq(self.credits),
            requester.share.eq(registers.control.share),
            requester.tick.eq(timer.tick),
            reset.tick.eq(timer.tick),
            completer.tick.eq(timer.tick),
            parts.fetcher.limit.eq(self.limit),
            status.reads_owed.eq(requester.owes),
            status.registers_silent.eq(completer.broken),
            counters.starts.eq(starts & comes.replicate(len(starts))),
            counters.accesses.eq(completer.events),
            control.reset.eq(reset.stop),
            control.cleared.eq(reset.clear),
            requester.clear_writes.eq(reset.clear),
            reset.idle.eq(requester.idle),
            reset.owes.eq(requester.writes_owe | ~control.empty),
        ]

    def fetch_work(self, m: Module, registers: RegisterBlock) -> None:
        """Let work requests come from registers, and from a ring if there is to be one."""
        parts, provided, status = m.submodules, registers.control, registers.status
        sources, control = parts.sources, parts.control
        connect(m, sources.work, control.work)
        if not self.params.descriptors:
            m.d.comb += control.more.eq(sources.waits)
            return
        m.submodules.fetch = fetch = WorkFetch(self.params)
        set_ring(m, fetch.ring, provided, "request_ring", provided.request_producer)
        connect(m, fetch.requests, parts.fetcher.descriptor_requested)
        connect(m, parts.fetcher.descriptor_beats, fetch.beats)
        connect(m, fetch.work, sources.fetched)
        m.d.comb += [
            control.more.eq(sources.waits | fetch.owes),
            control.awaited.eq(fetch.awaited),
            fetch.close.eq(control.stopping | (parts.reset.stop if self.params.over_pcie else 0)),
            fetch.flush.eq(control.halt),
            parts.counters.ring.eq(fetch.events),
            status.request_ring_busy.eq(fetch.busy),
            status.request_ring_fault.eq(fetch.fault),
            status.request_ring_cause.eq(fetch.cause),
            status.request_consumer.eq(fetch.consumer),
        ]

    def read_card(self, m: Module) -> Value:
        """Add the reader of idxs in device memory, if the build has one; return its ``busy``."""
        if not self.params.card_idxs:
            return Const(0)
        m.submodules.card_reader = reader = CardReader(self.params)
        fetcher = m.submodules.fetcher
        connect(m, fetcher.card_requested, reader.requests)
        connect(m, reader.beats, fetcher.card_beats)
        lead_out(m, reader.m_axi, getattr(self, self.params.device_port))
        return reader.busy

    def watch(self, m: Module, provided: Any) -> tuple[BusTimer, Any]:
        """Add the time-out of the buses to device memory; return the timer and the state."""
        m.submodules.timer = timer = BusTimer.sized()
        parts, bus = m.submodules, Signal(BUS)
        users = [parts.output, *([parts.card_reader] if self.params.card_idxs else [])]
        users += [] if self.params.over_pcie else [parts.requester]
        any_of(m, bus, [user.bus for user in users])
        for user in users:
            m.d.comb += [
                user.watch.tick.eq(timer.tick),
                user.watch.revive.eq(provided.revive_buses),
            ]
        return timer, bus

    def move_rows(self, m: Module) -> None:
        """Connect the path of the rows, from idxs to device memory or the stream."""
        parts = m.submodules
        control, fetcher, output = parts.control, parts.fetcher, parts.output
        connect(m, control.arrays, fetcher.arrays)
        connect(m, fetcher.rows, output.rows)
        if self.params.to_memory:
            lead_out(m, output.m_axi, getattr(self, self.params.device_port))
        if self.params.to_stream:
            connect(m, output.m_axis, flipped(self.m_axis))
        m.d.comb += [
            control.idx_failed.eq(fetcher.idx_failed),
            control.read.eq(fetcher.read),
            control.written.eq(output.done),
            control.write_failed.eq(output.failed),
            fetcher.table.eq(control.table),
            fetcher.joined.eq(~control.streamed),
            fetcher.first.eq(
                Mux(
                    control.streamed | control.posted,
                    0,
                    control.destination[: self.params.beat_bits],
                )
            ),
            output.halt.eq(control.halt),
            output.streamed.eq(control.streamed),
            output.posted.eq(control.posted),
            output.address.eq(control.destination),
            output.begin.eq(control.begin),
        ]

    def interrupt(self, m: Module, registers: RegisterBlock) -> None:
        """Request an interrupt for each completion, and when a ring stops."""
        m.submodules.interrupts = sender = InterruptSender.sized()
        parts, stop = m.submodules, m.submodules.reset.stop
        ring = parts.counters.ring
        m.d.comb += [
            sender.demands.eq(parts.control.reported | ring.unread | ring.fault),
            sender.enable.eq(self.msix_enable & ~stop),
            sender.clear.eq(stop),
            self.msix_vector.eq(sender.vector),
            self.msix_send.eq(sender.send),
            sender.sent.eq(self.msix_sent),
            sender.failed.eq(self.msix_failed),
            parts.counters.interrupt_late.eq(sender.late),
            registers.status.interrupts_silent.eq(sender.silent),
        ]

    def settle(self, m: Module, registers: RegisterBlock) -> BusTimer:
        """Connect the registers' fields to the parts that they set or show; return the timer."""
        parts, provided, status = m.submodules, registers.control, registers.status
        control, submitted = parts.control, parts.sources.submitted
        timer, bus = self.watch(m, provided)

        def set_by(name: str) -> Value:
            whole = f"{name}_low" in provided.shape().members
            return (
                Cat(provided[f"{name}_low"], provided[f"{name}_high"]) if whole else provided[name]
            )

        m.d.comb += [
            *(submitted.payload[name].eq(set_by(name)) for name, _ in WORK if name != "malformed"),
            submitted.valid.eq(provided.submit),
            parts.fetcher.most.eq(provided.most_reads),
            control.stop.eq(provided.stop),
            timer.limit.eq(provided.memory_timeout),
            status.stream_silent.eq(parts.output.silent),
            status.busy.eq(control.busy),
            status.queue_full.eq(~submitted.ready),
            status.stopping.eq(control.stopping),
            *(status[f"device_{name}"].eq(bus[name]) for name in ("broken", "silent", "owes")),
            parts.counters.dropped.eq(bus.dropped),
            *(status[name].eq(value) for name, value in constants(self.params).items()),
        ]
        with m.If(provided.submit):
            m.d.sync += status.refused.eq(~submitted.ready)
        return timer

    def report(self, m: Module, registers: RegisterBlock) -> None:
        """Connect the counters to the events that they count."""
        parts, provided = m.submodules, registers.control
        counters, requester, fetcher = parts.counters, parts.requester, parts.fetcher
        beats = requester.beats
        moves = beats.valid & beats.ready
        m.d.comb += [
            counters.clear.eq(provided.clear_counters),
            counters.select.eq(provided.engine_counter),
            registers.status.engine_count.eq(counters.value),
            counters.busy.eq(parts.control.busy),
            counters.reported.eq(parts.control.reported),
            counters.forgotten.eq(parts.control.forgotten),
            counters.row.eq(fetcher.read),
            counters.reads.eq(requester.events),
            counters.bytes.eq(beats.payload.bytes & moves.replicate(7)),
            counters.under_way.eq(fetcher.under_way),
            counters.idx_waits.eq(fetcher.idx_waits & parts.control.busy),
            counters.outputs.eq(parts.output.events),
        ]
