"""Describes the sizes of a switch whose jobs are tenants, and the verdicts on their packets."""

from typing import ClassVar

from amaranth.lib import enum

from hdl.p4sgd.switch.params import SwitchParams


class TenantVerdict(enum.Enum, shape=5):
    """Names the verdicts on packets in a switch of tenants.

    It adds two verdicts of tenants to those of :class:`hdl.p4sgd.switch.params.Verdict`, and, from
    ``FULL`` on, those on packets of the parent, to which the switch behaves like a worker. A job is
    there if it is registered.
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
    WRONG_JOB = 12
    MALFORMED = 13
    FOREIGN = 14
    CORRUPT = 15
    NOT_GRANTED = 16  #: its job is registered but not granted
    DRAINING = 17  #: it is a partial activation of the next use, but its job has been released
    FULL = 18  #: it is the parent's full activation for which the slot waits
    FREED = 19  #: it is the parent's confirmation for which the slot waits
    PENDING = 20  #: it says that the parent has the sum or acknowledgement, and waits for others
    REPEATED = 21  #: it repeats an earlier answer of the parent
    UNASKED = 22  #: it answers a sum or acknowledgement that has not been sent up
    WRONG_WAY = 23  #: a child sent what only a parent may, or the parent what only a child may


class TenantSwitchParams(SwitchParams, suffix=f"{SwitchParams.suffix_form}_tenants"):
    """Sets the sizes of a switch that many jobs share, granted to some at a time (MINA, "RTL")."""

    tenants = True
    verdict = TenantVerdict
    # Tenants' uses end with acknowledgements, so this is no field here.
    shadow: ClassVar[bool] = False  # pyright: ignore[reportIncompatibleVariableOverride]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.jobs < 2:
            raise ValueError(f"jobs must be at least 2 if jobs are tenants: {self.jobs}")
