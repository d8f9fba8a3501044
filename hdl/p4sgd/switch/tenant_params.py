"""The sizes of a switch whose jobs are tenants, and what becomes of their packets."""

from dataclasses import dataclass

from amaranth.lib import enum

from hdl.p4sgd.switch.params import SwitchParams


class TenantVerdict(enum.Enum, shape=5):
    """Says what became of a packet in a switch of tenants.

    To those of :class:`hdl.p4sgd.switch.params.Verdict` two are added.
    """

    NONE = 0
    ADDED = 1
    REPEATED_PARTIAL = 2
    ACKNOWLEDGED = 3
    REPEATED_ACK = 4
    PREVIOUS_ACK = 5
    EARLY = 6
    PREMATURE_ACK = 7
    STALE = 8
    WRONG_SLOT = 9
    WRONG_RUN = 10
    WRONG_WORKER = 11
    WRONG_JOB = 12  #: it is of no registered job, or not of one of this port
    MALFORMED = 13
    FOREIGN = 14
    CORRUPT = 15
    NOT_GRANTED = 16  #: its job is registered and not granted
    DRAINING = 17  #: a partial activation of the next use, of a job that has been released


@dataclass(frozen=True, kw_only=True)
class TenantSwitchParams(SwitchParams):
    """Sizes of a switch that many jobs share, which it grants to some at a time (MINA, "RTL")."""

    tenants = True
    verdict = TenantVerdict

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.jobs < 2:
            raise ValueError(f"jobs must be at least 2 where they are tenants: {self.jobs}")

    @property
    def suffix(self) -> str:
        """Tells every size."""
        return f"{super().suffix}_tenants"
