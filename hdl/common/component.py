"""Is the base of every hardware component: one class, one frozen set of parameters."""

from functools import wraps
from typing import Any

from amaranth.lib import wiring


class Component(wiring.Component):
    """A component that is fully described by its class and its ``params``.

    Two components of one class with equal ``params`` are the same hardware, so a platform that
    has a ``place`` method (the emitter) may put an instance where the hardware stands and
    elaborate it only once. Without such a platform (Amaranth's own simulator) nothing changes.

    ``params`` must be hashable. Its ``suffix``, where it has one, completes the name of the
    emitted module; it must tell apart all parameter sets of one class within a design.
    """

    #: its clock domains; the module of each but ``sync`` has ports ``<domain>_clk``, ``_rst``
    domains: tuple[str, ...] = ("sync",)
    #: whether synthesis keeps its boundary, as constraints name what is inside: crossings, of
    #: clocks and of dies
    keeps_boundary = False

    # Components are also made to read their layouts and latencies: no warning if never elaborated.
    _MustUse__silence = True

    def __init__(self, params: Any, signature: Any) -> None:
        self.params = params
        super().__init__(signature)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("elaborate")
        if own is None:
            return

        @wraps(own)
        def elaborate(self, platform):
            place = getattr(platform, "place", None)
            instance = place(self) if place is not None else None
            return own(self, platform) if instance is None else instance

        cls.elaborate = elaborate
