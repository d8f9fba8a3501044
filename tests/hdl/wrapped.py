"""Puts a component into a module of its own, so that a test can set registers that are ports."""

from typing import ClassVar

from amaranth.lib.wiring import connect, flipped

from hdl.common.component import Component


class Wrapped(Component):
    """Has a component of class ``kind`` as ``part``, and its ports."""

    kind: ClassVar[type[Component]]

    def __init__(self, params):
        super().__init__(params, dict(self.kind(params).signature.members))

    def build(self, m):
        m.submodules.part = part = self.kind(self.params)
        connect(m, flipped(self), part)
