"""What fails between a component and a verdict, told in one line to whoever called a command."""


class HarnessError(Exception):
    """A tool is missing, or a build or a simulation failed. The text may have several lines."""

    @property
    def line(self) -> str:
        """The first line of the text: what failed, and where the rest stands."""
        return str(self).partition("\n")[0].rstrip(":")
