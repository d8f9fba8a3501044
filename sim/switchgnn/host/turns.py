"""Describes what a worker sends and gets in a turn, and lays it out in an endpoint's memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.switchgnn.host.build import Build

WORD_BITS = 32  #: width of a word of the bitmap of sums and copies
FEATURE, PARTIAL = "FEATURE", "PARTIAL"
LANE_BYTES = {FEATURE: 2, PARTIAL: 4}


@dataclass(frozen=True, kw_only=True)
class Send:
    """Describes a frame that the worker sends.

    The frame has the feature of vertex ``source``. The switch adds it to the aggregators that are
    named in ``rows`` rows of its lists, from row ``list`` on; the workers at the ports ``copy_to``
    get a copy. A ``partial`` frame has a sum instead, which is added to aggregator ``list`` alone.
    """

    list: int
    rows: int = 0
    source: int = 0
    copy_to: Sequence[int] = ()
    partial: bool = False

    @property
    def kind(self) -> str:
        """Return the name of the frame's kind."""
        return PARTIAL if self.partial else FEATURE


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Describes a turn: the frames in the order in which they leave, and the sums and copies due.

    If one object stands for several turns of a job, its tables are in memory only once.
    """

    sends: Sequence[Send] = ()
    sums: Sequence[int] = ()  #: aggregators whose sums the worker gets
    copies: Mapping[int, int] = field(default_factory=dict)  #: port of each vertex's owner


@dataclass(frozen=True, kw_only=True)
class Placed:
    """Holds the addresses of a turn's payloads, sums and copies, as the hardware uses them."""

    turn: Turn
    features: int
    offsets: NDArray[np.int64]  #: bytes from ``features`` to each payload, then to their end
    sums: int
    copies: int


