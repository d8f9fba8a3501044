"""Puts a component into a module of its own, so that a test can set registers that are ports."""

from typing import ClassVar

from amaranth.hdl import Module
from amaranth.lib.wiring import connect, flipped

from hdl.common.component import Component


class Wrapped(Component):
    """Has a component of class ``kind`` as ``part``, and its ports."""

    kind: ClassVar[type[Component]]

    def __init__(self, params):
        super().__init__(params, dict(self.kind(params).signature.members))

    def elaborate(self, platform):
        m = Module()
        m.submodules.part = part = self.kind(self.params)
        connect(m, flipped(self), part)
        return m
