"""Attaches a root complex and a block that others wrote to the bare block of a simulated card."""

from typing import Any

from cocotb.triggers import with_timeout

from hdl.u280.pcie_block_ip import BAR_BITS, STREAMS, TO_BLOCK
from sim.surroundings.pcie_host import BarMaster, HostModel

REGISTERS = 0  #: the BAR of registers
MOST_PAYLOAD = 1024  #: bytes of a packet's data that the block may have, as the IP is set up
MOST_CREDITS = 15  #: of room for reads at the host, as the block tells: as many or more
#: ports by which the model says words of the block
WORDS = (
    *(f"pcie_rq_seq_num{k}" for k in range(2)),
    *(f"pcie_rq_seq_num_vld{k}" for k in range(2)),
    "cfg_max_payload",
    "cfg_max_read_req",
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


class BlockHost:
    """Is the host of a card with the bare block: its memory, BAR 0, and interrupts.

    Make one before any time has passed, and call :meth:`begin` at once.
    """

    def __init__(self, ip: Any) -> None:
        self.core = ip.core
        ip.pcie_tfc_nph_av_said.value = MOST_CREDITS  # the model never says it
        self.signals = BlockSignals(ip)
        self.model = HostModel(
            self.signals,
            *STREAMS,
            bars=[(REGISTERS, 1 << BAR_BITS)],
            max_payload_size=MOST_PAYLOAD,
            **self.signals.words(),
        )

    async def begin(self, read_size: int = 2, payload: int = 1) -> BarMaster:
        """Find the card and switch its interrupts on; return what reaches its registers."""
        found = await self.model.begin(read_size, payload)
        self.core.enabled.value = 1
        return BarMaster(found.bar_window[REGISTERS])

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
