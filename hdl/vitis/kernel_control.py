"""Implements the registers of a Vitis kernel, and what they set and count."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import count_ones
from hdl.common.axi import AxiLiteSignature
from hdl.common.bus_watch import BusTimer
from hdl.common.component import Component
from hdl.common.read_plan import COUNT_BITS
from hdl.common.register_block import RegisterBlock
from hdl.vitis.base_address import ADDRESS_BITS, PAGE_BITS
from hdl.vitis.kernel_registers import (
    ADDRESS_BITS as REGISTER_BITS,
)
from hdl.vitis.kernel_registers import (
    DROPPED_BITS,
    IDENTITY,
    VERSION,
    KernelParams,
    kernel_registers,
)
from hdl.vitis.memory_mover import TRANSFER

BUSY = ("design_busy", "copy_busy")
#: ports from a MemoryMover, whose names are those of fields
STATES = {
    **{f"copy_{name}": In(1) for name in ("busy", "done", "broken")},
    **{f"failed_{name}": In(COUNT_BITS) for name in ("beats", "bursts")},
}
#: ports of copies of the model
COPIES = {"load": Out(1), "store": Out(1), "transfer": Out(TRANSFER), "tick": Out(1), **STATES}


class KernelControl(Component):
    """Shows the host a kernel (:func:`kernel_registers`), through ``axil``.

    ``pages`` are the pointers of the managers in units of 4 KB. They follow the registers, a cycle
    later, while neither the design (``design_busy``, if it has that) nor a copy (``copy_busy``) is
    busy, and stay as they are otherwise. With ``params.copies``, ``load`` to ``tick`` go to a
    :class:`MemoryMover`, whose state comes back. ``irq`` is a register: it is high while the host
    has enabled it and both are idle, or ``design_irq`` is high. ``dropped`` has a bit for each
    entry that has dropped a packet.
    """

    register_map = staticmethod(kernel_registers)

    def __init__(self, params: KernelParams) -> None:
        self.registers = kernel_registers(params)
        super().__init__(
            params,
            axil=In(AxiLiteSignature(address_bits=REGISTER_BITS)),
            pages=Out(ADDRESS_BITS - PAGE_BITS).array(len(params.managers)),
            **({"dropped": In(params.entries)} if params.entries else {}),
            **({f"design_{params.interrupt}": In(1), "irq": Out(1)} if params.requests else {}),
            **(COPIES if params.copies else {}),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.registers = registers = RegisterBlock(self.registers)
        connect(m, flipped(self.axil), registers.axil)
        control, status = registers.control, registers.status
        idle = Signal()
        m.d.comb += [
            idle.eq(~Cat(getattr(self, n) for n in BUSY if n in self.signature.members).any()),
            status.kernel.eq(IDENTITY),
            status.kernel_version.eq(VERSION),
        ]
        if params.requests:
            request = self.design_irq if params.interrupt == "irq" else idle
            m.d.comb += status.interrupt_request.eq(request)
            m.d.sync += self.irq.eq(request & control.interrupt_enable)
        if params.copies:
            self.control_copies(m, control, status)
        if params.entries:
            count = Signal(DROPPED_BITS)
            more = count + count_ones(list(self.dropped))
            m.d.comb += status.dropped_packets.eq(count)
            m.d.sync += count.eq(Mux(control.clear_dropped, 0, more)[:DROPPED_BITS])
        for k, (name, page) in enumerate(zip(params.managers, self.pages, strict=True)):
            pointer = Cat(control[f"pointer_{name}_low"], control[f"pointer_{name}_high"])
            m.d.comb += status.misaligned[k].eq(pointer[:PAGE_BITS].any())
            with m.If(idle):
                m.d.sync += page.eq(pointer[PAGE_BITS:])

    def control_copies(self, m: Module, control: Any, status: Any) -> None:
        """Connect the registers of copies of the model."""
        m.submodules.timer = timer = BusTimer.sized()
        m.d.comb += [
            *(status[name].eq(getattr(self, name)) for name in STATES),
            self.load.eq(control.load_model),
            self.store.eq(control.store_model),
            self.transfer.offset.eq(control.copy_offset),
            self.transfer.beats.eq(control.copy_beats),
            timer.limit.eq(control.memory_timeout),
            self.tick.eq(timer.tick),
        ]
