"""Models a SwitchGNN endpoint, its memory and its host, from its programming guide alone."""

from dataclasses import dataclass, field

from tests.gen.guides.gnn_frames_from_the_guide import (
    ACK,
    ADVANCE,
    DONE,
    FEATURE,
    FETCH,
    PARTIAL,
    RAW,
    RAWFETCH,
    RESULT,
    Frame,
    parsed,
    payload_bytes,
    payload_octets,
)

TURN_BYTES, SEND_BYTES, SOURCE_BYTES, ALIGNMENT = 64, 32, 8, 512


@dataclass(frozen=True)
class Send:
    """A frame of a turn: what its record says, and its payload."""

    kind: int
    payload: tuple
    list: int = 0
    rows: int = 0
    source: int = 0
    raw: int = 0


@dataclass(frozen=True)
class Turn:
    """What a worker sends and gets in a turn."""

    sends: tuple = ()
    sums: frozenset = frozenset()
    copies: dict = field(default_factory=dict)  # port of the owner by vertex


class Layout:
    """Lays a job's turns out in two memories, of tables and of data."""

    def __init__(self, turns, lanes, aggregators, copies, fill):
        self.lanes, self.aggregators, self.copies, self.fill = lanes, aggregators, copies, fill
        self.tables, self.data = bytearray(TURN_BYTES * len(turns)), bytearray()
        self.records = [self.turn(turn) for turn in turns]
        for k, record in enumerate(self.records):
            self.tables[TURN_BYTES * k : TURN_BYTES * (k + 1)] = record

    def put(self, memory, octets):
        """Put bytes behind those of a memory, at a multiple of 512; return the address."""
        memory += bytes([self.fill]) * (-len(memory) % ALIGNMENT)
        memory += octets
        return len(memory) - len(octets)

    def turn(self, turn):
        """Return a turn's record; put what it names into the memories."""
        payloads, sends, sources = bytearray(), b"", bytearray(SOURCE_BYTES * self.copies)
        for send in turn.sends:
            size = payload_bytes(send.kind, self.lanes)
            payloads += bytes([self.fill]) * (-len(payloads) % size)
            place = len(payloads) // size
            body = payload_octets(send.kind, send.payload, self.lanes)
            used = len(send.payload) * (2 if send.kind == FEATURE else 4)
            payloads += body[:used] + bytes([self.fill]) * (size - used)
            sends += bytes([send.kind, 0]) + b"".join(
                value.to_bytes(n, "little")
                for value, n in (
                    (send.rows, 2),
                    (send.list, 4),
                    (send.source, 4),
                    (send.raw, 4),
                    (place, 4),
                )
            )
            sends += bytes(12)
            if send.kind == FEATURE:
                at = SOURCE_BYTES * send.source
                sources[at : at + SOURCE_BYTES] = place.to_bytes(4, "little") + bytes([32, 0, 0, 0])
        for vertex, port in turn.copies.items():
            at = SOURCE_BYTES * vertex
            sources[at : at + SOURCE_BYTES] = bytes([0, 0, 0, 0, port, 0, 0, 0])
        first = 32 * -(-self.aggregators // 32)
        wanted = sum(1 << a for a in turn.sums) | sum(1 << first + s for s in turn.copies)
        words = first // 32 + -(-self.copies // 32)
        room = (self.aggregators * self.lanes * 4, self.copies * self.lanes * 2)
        addresses = (
            self.put(self.tables, sends),
            self.put(self.data, payloads),
            self.put(self.data, bytes([self.fill]) * room[0]),
            self.put(self.data, bytes([self.fill]) * room[1]),
            self.put(self.tables, wanted.to_bytes(4 * words, "little")),
            self.put(self.tables, sources),
        )
        record = b"".join(address.to_bytes(8, "little") for address in addresses)
        return (record + len(turn.sends).to_bytes(4, "little")).ljust(TURN_BYTES, b"\0")


class Endpoint:
    """An endpoint of which all that it knows of its turns is in its memories."""

    def __init__(self, lanes, aggregators, window, copies, port, turns, two, tables, data):
        self.lanes, self.aggregators, self.window, self.copies = lanes, aggregators, window, copies
        self.port, self.turns, self.two = port, turns, two
        self.tables, self.data = tables, bytearray(data)
        self.lo, self.job, self.epoch = 0, 0, 0
        self.acked = [set() for _ in range(turns)]
        self.sent = [0] * turns  # frames that have left, for the first time
        self.here = [set() for _ in range(turns)]  # bits of `wanted` that are in memory

    def record(self, turn):
        """Return addresses and number of frames of a turn."""
        octets = self.tables[TURN_BYTES * turn : TURN_BYTES * (turn + 1)]
        return [int.from_bytes(octets[k : k + 8], "little") for k in range(0, 48, 8)] + [
            int.from_bytes(octets[48:52], "little")
        ]

    def wants(self, turn):
        """Return the bits of `wanted`."""
        first = 32 * -(-self.aggregators // 32)
        size = first // 8 + 4 * -(-self.copies // 32)
        at = self.record(turn)[4]
        bits = int.from_bytes(self.tables[at : at + size], "little")
        return {k for k in range(8 * size) if bits >> k & 1}

    def bit_of(self, frame):
        """Return the bit of `wanted` that a RESULT, RAW, FETCH or RAWFETCH is about."""
        if frame.kind in (RESULT, FETCH):
            return frame.list if frame.list < self.aggregators else None
        return 32 * -(-self.aggregators // 32) + frame.source

    def own(self, turn, vertex):
        """Return the payload of a feature that the worker sends; None if it does not."""
        at = self.record(turn)[5] + SOURCE_BYTES * vertex
        if not self.tables[at + 4] >> 5 & 1:
            return None
        return self.payload(turn, FEATURE, int.from_bytes(self.tables[at : at + 4], "little"))

    def payload(self, turn, kind, place):
        """Return a payload in memory, as numbers."""
        size, lane = payload_bytes(kind, self.lanes), 2 if kind == FEATURE else 4
        at = self.record(turn)[1] + place * size
        octets = self.data[at : at + lane * self.lanes]
        return tuple(
            int.from_bytes(octets[k : k + lane], "little", signed=True)
            for k in range(0, len(octets), lane)
        )

    def contribution(self, turn, seq):
        """Return a frame of a turn's list."""
        at = self.record(turn)[0] + SEND_BYTES * seq
        octets = self.tables[at : at + SEND_BYTES]
        rows, (first, source, raw, place) = (
            int.from_bytes(octets[2:4], "little"),
            (int.from_bytes(octets[k : k + 4], "little") for k in (4, 8, 12, 16)),
        )
        payload = self.payload(turn, octets[0], place)
        return self.frame(
            octets[0],
            turn=turn,
            seq=seq,
            list=first,
            rows=rows,
            source=source,
            raw=raw,
            payload=payload,
        )

    def frame(self, kind, **fields):
        """Return a frame of the worker's."""
        return Frame(kind=kind, bm=1 << self.port, job=self.job, epoch=self.epoch, **fields)

    def may_send(self, frame):
        """Return whether a frame is right in every field, and it is time for it."""
        turn = frame.turn
        if turn >= self.turns:
            return False
        if frame.kind in (FEATURE, PARTIAL):
            fresh = frame.seq == self.sent[turn]
            if frame.seq > self.sent[turn] or frame != self.contribution(turn, frame.seq):
                return False
            if not fresh:
                return True
            self.sent[turn] += 1
            before = (
                turn == 0
                or self.lo >= turn
                or len(self.acked[turn - 1]) == self.record(turn - 1)[6]
            )
            oldest = min(set(range(self.sent[turn])) - self.acked[turn], default=frame.seq)
            return before and turn <= self.lo + self.two and frame.seq < oldest + self.window
        if frame.kind == DONE:
            return frame == self.frame(DONE, turn=turn) and self.here[turn] == self.wants(turn)
        if frame.kind == FETCH:
            right = self.frame(FETCH, turn=turn, list=frame.list)
            return frame == right and self.bit_of(frame) in self.wants(turn)
        if frame.kind == RAWFETCH:
            at = self.record(turn)[5] + SOURCE_BYTES * frame.source
            raw = 1 << (self.tables[at + 4] & 31)
            right = self.frame(RAWFETCH, turn=turn, source=frame.source, raw=raw)
            return frame == right and self.bit_of(frame) in self.wants(turn)
        payload = self.own(turn, frame.source) if frame.kind == RAW else None
        if payload is None:
            return False
        answer = {"turn": turn, "source": frame.source, "raw": frame.raw}
        return frame == self.frame(RAW, **answer, payload=payload)

    def take(self, octets):
        """Take a frame for this worker."""
        frame = parsed(octets, self.lanes)
        if frame.kind == ADVANCE:
            if frame.turn == self.lo + 1 and self.here[self.lo] == self.wants(self.lo):
                self.lo += 1
            return
        if not self.lo <= frame.turn <= self.lo + self.two or frame.turn >= self.turns:
            return
        if frame.kind == ACK:
            bitmap = {frame.seq + k for k in range(128) if frame.bitmap >> k & 1}
            self.acked[frame.turn] |= {*range(frame.seq)} | bitmap
        elif frame.kind in (RESULT, RAW):
            bit = self.bit_of(frame)
            if bit in self.wants(frame.turn):
                self.here[frame.turn].add(bit)
                self.write(frame)

    def write(self, frame):
        """Write a sum or a copy into memory."""
        record, lane = self.record(frame.turn), 4 if frame.kind == RESULT else 2
        base, item = (record[2], frame.list) if lane == 4 else (record[3], frame.source)
        at = base + item * lane * self.lanes
        octets = b"".join(value.to_bytes(lane, "little", signed=True) for value in frame.payload)
        self.data[at : at + len(octets)] = octets


def job_writes(registers, endpoint, own, switch, **timers):
    """Return the accesses of steps 4 and 5."""
    accesses = registers.halves(
        own_address=int.from_bytes(own, "little"),
        switch_address=int.from_bytes(switch, "little"),
        program=0,
    )
    accesses += registers.write(job=endpoint.job, epoch=endpoint.epoch)
    accesses += registers.write(worker=1 << endpoint.port, turns=endpoint.turns)
    accesses += registers.write(two_open=endpoint.two, ready_turns=endpoint.turns)
    return accesses + registers.write(**timers) + registers.command("start")