class Layout:
    """Lays the turns of a job out in memory, behind those of the layout ``after``, if there is one.

    ``placed`` says where the data of each turn are; ``tables`` has the bytes to write to memory, at
    the addresses that the hardware uses; ``ends`` has the first address in each region that is
    free. Raises ValueError for turns that the hardware does not support or has no room for.
    """

    def __init__(self, build: Build, turns: Sequence[Turn], after: Self | None = None) -> None:
        self.build, self.lanes = build, build.fixed["lanes"]
        self.tables: list[tuple[int, bytes]] = []  #: address and bytes of each
        self.placed: list[Placed] = []
        self.ends = {name: build.region(name).address for name in build.regions}
        if after:
            self.ends |= after.ends
        # addresses of tables, and offsets of payloads, by their turn
        self._named: dict[int, tuple[dict[str, int], NDArray[np.int64]]] = {}
        if not turns:
            raise ValueError("a job has at least one turn")
        for turn in turns:
            check_turn(build, turn)
        self.program = self._room("tables", len(turns) * build.records["turn"][0])
        records = b"".join(map(self._record, turns))
        self.tables.append((self.program, records))

    def payloads(self, turn: int, values: ArrayLike) -> bytes:
        """Return the bytes in memory of a turn's payloads ``values`` [frames, lanes]."""
        placed, provided = self.placed[turn], np.asarray(values)
        sends = placed.turn.sends
        if provided.shape != (len(sends), self.lanes) or provided.dtype.kind not in "iu":
            raise ValueError(f"turn {turn} has {len(sends)} payloads of {self.lanes} integers")
        octets, begins = np.zeros(placed.offsets[-1], np.uint8), placed.offsets[:-1]
        partial = np.array([send.partial for send in sends], bool)
        for kind, chosen in ((FEATURE, ~partial), (PARTIAL, partial)):
            lane, numbers = f"<i{LANE_BYTES[kind]}", provided[chosen]
            if (numbers != numbers.astype(lane)).any():
                raise ValueError(f"a {kind} has lanes of {8 * LANE_BYTES[kind]} bits")
            places = begins[chosen, None] + np.arange(self.lanes * LANE_BYTES[kind])
            octets[places] = numbers.astype(lane, order="C").view(np.uint8)
        return octets.tobytes()

    def _record(self, turn: Turn) -> bytes:
        """Reserve memory for all that a turn's record names; return the record."""
        if id(turn) not in self._named:
            self._named[id(turn)] = self._tables_of(turn)
        named, offsets = self._named[id(turn)]
        placed = Placed(
            turn=turn,
            features=self._room("features", int(offsets[-1])),
            offsets=offsets,
            sums=self._room("sums", (1 + max(turn.sums, default=-1)) * 4 * self.lanes),
            copies=self._room("sums", (1 + max(turn.copies, default=-1)) * 2 * self.lanes),
        )
        self.placed.append(placed)
        places = {name: getattr(placed, name) for name in ("features", "sums", "copies")}
        return self.build.record("turn", **named, **places, sends=len(turn.sends))

    def _tables_of(self, turn: Turn) -> tuple[dict[str, int], NDArray[np.int64]]:
        """Note a turn's list, bitmap and sources; return their addresses, and payloads' offsets."""
        sends, sources, end, offsets = b"", {}, 0, []
        for send in turn.sends:
            size = self.build.payload_bytes[send.kind]
            place = -(-end // size)
            offsets.append(place * size)
            end = offsets[-1] + size
            sends += self.build.record(
                "send",
                kind=self.build.kinds[send.kind],
                rows=send.rows,
                list=send.list,
                source=send.source,
                raw=sum(1 << port for port in set(send.copy_to)),
                place=place,
            )
            if not send.partial:
                sources[send.source] = {"own": 1, "place": place}
        sources |= {vertex: {"port": port} for vertex, port in turn.copies.items()}
        known = range(self.build.fixed["copies"])
        table = b"".join(self.build.record("source", **sources.get(s, {})) for s in known)
        tables = {"list": sends, "required": self._expected(turn), "sources": table}
        named = {name: self._write(octets) for name, octets in tables.items()}
        return named, np.array([*offsets, end])

    def _expected(self, turn: Turn) -> bytes:
        """Return the bitmap of the sums, then of the copies, to get; each has whole words."""
        parts = (
            (turn.sums, self.build.fixed["aggregators"]),
            (turn.copies, self.build.fixed["copies"]),
        )
        return b"".join(
            sum(1 << bit for bit in {*bits}).to_bytes(-(-count // WORD_BITS) * 4, "little")
            for bits, count in parts
        )

    def _write(self, octets: bytes) -> int:
        """Reserve memory for a table and note it in ``tables``; return its address."""
        address = self._room("tables", len(octets))
        self.tables.append((address, octets))
        return address

    def _room(self, name: str, size: int) -> int:
        """Reserve ``size`` bytes after all others in a region; return their address."""
        region, address = self.build.region(name), self.ends[name]
        self.ends[name] = address + size + -size % self.build.alignment
        if address + size > region.address + region.size:
            raise ValueError(f"the turns do not fit the {region.size} bytes of memory for {name}")
        return address


def check_turn(build: Build, turn: Turn) -> None:
    """Raise ValueError for a turn that the hardware does not support."""
    fixed, places = build.fixed, build.records["send"][1]
    ports = 1 << build.records["source"][1]["port"][1]
    within("an aggregator of sums", turn.sums, fixed["aggregators"])
    within("a vertex of copies", turn.copies, fixed["copies"])
    within("a port of an owner", turn.copies.values(), ports)
    for send in turn.sends:
        within("list", [send.list], 1 << places["list"][1])
        within("rows", [send.rows], 1 << places["rows"][1])
        within("source", [send.source], 1 << places["source"][1])
        within("a port of copy_to", send.copy_to, ports)
        if send.copy_to and send.source >= fixed["copies"]:
            raise ValueError(f"copied vertices must be below {fixed['copies']}: {send.source}")
        if send.partial and (send.rows or send.source or send.copy_to):
            raise ValueError("a partial sum has neither rows nor a source, and nobody gets a copy")
    if clash := {*turn.copies} & {send.source for send in turn.sends if not send.partial}:
        raise ValueError(f"vertex {min(clash)} is both sent and received")


def within(name: str, numbers: Iterable[int], end: int) -> None:
    """Raise ValueError unless all ``numbers`` are from 0 to below ``end``."""
    wrong = [number for number in numbers if not 0 <= number < end]
    if wrong:
        raise ValueError(f"{name} must be from 0 to {end - 1}: {wrong[0]}")
