"""Models hosts of all systems, each with golden models of its own behind a port of a switch.

A host's part says what it sends (``due``), takes what comes (``take``), and is ``done`` when it has
all of its results. ``now`` counts cycles.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sim.golden.arithmetic import Step
from sim.golden.choices import Loss
from sim.golden.reduction.frames import LANES
from sim.golden.reduction.wide_worker import WideWorker
from sim.netsparse.golden.concatenation import PORT, Kind, Request, from_bytes, to_bytes
from sim.netsparse.golden.concatenation import Addresses as NodeAddresses
from sim.p4sgd.golden.frame_worker import FrameWorker
from sim.p4sgd.golden.sgd import Training, delta, derivative, partial_activation, update
from sim.switchgnn.golden.frames import Frame
from sim.switchgnn.golden.worker import WorkerModel
from sim.switchgnn.wire import Addresses, judge, to_octets

Integers = NDArray[np.int64]
TRAINING = Training(loss=Loss.LOGISTIC, bits=4, signed=False, batch=16, banks=8, step=Step(1, 6))
TIMEOUT = 600  #: cycles until a worker repeats what is not acknowledged
IPV4 = b"\x08\x00"
NETSPARSE_PORTS = PORT.to_bytes(2, "big") * 2
TALKERS = bytes.fromhex("0200000077")  #: begins the addresses of hosts that talk
NODES = NodeAddresses(mac_base=0x0200_0000_0000, ip_base=0x0A00_0000)


class Part(ABC):
    """Is what a host does in one system; its frames may be lost unless it is ``lossless``."""

    system: ClassVar[str]
    missed: int = 0  #: frames to this host that were lost on their way from the switch
    lossless: ClassVar[bool] = False

    @abstractmethod
    def due(self, now: int) -> Iterable[bytes]:
        """Return the frames that are to be sent now."""

    @abstractmethod
    def knows(self, octets: bytes) -> bool:
        """Return whether a frame that has come is of this system."""

    def is_for(self, octets: bytes) -> bool:
        """Return whether a frame of this system is for this host, and was not only flooded."""
        return True

    @abstractmethod
    def take(self, octets: bytes) -> None:
        """Take a frame of this system."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Return whether all results have come."""


class Timer:
    """Says when a timer expires, every ``timeout`` cycles."""

    def __init__(self, timeout: int) -> None:
        self.timeout, self.next = timeout, timeout

    def expires(self, now: int) -> bool:
        """Return whether it expires now."""
        if now < self.next:
            return False
        self.next = now + self.timeout
        return True


class Trainer(Part):
    """Trains its share of a model's features over all ``epochs``, as P4SGD's worker does."""

    system = "p4sgd"

    def __init__(
        self, worker: FrameWorker, codes: NDArray[Any], labels: Integers, epochs: int
    ) -> None:
        self.worker, self.codes, self.labels = worker, codes, labels
        self.weights = np.zeros(codes.shape[1], np.int64)
        starts = range(0, len(codes), TRAINING.batch)
        self.batches = [slice(at, at + TRAINING.batch) for at in starts] * epochs
        self.partials: list[tuple[int, ...]] = []
        self.trained = 0  # partials of mini-batches that are over
        worker.partials = self.partials
        self.waiting = self.begin()
        self.timer = Timer(TIMEOUT)

    @property
    def done(self) -> bool:
        """Return whether all mini-batches are trained."""
        return not self.batches

    def begin(self) -> list[bytes]:
        """Begin a mini-batch; return its first frames."""
        partial, _ = partial_activation(self.codes[self.batches[0]], self.weights, TRAINING.shift)
        padded = [*map(int, partial), *[0] * (-len(partial) % LANES)]
        self.partials += [tuple(padded[k : k + LANES]) for k in range(0, len(padded), LANES)]
        return self.worker.begin()

    def due(self, now: int) -> Iterator[bytes]:
        """Yield answers, what a timer repeats, and the mini-batch that follows a trained one."""
        if self.batches and self.worker.done:
            self.train(self.batches.pop(0))
            self.trained = len(self.partials)
            self.waiting += self.begin() if self.batches else []
        if self.timer.expires(now):
            self.waiting += self.worker.repeat()
        yield from self.waiting
        self.waiting = []

    def train(self, batch: slice) -> None:
        """Change the weights by a mini-batch whose sums have come."""
        came = range(self.trained, len(self.partials))
        sums = [number for k in came for number in self.worker.sums[k]]
        full = np.array(sums[: len(self.labels[batch])])
        loss = derivative(TRAINING.loss, full, self.labels[batch])[0]
        deltas, _ = delta(loss, TRAINING.step)
        for at in range(0, len(full), TRAINING.banks):
            samples = slice(at, at + TRAINING.banks)
            codes = self.codes[batch][samples]
            self.weights, _ = update(self.weights, codes, deltas[samples], TRAINING.shift)

    def knows(self, octets: bytes) -> bool:
        """Return whether a frame is for the worker's own address."""
        return octets[:6] == self.worker.address

    def take(self, octets: bytes) -> None:
        """Take an answer of the switch."""
        self.waiting += self.worker.take(octets)


