"""Lays a worker's memory out for its endpoint, from what a golden worker is set up with."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn import protocol
from hdl.switchgnn.endpoint.memory_layouts import (
    ALIGNMENT,
    SendRecord,
    SourceRecord,
    TurnRecord,
)
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.protocol import payload_bytes
from sim.harness.payloads import pack
from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.golden.worker_rule import Share, WorkerSetup

Sums = dict[tuple[int, int], NDArray[np.integer]]  #: sums by turn and number
FILL = 0xA5  #: byte of memory that nobody has written


def octets(struct: Any, values: Mapping[str, Any]) -> bytes:
    """Return a record as bytes in memory."""
    return pack(struct, values).to_bytes(struct.as_shape().size // 8, "little")


class Memory:
    """Holds bytes from address ``begin`` on, which grow at their end in aligned pieces."""

    def __init__(self, begin: int = 0) -> None:
        self.begin, self.bytes = begin, bytearray()

    @property
    def end(self) -> int:
        """Return the address behind the last byte."""
        return self.begin + len(self.bytes)

    def add(self, content: bytes) -> int:
        """Add ``content``, and return its address."""
        self.bytes += bytes([FILL]) * (-len(self.bytes) % ALIGNMENT)
        self.bytes += content
        return self.end - len(content)


class WorkerImage:
    """Holds what a worker's two memories hold at first, and where sums and copies will be.

    It stands behind the image ``after``, if there is one. If it is ``compact`` there is no room for
    sums behind the last one that the worker gets, nor for copies of features.
    """

    def __init__(
        self,
        params: EndpointParams,
        setup: WorkerSetup,
        *,
        after: "WorkerImage | None" = None,
        compact: bool = False,
    ) -> None:
        self.params, self.setup, self.compact = params, setup, compact
        self.tables = Memory(after.tables.end if after else 0)
        self.data = Memory(after.data.end if after else 0)
        self.lists, self.features, self.sums, self.copies = [], [], [], []  # addresses, by turn
        records = [self.turn(turn) for turn in range(setup.turns)]
        self.program = self.tables.add(b"".join(octets(TurnRecord, r) for r in records))
        for memory in (self.tables, self.data):
            memory.add(b"")
        self.first = bytes(self.data.bytes)

    def turn(self, turn: int) -> dict[str, int]:
        """Return a turn's record; everything that it names is added to the memories."""
        share, lanes = self.setup.share(turn), self.params.lanes
        payloads, places = self.payloads(self.setup, turn)
        sends, own = b"", {}
        for sent, place in zip(share.sends, places, strict=True):
            kind = protocol.Kind[sent.kind.name]
            sends += octets(SendRecord, sent._asdict() | {"kind": kind, "place": place})
            if sent.kind is Kind.FEATURE:
                own[sent.source] = {"own": 1, "place": place}
        sources = own | {copy.source: {"port": copy.owner} for copy in share.copies}
        count = self.params.copies
        table = b"".join(octets(SourceRecord, sources.get(u, {})) for u in range(count))
        sums, copies = self.params.aggregators, count
        if self.compact:
            sums, copies = 1 + max(share.sums, default=-1), 0
        self.sums.append(self.data.add(bytes([FILL]) * (sums * lanes * 4)))
        self.copies.append(self.data.add(bytes([FILL]) * (copies * lanes * 2)))
        self.lists.append(self.tables.add(sends + bytes(-len(sends) % BEAT_BYTES)))
        self.features.append(self.data.add(payloads))
        return {
            "list": self.lists[-1],
            "features": self.features[-1],
            "sums": self.sums[-1],
            "copies": self.copies[-1],
            "wanted": self.tables.add(self.wanted(share)),
            "sources": self.tables.add(table),
            "sends": len(share.sends),
        }

    def payloads(self, setup: WorkerSetup, turn: int) -> tuple[bytes, list[int]]:
        """Return the payloads of a turn of ``setup`` as in memory, and each frame's place."""
        content, places = bytearray(), []
        for seq, sent in enumerate(setup.share(turn).sends):
            size = payload_bytes(protocol.Kind[sent.kind.name], self.params.lanes)
            content += bytes([FILL]) * (-len(content) % size)
            places.append(len(content) // size)
            lane = "<i2" if sent.kind is Kind.FEATURE else "<i4"
            payload = np.asarray(setup.payload(turn, seq)).astype(lane).tobytes()
            content += payload + bytes([FILL]) * (size - len(payload))
        return bytes(content), places

    def wanted(self, share: Share) -> bytes:
        bits = sum(1 << k for k in share.sums)
        bits |= sum(1 << 32 * self.params.sum_words + copy.source for copy in share.copies)
        size = 4 * self.params.words
        return bits.to_bytes(size + -size % BEAT_BYTES, "little")

    def found(self, memory: bytes) -> tuple[Sums, Sums]:
        """Return sums by turn and aggregator, and copies by turn and source, found in ``memory``.

        All other bytes must be what they were.
        """
        left, lanes = bytearray(memory), self.params.lanes
        sums, copies = {}, {}
        for turn in range(self.setup.turns):
            share = self.setup.share(turn)
            places = [(self.sums, "<i4", item, sums) for item in share.sums]
            places += [(self.copies, "<i2", copy.source, copies) for copy in share.copies]
            for bases, lane, item, kept in places:
                size = lanes * np.dtype(lane).itemsize
                at = bases[turn] + item * size
                kept[turn, item] = np.frombuffer(memory[at : at + size], lane)
                left[at : at + size] = self.first[at : at + size]
        assert left == self.first, "something else was written"
        return sums, copies
