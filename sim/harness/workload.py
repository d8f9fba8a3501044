"""Describes what a run is asked to do: a frozen dataclass whose fields have limits and help.

Everything else that knows a setting takes it from there: the options of a command, the settings of
a sweep, the JSON of a result, and the table of a report.
"""

from collections.abc import Collection, Sequence
from dataclasses import Field, dataclass, field, fields
from enum import Enum
from typing import Any


def setting(
    default: Any,
    text: str,
    *,
    least: float | None = None,
    most: float | None = None,
    off: str | None = None,
    metavar: str | None = None,
    options: Sequence[str] = (),
    shown: str | None = None,
) -> Any:
    """Make a field of a workload: its default, and a sentence ``text`` that says what it is.

    A value other than None must be from ``least`` to ``most``. On the command line a field ``name``
    is the option ``--name``, and one that is true unless told otherwise is ``--no-name``, of which
    ``off`` says what it does; ``options`` are further spellings of it. ``metavar`` stands for the
    value in the help, ``shown`` for a default that cannot be written.
    """
    about = {
        "help": text,
        "least": least,
        "most": most,
        "off": off,
        "metavar": metavar,
        "options": tuple(options),
        "shown": shown,
    }
    return field(default=default, metadata=about)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Is the base of all workloads: it checks the limits of its fields.

    Raises ValueError for a value beyond them. A workload whose fields depend on each other extends
    ``__post_init__``.
    """

    def __post_init__(self) -> None:
        for item in fields(self):
            check_limits(item, getattr(self, item.name))

    @property
    def idle(self) -> Collection[str]:
        """Return the names of the fields that have no effect, whatever they are, beside others."""
        return ()

    def as_json(self) -> dict[str, Any]:
        """Return the value of each field, fit for JSON; None for one that has no effect."""
        idle = self.idle
        return {
            item.name: None if item.name in idle else plain(getattr(self, item.name))
            for item in fields(self)
        }


def check_limits(item: Field[Any], value: Any) -> None:
    """Raise ValueError unless ``value`` is within the limits of the field ``item``."""
    least, most = item.metadata.get("least"), item.metadata.get("most")
    if value is None or ((least is None or value >= least) and (most is None or value <= most)):
        return
    limits = f"at least {least}" if most is None else f"from {least} to {most}"
    raise ValueError(f"{item.name} must be {limits}: {value}")


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    return value.value if isinstance(value, Enum) else value
