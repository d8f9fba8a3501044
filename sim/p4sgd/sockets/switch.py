"""Runs the golden model of a P4SGD switch in real time, each port a UDP socket of this machine.

A datagram is an Ethernet frame without its checksum. The endpoint of a port is whoever sent the
last datagram to its socket; answers go there. The model has no time: it answers at once.
"""

import random
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from sim.golden.reduction.switch_model import SwitchModel
from sim.harness.pcapng import CaptureWriter

MOST_BYTES = 1 << 16  #: of a datagram
Place = tuple[str, int]


@dataclass(kw_only=True)
class SocketSwitch:
    """Leads datagrams to ``model`` and its answers back; some of either are lost or come twice.

    ``first_port`` is the UDP port of the model's port 0; the others follow. With 0 the system
    chooses free ones. OSError if a socket cannot be had.
    """

    model: SwitchModel
    host: str = "127.0.0.1"
    first_port: int = 0
    drop: float = 0.0  #: share of frames that are lost, in each direction
    duplicate: float = 0.0  #: share of the others that come twice
    seed: int = 1
    frames: int = 0  #: datagrams that came
    lost: int = 0
    capture: CaptureWriter | None = None  #: see :meth:`record`
    peers: dict[int, Place] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.sockets: list[socket.socket] = []
        try:
            for port in range(self.model.ports):
                self.sockets.append(own := socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                own.setblocking(False)
                own.bind((self.host, self.first_port and self.first_port + port))
        except OSError:
            self.close()
            raise

    @property
    def places(self) -> list[Place]:
        """Return the address of each port's socket."""
        return [own.getsockname() for own in self.sockets]

    def record(self, capture: CaptureWriter) -> None:
        """Write the frames of each port, lost ones too, with the time of day from now on."""
        for port in range(self.model.ports):
            capture.add_interface(f"port {port}")
        self.capture = capture

    def close(self) -> None:
        """Give the sockets back."""
        for own in self.sockets:
            own.close()

    def serve(self, seconds: float) -> None:
        """Answer for this long."""
        end = time.monotonic() + seconds
        with closing(selectors.DefaultSelector()) as selector:
            for port, own in enumerate(self.sockets):
                selector.register(own, selectors.EVENT_READ, port)
            while (left := end - time.monotonic()) > 0:
                for key, _ in selector.select(min(left, 1.0)):
                    self.take_all(key.data)

    def take_all(self, port: int) -> None:
        """Take all datagrams that wait at a port."""
        while True:
            try:
                data, self.peers[port] = self.sockets[port].recvfrom(MOST_BYTES)
            except BlockingIOError:
                return
            except OSError:  # an endpoint is gone, to which an answer was sent
                continue
            self.frames += 1
            for frame in self.passed(port, data, inbound=True):
                for target, answer in self.model.take(port, frame):
                    self.send(target, answer)

    def send(self, port: int, answer: bytes) -> None:
        """Send an answer to the endpoint of a port, if one has sent anything yet."""
        if port in self.peers:
            for frame in self.passed(port, answer, inbound=False):
                try:
                    self.sockets[port].sendto(frame, self.peers[port])
                except OSError:  # no room, or nobody there: as on a link, it is lost
                    self.lost += 1

    def passed(self, port: int, frame: bytes, *, inbound: bool) -> Iterator[bytes]:
        """Yield a frame once, twice or not at all."""
        lost = self.random.random() < self.drop
        self.lost += lost
        for _ in range(1 if lost else 1 + (self.random.random() < self.duplicate)):
            if self.capture is not None:
                comment = "dropped by the link" if lost else ""
                now = time.time_ns()
                self.capture.write(port, now, frame, inbound=inbound, comment=comment)
            if not lost:
                yield frame
