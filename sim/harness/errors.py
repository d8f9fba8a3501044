"""Says in one line what failed between a component and a verdict."""


class HarnessError(Exception):
    """Reports a missing tool, or a failed build or simulation. The text may have several lines."""

    @property
    def line(self) -> str:
        """Return the first line of the text: what failed, and where the rest can be read."""
        return str(self).partition("\n")[0].rstrip(":")
