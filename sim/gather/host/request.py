"""Describes work requests of a gather engine, and their completions."""

from dataclasses import dataclass

from sim.gather.host.build import Build

COMPLETION_BYTES = 16
MAX_COUNT, MAX_TAG = (1 << 32) - 1, (1 << 16) - 1
ADDRESS_BITS = 64  #: of host memory


@dataclass(frozen=True, kw_only=True)
class Table:
    """Describes a table in host memory: row i is at ``address`` + i ``stride``.

    Addresses and sizes are in bytes, and may be odd. A ``stride`` of 0 stands for
    ``row_bytes``: the rows lie behind each other.
    """

    address: int
    rows: int
    row_bytes: int
    stride: int = 0

    @property
    def step(self) -> int:
        """Return the bytes from row to row."""
        return self.stride or self.row_bytes


@dataclass(frozen=True, kw_only=True)
class Request:
    """Describes a work request: the rows of ``count`` idxs go to ``destination``, in their order.

    ``idx_address`` is where the idxs are, of ``idx_bytes``, 4 or 8, in host memory, or in device
    memory if they are ``on_card``. ``completion`` is where the engine writes 16 bytes when all is
    done; each request under way has a place of its own. ``streamed`` rows go to the consumer on
    the card, and ``destination``, an address of device memory, is of no use. ``posted`` rows go to
    a bus address, of host memory or of a peer's BAR; the completion is written behind them.
    """

    table: Table
    idx_address: int
    count: int
    completion: int
    destination: int = 0
    idx_bytes: int = 4
    order: str = "MERGED"
    tag: int = 0
    coalesce: bool = False
    on_card: bool = False
    streamed: bool = False
    posted: bool = False

    @property
    def end(self) -> int:
        """Return the address behind the last row."""
        return self.destination + self.count * self.table.row_bytes


FLAGS = ("coalesce", "on_card", "streamed", "posted")


@dataclass(frozen=True)
class Completion:
    """Says what became of a request."""

    tag: int
    outcome: str  #: DONE, or why not everything was done
    cause: str  #: why the first read failed that did, or NONE
    beyond: int  #: rows that are zero, as their idx is not in the table or could not be read
    failed: int  #: other rows of which not everything could be read


def completion_of(octets: bytes, build: Build) -> Completion | None:
    """Return what 16 bytes of host memory tell; None if the request has not ended."""
    number = int.from_bytes(octets, "little")
    says = {name: number >> at & (1 << bits) - 1 for name, (at, bits) in build.completion.items()}
    if not says["done"]:
        return None
    outcome, cause = build.outcomes[says["outcome"]], build.causes[says["cause"]]
    return Completion(says["tag"], outcome, cause, says["beyond"], says["failed"])


def fields_of(request: Request, build: Build) -> dict[str, int]:
    """Return the numbers of a request, by the names that registers and descriptors have for them.

    Rows that are streamed have no destination.
    """
    table = request.table
    return {
        "idx_address": request.idx_address,
        "base": table.address,
        "destination": 0 if request.streamed else request.destination,
        "completion": request.completion,
        "count": request.count,
        "rows": table.rows,
        "row_bytes": table.row_bytes,
        "stride": table.step,
        "tag": request.tag,
        "order": build.orders.index(request.order),
        "wide": int(request.idx_bytes == 8),
        **{name: int(getattr(request, name)) for name in FLAGS},
    }


def check_request(request: Request, build: Build) -> None:
    """Raise ValueError unless the engine carries the request out."""
    table, fixed = request.table, build.fixed
    if request.idx_bytes not in (4, 8):
        raise ValueError(f"idx_bytes must be 4 or 8: {request.idx_bytes}")
    if request.order not in build.orders:
        raise ValueError(f"order must be one of {', '.join(build.orders)}: {request.order}")
    multiple("idx_address", request.idx_address, request.idx_bytes)
    multiple("completion", request.completion, COMPLETION_BYTES)
    within("the table's address", table.address, 0, (1 << ADDRESS_BITS) - 1)
    within("count", request.count, 0, MAX_COUNT)
    within("tag", request.tag, 0, MAX_TAG)
    within("row_bytes", table.row_bytes, 1, build.most_row_bytes)
    within("rows", table.rows, 1, (1 << fixed["idx_bits"]) - 1)
    within("stride", table.step, 0, (1 << fixed["stride_bits"]) - 1)
    check_ends(request, build)


def check_ends(request: Request, build: Build) -> None:
    """Raise ValueError unless idxs and rows are where the build has a way to, and memory."""
    fixed, table = build.fixed, request.table
    room, bus = 1 << fixed["device_address_bits"], 1 << ADDRESS_BITS
    idx_end = request.idx_address + request.count * request.idx_bytes
    if request.on_card:
        if not fixed["card_idxs"]:
            raise ValueError("this build takes no idxs from device memory")
        within("the end of the idxs", idx_end, 0, room)
    if request.streamed and request.posted:
        raise ValueError("rows go to the stream or to a bus address, not to both")
    to, where, most = "to_memory", "device memory", room
    if request.streamed or request.posted:
        to, where = ("to_stream", "the stream") if request.streamed else ("to_host", "the bus")
        most = bus
    if not fixed[to]:
        raise ValueError(f"rows of this build cannot go to {where}")
    if not request.streamed:
        within("the end of the rows", request.end, 0, most)
    within("destination", request.destination, 0, bus)
    last = table.address + (table.rows - 1) * table.step + table.row_bytes
    ends = {"table": last, "idxs": idx_end, "completion": request.completion + COMPLETION_BYTES}
    for name, end in ends.items():
        within(f"the end of the {name}", end, 0, bus)


def multiple(name: str, number: int, size: int) -> None:
    """Raise ValueError unless ``number`` is a multiple of ``size``."""
    if number < 0 or number % size:
        raise ValueError(f"{name} must be a multiple of {size}: {number}")


def within(name: str, number: int, least: int, most: int) -> None:
    """Raise ValueError unless ``number`` is from ``least`` to ``most``."""
    if not least <= number <= most:
        raise ValueError(f"{name} must be from {least} to {most}: {number}")
