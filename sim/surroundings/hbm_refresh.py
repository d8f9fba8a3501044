"""Computes in which cycles a port of HBM delivers nothing, because its banks are refreshed."""

import math
from dataclasses import dataclass

from hdl.common.core_clock import CORE_MHZ

#: tREFI: time between refreshes of a pseudo channel, in Ramulator 2's HBM2 and in gem5's
INTERVAL_NS = 3900
#: tRFC: all banks pause. gem5's HBM2 has 220 ns, Ramulator 2's 260 for 4 Gb and 350 for 8 Gb. The
#: longest leaves 13.1 of a port's 14.4 GB/s; Shuhai (FCCM 2020) measures 13.3 on a U280.
PAUSE_NS = 350


@dataclass(frozen=True, kw_only=True)
class Refresh:
    """Describes the refresh of a pseudo channel, of all its banks at once, in a core's cycles.

    That is what HBM's controller does unless set otherwise (EN_SBREF, constraints/ip/hbm.toml). The
    core takes a beat a cycle and HBM delivers one in each of its own, so the queue of the port
    (:class:`HbmPort`) is full when a refresh begins, and hides as many cycles of it. Where two
    ports share a channel (``shared``), each has half of that, which at 225 MHz fills no queue.
    """

    pause_ns: int = PAUSE_NS
    clock_mhz: float = CORE_MHZ  #: clock of the core
    shared: bool = False  #: two ports, with the numbers 2 k and 2 k + 1, are of a channel

    @property
    def interval(self) -> int:
        """Return the cycles from one refresh to the next."""
        return round(INTERVAL_NS * self.clock_mhz / 1000)

    @property
    def pause(self) -> int:
        """Return the cycles of a refresh."""
        return math.ceil(self.pause_ns * self.clock_mhz / 1000)

    @property
    def hidden(self) -> int:
        """Return the cycles of a refresh in which the queue still delivers."""
        from hdl.u280.clock_ip import HBM_MHZ
        from hdl.u280.hbm_port import READ_DEPTH

        faster = max(0.0, HBM_MHZ / self.clock_mhz / (1 + self.shared) - 1)
        filled = int(faster * (self.interval - self.pause))
        return min(READ_DEPTH, filled, self.pause)

    @property
    def delivered(self) -> float:
        """Return the most beats that a port delivers in a cycle on average."""
        return 1 - (self.pause - self.hidden) / self.interval

    @property
    def fields(self) -> dict[str, int]:
        """Return the values for the settings port of a memory; see ``AxiRam``."""
        return {
            "refresh_interval": self.interval,
            "refresh_pause": self.pause,
            "refresh_hidden": self.hidden,
            "refresh_shared": int(self.shared),
        }
