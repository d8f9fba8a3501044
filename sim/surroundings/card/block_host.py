"""Attaches a root complex and a block that others wrote to the bare block of a simulated card."""

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.pcie.core.caps import PciCapId

from hdl.u280.pcie_block_ip import BAR_BITS, STREAMS, TO_BLOCK
from sim.surroundings.pcie_host import BarMaster, HostModel

REGISTERS = 0  #: the BAR of registers
MAX_PAYLOAD = 1024  #: bytes of a packet's data that the block may have, as the IP is set up
MAX_CREDITS = 15  #: of room for reads at the host, as the block tells: as many or more
DEVICE_CONTROL = 8  #: the register's place in the PCI Express capability (PCI Express 3.1, 7.8.4)
INITIATE_RESET = 1 << 15  #: its bit that resets the function
#: ports by which the model says words of the block
WORDS = (
    *(f"pcie_rq_seq_num{k}" for k in range(2)),
    *(f"pcie_rq_seq_num_vld{k}" for k in range(2)),
    "cfg_max_payload",
    "cfg_max_read_req",
    "cfg_function_status",
)


class BlockSignals:
    """Is the block's IP under the names that :class:`HostModel` looks for.

    What the host drives are the signals ``..._said``, which reach the ports half a cycle later.
    """

    def __init__(self, ip: Any) -> None:
        self.ip = ip
        self.clk, self.rst = ip.core.ahead, ip.core.reset
        self._name = ip._path
        self.names = {}
        for name in STREAMS:
            prefix = f"{'s' if name in TO_BLOCK else 'm'}_axis_{name}"
            for signal in ("tvalid", "tready", "tdata", "tkeep", "tlast", "tuser"):
                said = "_said" if (signal == "tready") == (name in TO_BLOCK) else ""
                self.names[f"{name}_{signal}"] = f"{prefix}_{signal}{said}"

    def __getattr__(self, name: str) -> Any:
        """Return a signal of a stream by our name, or anything else of the IP by its own."""
        return getattr(self.ip, self.names.get(name, name))

    def __dir__(self) -> list[str]:
        return list(self.names)

    def words(self) -> dict[str, Any]:
        """Return the words' signals, as options of the model."""
        return {name: getattr(self.ip, f"{name}_said") for name in WORDS}


class Interrupts:
    """Counts a card's interrupts, and waits for them; ``core`` is the inside of its block."""

    core: Any

    @property
    def messages(self) -> int:
        """Count the interrupts that have come so far."""
        return int(self.core.messages.value)

    async def interrupt(self, since: int, timeout_us: int) -> None:
        """Wait until more than ``since`` interrupts have come."""

        async def come() -> None:
            while self.messages <= since:
                await self.core.messages.value_change

        await with_timeout(come(), timeout_us, "us")


class BlockHost(Interrupts):
    """Is the host of a card with the bare block: its memory, BAR 0, and interrupts.

    Make one before any time has passed, and call :meth:`begin` at once.
    """

    def __init__(self, ip: Any) -> None:
        self.core = ip.core
        self.resets = 0  # that have been carried out
        self.result: Any = None  # the function as the host sees it
        ip.pcie_tfc_nph_av_said.value = MAX_CREDITS  # the model never says it
        self.signals = BlockSignals(ip)
        self.model = HostModel(
            self.signals,
            *STREAMS,
            bars=[(REGISTERS, 1 << BAR_BITS)],
            max_payload_size=MAX_PAYLOAD,
            **self.signals.words(),
        )
        function = self.model.device.functions[0].pcie_cap
        function.function_level_reset_capability = True
        function.initiate_function_level_reset = self.begin_reset

    async def begin(self, read_size: int = 2, payload: int = 1) -> BarMaster:
        """Find the card and switch its interrupts on; return what reaches its registers."""
        self.result = result = await self.model.begin(read_size, payload)
        self.core.enabled.value = 1
        return BarMaster(result.bar_window[REGISTERS])

    async def begin_reset(self) -> None:
        """Do as the block does when the host's write to its configuration resets the function."""
        cocotb.start_soon(self.carry_out_reset())

    async def carry_out_reset(self) -> None:
        """Let the function be no master and send no interrupts, until the card has reset it.

        Its other settings, which a host writes again after a reset, stay as they are.
        """
        ip, function = self.signals.ip, self.model.device.functions[0]
        function.bus_master_enable = False
        self.core.enabled.value = 0
        ip.cfg_flr_in_process_said.value = 1
        while not int(ip.cfg_flr_done.value) & 1:
            await RisingEdge(self.signals.clk)
        ip.cfg_flr_in_process_said.value = 0
        self.resets += 1

    async def reset(self, timeout_us: int) -> None:
        """Reset the function by its control register, wait for the card, and set it up again."""
        before = self.resets
        where = PciCapId.EXP, DEVICE_CONTROL
        control = await self.result.capability_read_word(*where)
        await self.result.capability_write_word(*where, control | INITIATE_RESET)

        async def done() -> None:
            while self.resets == before:
                await RisingEdge(self.signals.clk)

        await with_timeout(done(), timeout_us, "us")
        await self.result.set_master()
        self.core.enabled.value = 1
