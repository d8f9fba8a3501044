"""Says by how much a system runs faster in parts, whatever else this machine does."""

from collections.abc import Sequence

from sim.bench.limits import Limit, Row


def speed_up_row(
    what: str, alone: float, used: Sequence[float], *, limit: Limit | None = None, note: str = ""
) -> Row:
    """Return the speed-up on two free cores, by CPU seconds: of the whole, and of each part.

    No part runs on two cores, so the longest one limits it.
    """
    seconds = (
        f"by CPU seconds: {alone:.1f} of the whole, {sum(used):.1f} of all parts, at most"
        f" {max(used):.1f} of one"
    )
    return Row(
        what=f"speed-up on two cores, {what}",
        value=alone / max(sum(used) / 2, *used),
        limit=limit,
        note=f"{seconds}; {note}" if note else seconds,
    )
