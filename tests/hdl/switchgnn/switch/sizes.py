"""Has the sizes that parts of the switch are tested at."""

from dataclasses import replace

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS
from hdl.switchgnn.switch.sizes import MEMORY


def bank_sizes(*, ports=3, slots=8, lanes=2, style="distributed"):
    """Return the parameters of a switch whose banks have these sizes, and little else."""
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

#: The switch as a whole, small: with its tables on chip, and, as on the card, in memory behind
#: eight ports and with the upper lanes of its sums in another die, where jobs may take maxima.
ON_CHIP = GnnSwitchParams(**{**PRESETS["tiny"], "ports": 5})
IN_MEMORY = replace(
    ON_CHIP,
    tables=MEMORY,
    rows=1024,
    descriptor_rows=512,
    table_ports=8,
    table_address_bits=12,
    tasks=256,
    slr_stages=2,
    maxima=True,
)
FIVE_PORTS = [ON_CHIP, IN_MEMORY]
