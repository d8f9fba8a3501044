"""Names the ends of a link at which :mod:`sim.harness.captures` sees its frames."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Tap:
    """Names an AXI4-Stream of a link, at which frames enter it, or leave it ``inbound``.

    ``dropped`` and ``corrupted`` are Verilog of counters of the link: one that is a packet more
    after a packet's last beat says what becomes of it.
    """

    stream: str
    inbound: bool = False
    dropped: str = "32'd0"
    corrupted: str = "32'd0"
