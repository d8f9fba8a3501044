"""Says what the host software of a NetSparse switch is made of, and what it knows of the build."""

from gen.guides.netsparse_switch import counter_texts
from gen.guides.netsparse_switch_uses import FAULTS
from gen.software.software import Software
from hdl.netsparse.property_cache.params import SEGMENT_BYTES
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.registers import constants, switch_registers
from hdl.u280.cmac_ip import CAGES
from hdl.u280.registers import board_fields


def software(params: NetSparseSwitchParams) -> Software:
    """Return the host software of a switch with ``params``."""
    ports, pipes = counter_texts()
    names = (*ports, *pipes)
    return Software(
        about="a NetSparse switch",
        map=switch_registers(params),
        main="NetSparseSwitch",
        modules=tuple(
            f"netsparse.host.switch.{name}"
            for name in ("netsparse_switch", "routing", "simulated_nodes")
        ),
        exports={
            "netsparse_switch": ("Fault", "NetSparseSwitch"),
            "routing": ("check_routes", "uplinks_of"),
        },
        build={
            "fixed": constants(params),
            "most_delay": params.most_delay,
            "most_cached_bytes": SEGMENT_BYTES * params.cache.segments if params.pipes else 0,
            "port_counters": {name: plain(what) for name, what in ports.items()},
            "pipe_counters": {name: plain(what) for name, what in pipes.items()},
            "board": board_fields(cages=CAGES, hbm=False, pauses=True),
            "faults": tuple(name for name in names if any(part in name for part in FAULTS)),
        },
        reach="register_window",
        bench="netsparse_switch",
        selftest="netsparse.host.switch.selftest",
    )


def plain(text: str) -> str:
    """Return a text of the guide without its marks."""
    return text.replace("`", "")
