"""Brings AMD's bare block for PCI Express into the clock that it gives."""

from typing import Any

from amaranth.hdl import Const, Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.bus_watch import BusTimer, BusTimerParams
from hdl.pcie.completer import Completer
from hdl.pcie.function_reset import FUNCTION
from hdl.pcie.interrupt_sender import BLOCK_VECTORS, InterruptSender
from hdl.pcie.requester import LIMITS
from hdl.pcie.write_fence import NUMBERS
from hdl.u280 import pcie_ip
from hdl.u280.axi_wires import bus_wires, connect_bus
from hdl.u280.pcie import PINS, Link, PcieParams, RegisterLink
from hdl.u280.pcie_block_ip import (
    BAR_BITS,
    BLOCK,
    DATA_BITS,
    FUNCTIONS,
    MASTER,
    READY_BITS,
    STATUS_BITS,
    STREAMS,
    TIED,
    TO_BLOCK,
)

#: What a requester needs of the block: the largest reads and payloads, room at the host for reads,
#: and which of its packets have got on.
WORDS = {"limits": Out(LIMITS), "credits": Out(4), "numbers": Out(NUMBERS)}
SILENCE = BusTimerParams(bits=12)  #: of a register: given up after 2 to 4 times 4,096 cycles


class PcieBlock(Link):
    """Gives the block's streams RQ, RC, CQ and CC as they are, its words, and its interrupts.

    ``limits``, ``credits`` and ``numbers`` are those of a
    :class:`hdl.pcie.requester.Requester`, ``function`` of a
    :class:`hdl.pcie.function_reset.FunctionReset`, the ports ``msix`` those of an
    :class:`hdl.pcie.interrupt_sender.InterruptSender`. The host can reset the function, and waits
    for ``function.done``.
    """

    vendor_ips = (BLOCK,)
    clock = "ip/user_clk"

    def __init__(self, params: None = None) -> None:
        streams = {
            name: In(stream) if name in TO_BLOCK else Out(stream)
            for name, stream in STREAMS.items()
        }
        msix = {
            "msix_enable": Out(1),
            "msix_vector": In(BLOCK_VECTORS),
            "msix_send": In(1),
            "msix_sent": Out(1),
            "msix_failed": Out(1),
        }
        super().__init__(params, **streams, **WORDS, **msix, function=Out(FUNCTION))

    def build(self, m: Module) -> None:
        enabled, in_process, done = Signal(FUNCTIONS), Signal(FUNCTIONS), Signal(FUNCTIONS)
        status, function = Signal(STATUS_BITS), self.function
        m.submodules.ip = BLOCK.place(
            **self.place_reference(m),
            **self.lanes(),
            sys_reset=self.reset_n,
            user_clk=self.user_clk,
            user_reset=self.user_reset,
            **self.stream_wires(m),
            pcie_tfc_nph_av=self.credits,
            cfg_max_read_req=self.limits.read,
            cfg_max_payload=self.limits.payload,
            **{f"pcie_rq_seq_num{k}": said.number for k, said in enumerate(self.numbers)},
            **{f"pcie_rq_seq_num_vld{k}": said.valid for k, said in enumerate(self.numbers)},
            cfg_flr_in_process=in_process,
            cfg_flr_done=done,
            cfg_function_status=status,
            cfg_interrupt_msi_int=self.msix_vector,
            cfg_interrupt_msix_int=self.msix_send,
            cfg_interrupt_msi_sent=self.msix_sent,
            cfg_interrupt_msi_fail=self.msix_failed,
            cfg_interrupt_msix_enable=enabled,
            **{name: Const(value, bits) for name, (bits, value) in TIED.items()},
        )
        m.d.comb += [
            self.msix_enable.eq(enabled[0]),
            function.in_process.eq(in_process[0]),
            function.master.eq(status[MASTER]),
            done.eq(function.done),
        ]

    def stream_wires(self, m: Module) -> dict[str, Any]:
        """Return the wires of all streams; one of the four equal bits of ``tready`` is used."""
        wires: dict[str, Any] = {}
        for name in STREAMS:
            stream, to_block = getattr(self, name), name in TO_BLOCK
            prefix = f"{'s' if to_block else 'm'}_axis_{name}_"
            wires |= bus_wires(prefix, stream)
            if to_block:
                wires[f"{prefix}tready"] = ready = Signal(READY_BITS, name=f"{name}_ready")
                m.d.comb += stream.tready.eq(ready[0])
        return wires


