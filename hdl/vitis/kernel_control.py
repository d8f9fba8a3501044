"""Implements the registers of a Vitis kernel, and what they set and count."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

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


class KernelControl(Component):
    """Shows the host a kernel (:func:`kernel_registers`), through ``axil``.

    ``pages`` are the pointers of the managers in units of 4 KB. They follow the registers, a cycle
    later, while neither the design (``design_busy``) nor a copy (``copy_busy``) is busy, and stay
    as they are otherwise. ``load`` to ``tick`` go to a :class:`MemoryMover`, whose state comes
    back. ``irq`` is a register: it is high while both are idle and the host has enabled it.
    """

    register_map = staticmethod(kernel_registers)

    def __init__(self, params: KernelParams) -> None:
        self.registers = kernel_registers(params)
        super().__init__(
            params,
            {
                "axil": In(AxiLiteSignature(address_bits=REGISTER_BITS)),
                "pages": Out(ADDRESS_BITS - PAGE_BITS).array(len(params.managers)),
                "design_busy": In(1),
                "load": Out(1),
                "store": Out(1),
                "transfer": Out(TRANSFER),
                "tick": Out(1),
                "copy_busy": In(1),
                "copy_done": In(1),
                "copy_broken": In(1),
                "failed_beats": In(COUNT_BITS),
                "failed_bursts": In(COUNT_BITS),
                "dropped": In(1),
                "irq": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.registers = registers = RegisterBlock(self.registers)
        m.submodules.timer = timer = BusTimer.sized()
        connect(m, flipped(self.axil), registers.axil)
        control, status = registers.control, registers.status
        idle = Signal()
        m.d.comb += [
            idle.eq(~(self.design_busy | self.copy_busy)),
            status.kernel.eq(IDENTITY),
            status.kernel_version.eq(VERSION),
            status.interrupt_request.eq(idle),
            *(
                status[name].eq(getattr(self, name))
                for name in (
                    "copy_busy",
                    "copy_done",
                    "copy_broken",
                    "failed_beats",
                    "failed_bursts",
                )
            ),
            self.load.eq(control.load_model),
            self.store.eq(control.store_model),
            self.transfer.offset.eq(control.copy_offset),
            self.transfer.beats.eq(control.copy_beats),
            timer.limit.eq(control.memory_timeout),
            self.tick.eq(timer.tick),
        ]
        count = Signal(DROPPED_BITS)
        m.d.comb += status.dropped_packets.eq(count)
        m.d.sync += [
            self.irq.eq(idle & control.interrupt_enable),
            count.eq(Mux(control.clear_dropped, 0, count + self.dropped)[:DROPPED_BITS]),
        ]
        for k, (name, page) in enumerate(zip(self.params.managers, self.pages, strict=True)):
            pointer = Cat(control[f"pointer_{name}_low"], control[f"pointer_{name}_high"])
            m.d.comb += status.misaligned[k].eq(pointer[:PAGE_BITS].any())
            with m.If(idle):
                m.d.sync += page.eq(pointer[PAGE_BITS:])
        return m
