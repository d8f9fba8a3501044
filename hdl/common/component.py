"""Defines the base class of every hardware component: one class, one frozen set of parameters."""

from functools import wraps
from typing import Any, Self

from amaranth.hdl import Module
from amaranth.lib import wiring


class Component(wiring.Component):
    """Is fully described by its class and its ``params``.

    Two components of one class with equal ``params`` are the same hardware, so a platform that has
    a ``place`` method (the emitter) elaborates the hardware once, and instantiates it at each
    place. Other platforms (Amaranth's own simulator) elaborate it at each place.

    ``params`` must be hashable. Its ``suffix``, if it has one, is the end of the emitted module's
    name, and must be different for all parameter sets of one class within a design.
    """

    #: its clock domains; for each but ``sync`` the module has ports ``<domain>_clk`` and
    #: ``<domain>_rst``
    domains: tuple[str, ...] = ("sync",)
    #: rising edges of its clock for which its reset must be high at least
    reset_cycles = 1
    #: whether synthesis keeps its boundary, because constraints name cells inside it: crossings
    #: between clocks and between dies
    keeps_boundary = False

    # Components are also created to read their layouts and latencies, and then not elaborated:
    # Amaranth must not warn of that.
    _MustUse__silence = True

    def __init__(self, params: Any, signature: Any = None, /, **ports: Any) -> None:
        """Take ``params`` and the ports by their names, or the ``signature`` that has them."""
        self.params = params
        super().__init__(ports if signature is None else signature)

    @classmethod
    def sized(cls, **values: Any) -> Self:
        """Return the component whose parameters have these values."""
        kind: type[Any] = cls
        return kind(kind.__init__.__annotations__["params"](**values))

    def build(self, m: Module) -> None:
        """Add the hardware to ``m``; each component has its own."""
        raise NotImplementedError

    def elaborate(self, platform: Any) -> Any:
        """Return the module with the hardware, or the platform's instance of it."""
        place = getattr(platform, "place", None)
        instance = place(self) if place is not None else None
        if instance is not None:
            return instance
        m = Module()
        self.build(m)
        return m

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let a class that defines ``elaborate``, as Amaranth's do, be placed like all others."""
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
