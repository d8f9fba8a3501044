"""Drives hardware by parts that others wrote: cocotbext-pcie's root complex and AMD's block."""

import logging
from dataclasses import dataclass
from typing import Any

from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_steps
from cocotbext.axi import AxiResp, MemoryRegion
from cocotbext.axi.stream import define_stream
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

HEARD = ("cocotb.regression", "cocotb.test")  #: logs that say which test runs and how it ends
FAR = 1 << 40  #: address of memory that is placed as it is
Bus, *_ = define_stream("Pcie", signals=["tvalid", "tready", "tdata", "tkeep", "tlast", "tuser"])


class Numbers:
    """Splits the block's word of packet numbers into the two pairs of wires of the model."""

    def __init__(self, port):
        self.port, self.bits = port, 0
        port.value = 0

    def wires(self):
        """Return the wires as options of the model."""
        size = len(self.port) // 2
        return {
            f"pcie_rq_seq_num{name}{k}": Wire(self, k * size + at, width)
            for k in range(2)
            for name, at, width in (("_vld", 0, 1), ("", 1, size - 1))
        }


class Wire:
    """Is a range of bits of :class:`Numbers`."""

    def __init__(self, numbers, at, width):
        self.numbers, self.at, self.width = numbers, at, width

    def __len__(self):
        return self.width

    def setimmediatevalue(self, value):
        self.value = value

    @property
    def value(self):
        return self.numbers.bits >> self.at & (1 << self.width) - 1

    @value.setter
    def value(self, value):
        others = self.numbers.bits & ~((1 << self.width) - 1 << self.at)
        if (bits := others | int(value) << self.at) != self.numbers.bits:
            self.numbers.bits = self.numbers.port.value = bits


class Block(UltraScalePlusPcieDevice):
    """Is AMD's block, of which nothing looks in each cycle at wires that are not connected."""

    def __init__(self, **options):
        if not any(name.startswith("cfg_") for name in options):
            self._run_cfg_status_logic = self._run_cfg_ctrl_logic = nothing
            self._run_cfg_int_logic = nothing
        super().__init__(**options)


async def nothing():
    """Do nothing."""


class HostModel:
    """Puts the hardware under test into a slot of ``root``, by its ports RQ and RC, or CQ and CC.

    A ``roomy`` host gives credits for requests without an end. Hardware ``beside`` another is in
    the next slot of the same host, which finds both when the other begins.
    """

    def __init__(self, dut, *interfaces, bars=(), roomy=False, beside=None, **options):
        self.dut, self.beside = dut, beside
        if hasattr(dut, "numbers"):
            self.numbers = Numbers(dut.numbers)
            options |= self.numbers.wires()
        wide = len(getattr(dut, f"{interfaces[0]}_tdata")) == 512
        self.device = Block(
            pcie_generation=3,
            pcie_link_width=16 if wide else 8,
            user_clk_frequency=250e6,
            rc_straddle="rc" in interfaces,
            rc_4tlp_straddle="rc" in interfaces and wide,
            enable_extended_tag=True,
            user_clk=dut.clk,
            user_reset=dut.rst,
            **{f"{name}_bus": Bus.from_prefix(dut, name) for name in interfaces},
            **options,
        )
        for bar, size in bars:
            self.device.functions[0].configure_bar(bar, size)
        self.root = beside.root if beside else RootComplex()
        for name in logging.root.manager.loggerDict:
            if name.startswith("cocotb.") and name not in HEARD:
                logging.getLogger(name).setLevel(logging.ERROR)
        self.slot = self.root.make_port()
        if roomy:
            state = self.slot.downstream_port.fc_state[0]
            for credits in (state.ph, state.pd, state.nph):
                credits.rx_initial_allocation = credits.rx_credits_allocated = 0
        self.slot.connect(self.device)

    def memory(self, content: bytes | MemoryRegion) -> tuple[Any, int]:
        """Return a part of the host's memory, and its address.

        Bytes are its contents, below 2 GB. What is memory already can be of any size, and lies
        where all addresses have more than 32 bits.
        """
        if isinstance(content, MemoryRegion):
            self.root.mem_address_space.register_region(content, FAR)
            return content, FAR
        region = self.root.mem_pool.alloc_region(len(content))
        region.mem[:] = content
        address: Any = region.get_absolute_address(0)
        return region, address

    async def begin(self, read_size=2, payload=1):
        """Wait for the block, let the host find the card, and return it as the host sees it.

        ``read_size`` and ``payload`` are codes of the largest ones: 128 bytes << code; a card
        beside another has those of that.
        """
        if not self.beside:
            root = self.root
            root.max_read_request_size, root.max_payload_size_supported = read_size, payload
            root.max_payload_size = payload  # of what the root complex sends
            await RisingEdge(self.dut.rst)
            while self.dut.rst.value:
                await RisingEdge(self.dut.clk)
            await root.enumerate()
        result: Any = self.root.find_device(self.device.functions[0].pcie_id)
        await result.enable_device()
        await result.set_master()
        return result

    def move_away(self, path):
        """Let packets take ``path`` seconds through the link from now on; none may be inside."""
        ports: list[Any] = [self.slot.downstream_port, self.device.upstream_port]
        for port in ports:
            port.link_delay_steps = get_sim_steps(path, "sec")


@dataclass
class BarAnswer:
    """Holds what came of an access, as :class:`sim.harness.register_driver.RegisterDriver` has it.

    What the host's root complex does not take raises an error by itself.
    """

    data: bytes = b""
    resp: AxiResp = AxiResp.OKAY


class BarMaster:
    """Writes and reads registers behind a BAR, by the window through which the host sees it."""

    def __init__(self, window: Any) -> None:
        self.window = window

    async def write(self, address: int, data: bytes) -> BarAnswer:
        """Write a register."""
        await self.window.write(address, data)
        return BarAnswer()

    async def read(self, address: int, length: int) -> BarAnswer:
        """Read a register, or two."""
        return BarAnswer(await self.window.read(address, length))
