"""Describes the sizes of a SNIC and of its parts."""

from dataclasses import field

from amaranth.lib import data

from hdl.common.params import Params, choice, same_as, whole
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.concat.deconcatenator_params import DeconcatenatorParams
from hdl.netsparse.host.params import HostParams
from hdl.netsparse.idx_filter.params import FilterCacheParams
from hdl.netsparse.limits import MAX_UNITS
from hdl.netsparse.protocol import MAX_PROPERTY_BYTES
from hdl.netsparse.queue.params import ENTRY
from hdl.netsparse.rig.params import COMPLETION, RigParams

HOST_BUSES = ("axi", "pcie")


class SnicParams(Params):
    """Sets the sizes of a SNIC with NetSparse (figure 4, table 5)."""

    #: RIG units; clients and servers are chosen at run time
    units: int = whole(1, MAX_UNITS, default=32)
    rig: RigParams = field(default_factory=RigParams)
    #: most bytes of a packet, headers included
    mtu: int = same_as(DeconcatenatorParams, "mtu", default=1500)
    #: largest DelayCycles of a concatenator
    most_delay: int = same_as(ConcatenatorParams, "most_delay", default=1023)
    pool: int = 0  #: lines of 128 bytes in a class's virtual queues; 0: a queue per destination
    #: most destinations that have a virtual queue at a time
    destinations: int = same_as(ConcatenatorParams, "destinations", default=32)
    #: packets of each class, of MTU size, that the receiver holds
    receive_packets: int = same_as(DeconcatenatorParams, "buffer_packets", default=8)
    #: banks of the idx filter's cache
    filter_banks: int = same_as(FilterCacheParams, "banks", default=16)
    #: bytes of a unit's filter cache (paper's L1)
    filter_unit_bytes: int = same_as(FilterCacheParams, "unit_bytes", default=32768)
    filter_cache_bytes: int = 16777216  #: bytes of all banks together (paper's LLC); there is no L2
    filter_ways: int = same_as(FilterCacheParams, "ways", default=4)  #: ways of the idx filter
    dram_address_bits: int = 37  #: width of a byte address of SNIC memory
    #: most line requests in flight to host memory, each way
    host_requests: int = same_as(HostParams, "outstanding", default=128)
    #: path to host memory: AXI to a bridge, or the streams of the PCIe block
    host_bus: str = choice(*HOST_BUSES, default="axi")

    def __post_init__(self) -> None:
        super().__post_init__()
        for _ in (
            self.host,
            self.filter,
            *(self.concatenator(payload) for payload in (False, True)),
            *(self.deconcatenator(payload) for payload in (False, True)),
        ):
            pass  # each checks its own sizes

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: the units, and the sizes in which presets differ."""
        form = f"v{self.pool}" if self.pool else "full"
        path = f"_{self.host_bus}" * self.over_pcie
        return f"{self.units}x{self.rig.suffix}_{form}{path}"

    @property
    def over_pcie(self) -> bool:
        """Return whether host memory is reached through the streams of a block for PCI Express."""
        return self.host_bus == "pcie"

    @property
    def host(self) -> HostParams:
        """Return the sizes of reader and writer of host memory, for the units and the rings."""
        return HostParams(
            units=self.units + 1,
            address_bits=self.rig.address_bits,
            max_bytes=MAX_PROPERTY_BYTES,
            outstanding=self.host_requests,
        )

    @property
    def filter(self) -> FilterCacheParams:
        """Return the sizes of the idx filter."""
        return FilterCacheParams(
            units=self.units,
            banks=self.filter_banks,
            cache_bytes=self.filter_cache_bytes,
            ways=self.filter_ways,
            unit_bytes=self.filter_unit_bytes,
            idx_bits=self.rig.idx_bits,
            address_bits=self.dram_address_bits,
            slots=self.rig.lsq_entries,
        )

    def concatenator(self, payload: bool) -> ConcatenatorParams:
        """Return the sizes of the part for responses and errors, or of that for reads."""
        return ConcatenatorParams(
            payload=payload,
            nodes=self.rig.nodes,
            mtu=self.mtu,
            most_property_bytes=self.rig.most_property_bytes,
            most_delay=self.most_delay,
            pool=self.pool,
            destinations=self.destinations,
        )

    def deconcatenator(self, payload: bool) -> DeconcatenatorParams:
        """Return the sizes of the part for responses and errors, or of that for reads."""
        return DeconcatenatorParams(
            payload=payload,
            nodes=self.rig.nodes,
            mtu=self.mtu,
            most_property_bytes=self.rig.most_property_bytes,
            buffer_packets=self.receive_packets,
        )

    @property
    def completed(self) -> data.StructLayout:
        """Describe the end of a command, and the unit that carried it out, or ``NO_UNIT``."""
        return data.StructLayout({"unit": ENTRY["unit"].width, "completion": COMPLETION})
