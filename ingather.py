"""Ingather: in-network training hardware, generated, verified and explored. See :mod:`gen.api`."""

from gen.api import ChosenDesign, Done, UserError, design, designs

__all__ = ["ChosenDesign", "Done", "UserError", "design", "designs"]
