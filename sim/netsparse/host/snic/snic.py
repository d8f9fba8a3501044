"""Gathers rows through a SNIC: sets a node up, submits requests, reads rows and counters back."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.host.device import chosen, write_wide
from sim.netsparse.host.snic.request import Request
from sim.netsparse.host.snic.request_runner import ATTEMPTS, RequestRunner, check_requests

MAC_BASE, IP_BASE = 0x0200_0000_0000, 0x0A00_0000  #: of node 0, unless told otherwise
WATCHDOG = 1_000_000  #: clock cycles without progress after which a request is given up
MAX_COUNT = (1 << 32) - 1  #: idxs of a request
MAX_REQUESTS = 1 << 16  #: requests of a gather, which have a tag each


@dataclass(frozen=True, kw_only=True)
class Table:
    """Describes an array of rows in host memory, which all nodes share out.

    The row of idx i lies at ``address`` + i ``row_bytes``. Both are multiples of 4.
    """

    address: int
    row_bytes: int

    def __post_init__(self) -> None:
        if self.address % 4 or self.address < 0:
            raise ValueError(f"address must be a multiple of 4: {self.address}")
        if self.row_bytes % 4 or self.row_bytes < 4:
            raise ValueError(f"row_bytes must be a multiple of 4, at least 4: {self.row_bytes}")


class Snic(RequestRunner):
    """Drives one SNIC, a node of a cluster, on ``device``; :class:`RequestRunner` says on which."""

    _columns = 0

    def set_up(
        self,
        node: int,
        boundaries: Sequence[int],
        *,
        servers: Sequence[int],
        served: Table | None = None,
        filter_address: int = 0,
        mac_base: int = MAC_BASE,
        ip_base: int = IP_BASE,
    ) -> None:
        """Make this ``node``: node k owns idxs boundaries[k] to below boundaries[k + 1].

        Units ``servers`` answer other nodes with rows of ``served``, the others gather.
        ``filter_address`` is where in the SNIC's own memory its filter is. ValueError for what the
        hardware has no room for; no unit may be at work.
        """
        fixed = self.build.fixed
        nodes = len(boundaries) - 1
        if not 1 <= nodes <= fixed["nodes"]:
            raise ValueError(f"there may be 1 to {fixed['nodes']} nodes: {nodes}")
        if not 0 <= node < nodes:
            raise ValueError(f"node must be from 0 to {nodes - 1}: {node}")
        if boundaries[0] or any(a > b for a, b in pairwise(boundaries)):
            raise ValueError("boundaries must begin with 0 and never fall")
        if boundaries[-1] > 1 << fixed["idx_bits"]:
            raise ValueError(f"there may be {1 << fixed['idx_bits']} idxs: {boundaries[-1]}")
        if any(not 0 <= unit < fixed["units"] for unit in servers):
            raise ValueError(f"servers must be units 0 to {fixed['units'] - 1}: {list(servers)}")
        if filter_address % 64:
            raise ValueError(f"filter_address must be a multiple of 64: {filter_address}")
        self.registers.write(node=node, ip_base=ip_base)
        write_wide(self.registers, mac_base=mac_base, filter_address=filter_address)
        write_wide(
            self.registers, first=boundaries[node], end=boundaries[node + 1], columns=boundaries[-1]
        )
        for other in range(fixed["nodes"]):
            write_wide(self.registers, boundary=boundaries[min(other, nodes)])
            self.registers.write(boundary_node=other)
            self.registers.write(write_boundary=1)
        write_wide(self.registers, server_units=sum(1 << unit for unit in set(servers)))
        if served is not None:
            write_wide(self.registers, served_address=served.address)
            self.registers.write(served_bytes=served.row_bytes)
            if self.registers.read("served_illegal"):
                raise ValueError("the hardware cannot serve rows at this address, or so long ones")
        if self.registers.read("filter_illegal"):
            raise ValueError("the filter does not fit the SNIC's memory from filter_address on")
        self._clients = [unit for unit in range(fixed["units"]) if unit not in servers]
        self._columns = boundaries[-1]
        self.clear_filter()

    def gather(
        self,
        idxs: ArrayLike,
        table: Table,
        *,
        idx_address: int,
        batch: int | None = None,
        watchdog: int = WATCHDOG,
        attempts: int = ATTEMPTS,
    ) -> None:
        """Bring the rows of ``idxs`` that other nodes own into ``table`` in host memory.

        The idxs are written from ``idx_address`` on, in 4 bytes each, or 8 where the table has more
        than 2^32 rows, and shared out to all units that gather: a request for each unit, or
        requests of ``batch`` idxs, given to the units in turn (``BatchTuner`` chooses how many).
        Requests that lost a packet are tried again, ``attempts`` times in all.
        :class:`GatherFailed` says why others failed; ValueError for idxs that are not there, a
        ``batch`` that makes no or too many requests, or no ``watchdog``, before anything is
        written.
        """
        expected = np.asarray(idxs)
        if not self._clients:
            raise ValueError("no unit gathers: set_up has not been called, or all units serve")
        if expected.ndim != 1 or not expected.size or expected.dtype.kind not in "iu":
            raise ValueError("idxs must be a list of at least one integer")
        if expected.min() < 0 or expected.max() >= self._columns:
            result = f"{expected.min()} to {expected.max()}"
            raise ValueError(f"idxs must be from 0 to {self._columns - 1}, not {result}")
        if table.row_bytes > self.build.fixed["most_property_bytes"]:
            most = self.build.fixed["most_property_bytes"]
            raise ValueError(f"rows may have {most} bytes: {table.row_bytes}")
        idx_bytes = 4 if self._columns <= 1 << 32 else 8
        if idx_address % idx_bytes or idx_address < 0:
            raise ValueError(f"idx_address must be a multiple of {idx_bytes}: {idx_address}")
        end = max(
            idx_address + expected.size * idx_bytes, table.address + self._columns * table.row_bytes
        )
        if end > 1 << self.build.address_bits:
            raise ValueError(f"host memory has addresses of {self.build.address_bits} bits")
        parts = parts_of(expected.size, len(self._clients), batch)
        requests = [
            Request(
                unit=self._clients[tag % len(self._clients)],
                tag=tag,
                idx_address=idx_address + part.start * idx_bytes,
                count=len(part),
                wide=idx_bytes == 8,
                property_address=table.address,
                property_bytes=table.row_bytes,
                watchdog=watchdog,
            )
            for tag, part in enumerate(parts)
        ]
        check_requests(requests)
        self.device.write_memory(idx_address, expected.astype(f"<u{idx_bytes}").tobytes())
        self.complete(requests, attempts)

    def rows(self, idxs: ArrayLike, table: Table) -> NDArray[np.uint8]:
        """Return the rows of ``idxs`` [n, row_bytes] as they lie in host memory."""
        result = [
            self.device.read_memory(table.address + int(idx) * table.row_bytes, table.row_bytes)
            for idx in np.asarray(idxs).ravel()
        ]
        return np.frombuffer(b"".join(result), dtype=np.uint8).reshape(-1, table.row_bytes)

    def unit_counters(self, unit: int) -> dict[str, int]:
        """Return the counters of a unit by name."""
        return chosen(self.registers, self.build.unit_counters, "unit", counter_unit=unit)

    def clear_counters(self) -> None:
        """Set all counters to zero."""
        self.registers.write(clear_counters=1)

    def counters(self) -> dict[str, int]:
        """Return the counters of the SNIC by name."""
        return chosen(self.registers, self.build.snic_counters, "snic")


def parts_of(count: int, clients: int, batch: int | None) -> list[range]:
    """Return the places of each request's idxs; ValueError for a batch that makes too many."""
    if batch is None:
        each, more = divmod(count, min(clients, count))
        ends = [each * k + min(k, more) for k in range(1, min(clients, count) + 1)]
    elif batch < 1 or -(-count // batch) > MAX_REQUESTS:
        least = -(-count // MAX_REQUESTS)
        raise ValueError(f"batch must be at least {least}, for {MAX_REQUESTS} requests: {batch}")
    else:
        ends = [*range(batch, count, batch), count]
    return [range(first, end) for first, end in pairwise([0, *ends])]