class PcieStreams(RegisterLink):
    """Offers registers (:class:`RegisterLink`), and RQ and RC of the block for a requester.

    Registers lie behind BAR 0, interrupts are MSI-X vector 0. ``limits``, ``credits`` and
    ``numbers`` are those of a :class:`hdl.pcie.requester.Requester`, ``function`` of a
    :class:`hdl.pcie.function_reset.FunctionReset`; a design without a requester lets ``rq`` be
    silent, and a reset be done at once. A reset forgets an interrupt that has not been sent.
    ``irq_late`` and ``irq_silent`` are the sender's; while it is silent, each request is
    acknowledged at once, so that no requester waits for it.
    """

    domains = ("sync",)
    clock = f"block/{PcieBlock.clock}"

    def __init__(self, params: PcieParams) -> None:
        streams = {"rq": In(STREAMS["rq"]), "rc": Out(STREAMS["rc"])}
        late = {"irq_late": Out(1), "irq_silent": Out(1)}
        super().__init__(params, **streams, **WORDS, **late, function=Out(FUNCTION))
        self.vendor_ips = (*PcieBlock.vendor_ips, self.decoder)

    def build(self, m: Module) -> None:
        m.submodules.block = block = PcieBlock()
        for name, member in PINS.items():
            inside, pin = getattr(block, name), getattr(self, name)
            m.d.comb += inside.eq(pin) if member.flow == In else pin.eq(inside)
        m.d.comb += [
            self.user_clk.eq(block.user_clk),
            self.user_reset.eq(block.user_reset),
            *(getattr(self, name).eq(getattr(block, name)) for name in WORDS),
        ]
        connect(m, flipped(self.rq), block.rq)
        connect(m, block.rc, flipped(self.rc))
        connect(m, block.function, flipped(self.function))
        self.answer(m, block)
        self.interrupt(m, block)

    def answer(self, m: Module, block: PcieBlock) -> None:
        """Answer the host's accesses to registers."""
        registers = pcie_ip.REGISTER_BUS.create(path=("registers",))
        m.submodules.timer = timer = BusTimer(SILENCE)
        m.submodules.completer = completer = Completer.sized(
            data_bits=DATA_BITS, address_bits=BAR_BITS
        )
        connect(m, block.cq, completer.cq)
        connect(m, completer.cc, block.cc)
        connect_bus(m, completer.axil, registers)
        self.decode(m, registers)
        m.d.comb += [timer.limit.eq(Const(-1, SILENCE.bits)), completer.tick.eq(timer.tick)]

    def interrupt(self, m: Module, block: PcieBlock) -> None:
        """Send an interrupt for each request of the core's."""
        m.submodules.interrupts = sender = InterruptSender.sized()
        before, function = Signal(), block.function
        m.d.sync += before.eq(self.irq)
        m.d.comb += [
            sender.demands.eq(self.irq & ~before),
            self.irq_ack.eq(sender.sent | sender.clear | sender.silent),
            self.irq_late.eq(sender.late),
            self.irq_silent.eq(sender.silent),
            sender.enable.eq(block.msix_enable & function.master),
            sender.clear.eq(function.in_process),
            block.msix_vector.eq(sender.vector),
            block.msix_send.eq(sender.send),
            sender.sent.eq(block.msix_sent),
            sender.failed.eq(block.msix_failed),
        ]