class GraphWorker(Part):
    """Sends features of vertices and takes sums, as a worker of SwitchGNN does."""

    system = "switchgnn"

    def __init__(self, worker: WorkerModel, lanes: int, switch: bytes, group: bytes) -> None:
        self.worker, self.lanes, self.group = worker, lanes, group
        self.addresses = Addresses(switch, group)
        self.waiting: list[Frame] = []
        self.timer = Timer(TIMEOUT)

    @property
    def done(self) -> bool:
        """Return whether all turns are over."""
        return self.worker.ended

    def due(self, now: int) -> Iterator[bytes]:
        """Yield answers, what is new, and what a timer repeats."""
        self.waiting += self.worker.timeout() if self.timer.expires(now) else self.worker.send()
        for frame in self.waiting:
            yield to_octets(frame, self.lanes, self.addresses)
        self.waiting = []

    def knows(self, octets: bytes) -> bool:
        """Return whether a frame is for the group of workers."""
        return octets[:6] == self.group

    def take(self, octets: bytes) -> None:
        """Take a frame of the switch."""
        self.waiting += self.worker.take(judge(octets, self.lanes, self.group))


class PropertyNodes(Part):
    """Reads properties of other nodes, and answers reads, for all ``nodes`` behind a port.

    ``reads`` are the PRs that they send; the property of an idx is
    its :func:`content`.
    """

    system = "netsparse"
    lossless = True

    def __init__(self, nodes: Sequence[int], reads: Sequence[Request]) -> None:
        self.nodes, self.left = nodes, [*reads]
        self.waits: Mapping[int, Request] = {read.id: read for read in reads}
        self.properties: dict[int, bytes] = {}
        self.waiting: list[bytes] = []

    @property
    def done(self) -> bool:
        """Return whether each read has its property."""
        return self.properties.keys() == self.waits.keys()

    def due(self, now: int) -> Iterator[bytes]:
        """Yield answers, and a read."""
        if self.left:
            self.waiting.append(self.packet([self.left.pop()]))
        yield from self.waiting
        self.waiting = []

    def packet(self, requests: Sequence[Request]) -> bytes:
        """Return a packet of PRs."""
        return to_bytes(requests, requests[0].src, NODES)

    def knows(self, octets: bytes) -> bool:
        """Return whether a packet is NetSparse's."""
        return octets[12:14] == IPV4 and octets[34:38] == NETSPARSE_PORTS

    def take(self, octets: bytes) -> None:
        """Take a packet of PRs; AssertionError for a response that nobody waits for, or again."""
        for request in from_bytes(octets):
            assert request.dest in self.nodes
            if request.kind is Kind.READ:
                answer = replace(
                    request,
                    kind=Kind.RESPONSE,
                    dest=request.src,
                    src=request.dest,
                    data=content(request.idx, request.length),
                )
                self.waiting.append(self.packet([answer]))
                continue
            read = self.waits[request.id]
            assert request.kind is Kind.RESPONSE
            assert request.id not in self.properties
            assert request.data == content(read.idx, read.length)
            self.properties[request.id] = request.data


def content(idx: int, size: int) -> bytes:
    """Return the property of an idx."""
    return Random(idx).randbytes(size)


class Reducer(Part):
    """Adds up long vectors with all other hosts, by the wide AllReduce."""

    system = "allreduce"

    def __init__(self, worker: WideWorker, numbers: NDArray[Any]) -> None:
        self.worker = worker
        worker.begin(numbers)

    @property
    def done(self) -> bool:
        """Return whether all sums have come."""
        return self.worker.done

    def due(self, now: int) -> Iterable[bytes]:
        """Return the frames of parts that may begin, and those that are repeated."""
        return self.worker.due(now)

    def knows(self, octets: bytes) -> bool:
        """Return whether a frame is for the group of workers."""
        return octets[:6] == self.worker.group

    def take(self, octets: bytes) -> None:
        """Take an answer of the switch."""
        self.worker.take(octets)


class Talker(Part):
    """Sends packets of any length to other hosts, and takes theirs, each once.

    A packet has the number of its sender and its own; who is not the addressee ignores it: until
    an address is learned, packets to it are flooded.
    """

    system = "forwarding"

    def __init__(self, own: int, others: Sequence[int], packets: int, random: Random) -> None:
        self.own, self.others, self.random = own, others, random
        self.left, self.sent = packets, 0
        self.received: set[tuple[int, int]] = set()

    @property
    def done(self) -> bool:
        """Return whether all packets are sent."""
        return not self.left

    def due(self, now: int) -> Iterator[bytes]:
        """Yield a packet."""
        if self.left:
            self.left, self.sent = self.left - 1, self.sent + 1
            size = self.random.choice((60, 64, 65, self.random.randint(60, 1514)))
            head = address_of(self.random.choice(self.others)) + address_of(self.own)
            head += IPV4 + bytes((0x45, self.random.randrange(64) << 2)) + bytes(24)
            head += self.own.to_bytes(2, "big") + self.sent.to_bytes(4, "big")
            yield head + self.random.randbytes(size - len(head))

    def knows(self, octets: bytes) -> bool:
        """Return whether a packet is of hosts that talk."""
        return octets[6:11] == TALKERS

    def is_for(self, octets: bytes) -> bool:
        """Return whether it has the host's address."""
        return octets[:6] == address_of(self.own)

    def take(self, octets: bytes) -> None:
        """Take a packet; AssertionError if it has come before."""
        if self.is_for(octets):
            number = int.from_bytes(octets[40:42], "big"), int.from_bytes(octets[42:46], "big")
            assert number not in self.received
            self.received.add(number)


def address_of(host: int) -> bytes:
    """Return the address of a host that talks."""
    return TALKERS + bytes((host,))
