"""Decides what a beat does, when it is known whether a packet expires in this cycle."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component


class Decision(Component):
    """Decides what a beat does, from signals that are early and from ``expires``, which is late.

    ``present``: the packet that expires is that of the beat's queue or, ``inside`` a PR, that of
    the PR. It ``expires_now``, except ``inside`` a PR, whose packet is marked with the PR's last
    beat; ``late_now`` says that. If this cycle would have two marks while one of two earlier marks
    still ``waits``, the beat waits.

    A beat that is ``able`` and has ``enough`` lines ``moves``. It ``opens`` a packet if it is
    ``fresh``, or if its queue's packet has just expired. It ``closes`` its packet if it is its PR's
    ``last`` and the packet is late, or if :class:`Concatenation` says so for a packet that it opens
    (``closes_new``) or joins (``closes_joined``). A packet that the beat may not join is
    ``displaced``: this ``closes`` that packet, ``displaces`` is high, and the beat waits. Latency:
    none.

    It is a component of its own so that early signals share no logic with ``expires``, from which
    only two LUTs lead to a mark.
    """

    latency = 0

    def __init__(self, params: None = None) -> None:
        inputs = (
            *("expires", "waits", "inside", "present", "able", "enough", "first", "last", "fresh"),
            *("closes_new", "closes_joined", "displaced"),
        )
        outputs = ("expires_now", "expires_here", "late_now", "opens", "moves", "closes")
        ports = dict.fromkeys(inputs, In(1)) | dict.fromkeys((*outputs, "displaces"), Out(1))
        super().__init__(params, ports)

    def build(self, m: Module) -> None:
        full = Signal()
        closes = Signal()
        m.d.comb += [
            full.eq(self.waits & self.expires),
            self.late_now.eq(self.expires & self.inside & self.present),
            self.expires_now.eq(self.expires & ~(self.inside & self.present)),
            self.expires_here.eq(self.expires & self.present & ~self.inside),
            self.opens.eq(self.first & (self.fresh | self.expires_here)),
            self.moves.eq(self.able & self.enough & ~full),
            closes.eq(
                Mux(self.opens, self.closes_new, self.closes_joined | (self.late_now & self.last))
            ),
            self.displaces.eq(self.displaced & ~self.expires_here & ~full),
            self.closes.eq((self.moves & closes) | self.displaces),
        ]
