"""Sizes that parts of the switch are tested at."""

from hdl.switchgnn.switch.params import GnnSwitchParams


def bank_sizes(*, ports=3, slots=8, lanes=2, style="distributed"):
    """The parameters of a switch whose banks have these sizes, and little else."""
    return GnnSwitchParams(
        ports=ports,
        slots=slots,
        lanes=lanes,
        style=style,
        banks=2,
        jobs=2,
        window=4,
        rows=16,
        descriptor_rows=16,
        tasks=16,
        ingress_depth=64,
        egress_depth=64,
    )


TINY = bank_sizes()
