"""Says what the host software of SwitchGNN's endpoint is made of, and what it knows of a build."""

from amaranth.lib import data

from gen.base.comments import by_name, meanings
from gen.software.software import Software
from hdl.switchgnn.endpoint.bundles import Cause
from hdl.switchgnn.endpoint.counters import ENDPOINT_COUNTERS
from hdl.switchgnn.endpoint.memory_layouts import (
    ALIGNMENT,
    SendRecord,
    SourceRecord,
    TurnRecord,
)
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.registers import constants, endpoint_registers
from hdl.switchgnn.protocol import Kind, payload_bytes
from hdl.u280.hbm_ip import ADDRESS_BITS, CHANNEL_BITS
from hdl.u280.registers import board_fields
from hdl.u280.switchgnn_endpoint_board import FEATURES, SUMS, TABLES


def software(params: EndpointParams) -> Software:
    """Return the host software of an endpoint with ``params``."""
    records = {"turn": TurnRecord, "send": SendRecord, "source": SourceRecord}
    return Software(
        about="a SwitchGNN endpoint",
        map=endpoint_registers(params),
        main="Endpoint",
        modules=tuple(
            f"switchgnn.host.{name}"
            for name in ("endpoint", "simulated_endpoint", "golden_network")
        ),
        exports={"endpoint": ("Endpoint", "JobFailed"), "turns": ("Send", "Turn")},
        build={
            "fixed": constants(params),
            "alignment": ALIGNMENT,
            "records": {name: record_of(one.as_shape()) for name, one in records.items()},
            "kinds": {kind.name: kind.value for kind in (Kind.FEATURE, Kind.PARTIAL)},
            "payload_bytes": {
                kind.name: payload_bytes(kind, params.lanes)
                for kind in (Kind.FEATURE, Kind.PARTIAL)
            },
            "regions": regions(params.address_bits),
            "causes": by_name(meanings(Cause)),
            "counters": tuple(name for name, _ in ENDPOINT_COUNTERS.counters),
            "board": board_fields(),
        },
        reach="xdma",
        bench="switchgnn_endpoint",
        selftest="switchgnn.host.selftest",
    )


def record_of(shape: data.StructLayout) -> tuple[int, dict[str, tuple[int, int]]]:
    """Return the bytes of a record in memory, and the first bit and bits of each field."""
    places = {str(name): (field.offset, field.width) for name, field in shape}
    return shape.size // 8, places


def regions(address_bits: int) -> dict[str, tuple[int, int, int]]:
    """Return where DMA finds the memory behind each port, its address there, and its bytes.

    Each memory begins where its port of HBM is fastest, and ends where the next one begins.
    """
    starts = [port << CHANNEL_BITS for port in (TABLES, FEATURES, SUMS)] + [1 << ADDRESS_BITS]
    whole = address_bits >= ADDRESS_BITS  # then a port has DMA's addresses, else its own from 0 on
    return {
        name: (begin, begin if whole else 0, min(end - begin, 1 << address_bits))
        for name, begin, end in zip(
            ("tables", "features", "sums"), starts[:-1], starts[1:], strict=True
        )
    }
