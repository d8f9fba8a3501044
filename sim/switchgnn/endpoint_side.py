"""Describes the host's side of SwitchGNN's endpoint."""

from collections.abc import Mapping

from amaranth.lib import data

from gen.base.comments import by_name, meanings
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
from hdl.u280.switchgnn_endpoint_board import FEATURES, SUMS, TABLES
from sim.harness.host_side import HostSide
from sim.switchgnn.host.build import Build
from sim.switchgnn.host.endpoint import Endpoint

Regions = Mapping[str, tuple[int, int, int]]  #: as in :class:`Build`


def endpoint_side(params: EndpointParams, regions: Regions | None = None) -> HostSide:
    """Return the host's side of an endpoint with ``params``, by default with a card's regions."""
    records = {"turn": TurnRecord, "send": SendRecord, "source": SourceRecord}
    sent = (Kind.FEATURE, Kind.PARTIAL)
    return HostSide(
        map=endpoint_registers(params),
        main=Endpoint,
        build_type=Build,
        build={
            "fixed": constants(params),
            "alignment": ALIGNMENT,
            "records": {name: record_of(item.as_shape()) for name, item in records.items()},
            "kinds": {kind.name: kind.value for kind in sent},
            "payload_bytes": {kind.name: payload_bytes(kind, params.lanes) for kind in sent},
            "regions": regions or card_regions(params.address_bits),
            "causes": by_name(meanings(Cause)),
            "counters": tuple(name for name, _ in ENDPOINT_COUNTERS.counters),
        },
    )


def record_of(shape: data.StructLayout) -> tuple[int, dict[str, tuple[int, int]]]:
    """Return the bytes of a record in memory, and the first bit and bits of each field."""
    places = {str(name): (field.offset, field.width) for name, field in shape}
    return shape.size // 8, places


def card_regions(address_bits: int) -> dict[str, tuple[int, int, int]]:
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
