"""Describes the sizes of a SNIC and of its parts."""

from dataclasses import dataclass, field

from amaranth.lib import data

from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.concat.deconcatenator_params import DeconcatenatorParams
from hdl.netsparse.host.params import HostParams
from hdl.netsparse.idx_filter.params import FilterCacheParams
from hdl.netsparse.protocol import MOST_PROPERTY_BYTES
from hdl.netsparse.rig.params import COMPLETION, RigParams

HOST_BUSES = ("axi", "pcie")


@dataclass(frozen=True, kw_only=True)
class SnicParams:
    """Sets the sizes of a SNIC with NetSparse (figure 4, table 5)."""

    units: int = 32  #: RIG units, 1..32; clients and servers are chosen at run time
    rig: RigParams = field(default_factory=RigParams)
    mtu: int = 1500  #: most bytes of a packet, headers included, 594..9216
    most_delay: int = 1023  #: largest DelayCycles of a concatenator, 1..32768
    pool: int = 0  #: lines of 128 bytes in a class's virtual queues; 0: a queue per destination
    destinations: int = 32  #: most destinations that have a virtual queue at a time, 8..256
    receive_packets: int = 8  #: packets of each class, of MTU size, that the receiver holds, 2..64
    filter_banks: int = 16  #: banks of the idx filter's cache, a power of two, 1..64
    filter_unit_bytes: int = 32768  #: bytes of a unit's filter cache (paper's L1): 4, 8, ... 65536
    filter_cache_bytes: int = 16777216  #: bytes of all banks together (paper's LLC); there is no L2
    filter_ways: int = 4  #: ways of the idx filter: 1, 2 or 4
    dram_address_bits: int = 37  #: width of a byte address of SNIC memory
    host_requests: int = 128  #: most line requests in flight to host memory, each way, 4..1024
    host_bus: str = "axi"  #: path to host memory: axi (a bridge), or pcie (the block's streams)

    def __post_init__(self) -> None:
        if not 1 <= self.units <= 32:
            raise ValueError(f"units must be from 1 to 32: {self.units}")
        if self.host_bus not in HOST_BUSES:
            raise ValueError(f"host_bus must be axi or pcie: {self.host_bus!r}")
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
        way = f"_{self.host_bus}" * self.over_pcie
        return f"{self.units}x{self.rig.suffix}_{form}{way}"

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
            most_bytes=MOST_PROPERTY_BYTES,
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
        """Describe the end of a command, and the unit that carried it out (32: none)."""
        return data.StructLayout({"unit": 6, "completion": COMPLETION})
