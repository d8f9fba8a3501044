"""Draws the pictures that runs leave."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def picture(
    path: Path, title: str, columns: int, *, width: float = 5.2, **layout: Any
) -> Iterator[Any]:
    """Yield axes that stand beside each other, each ``width`` inches wide; then write the PNG.

    Its background is opaque, so that it can be read on dark pages too.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, 4))
    figure.suptitle(title)
    yield figure.subplots(1, columns, squeeze=False, **layout)[0]
    figure.tight_layout()
    figure.savefig(path, dpi=110, facecolor="white", format="png")


def over_epochs(axes: Any, what: str, columns: int) -> None:
    """Finish axes with curves over epochs: a legend of so many columns stands above their scale."""
    axes.set_xlabel("epoch")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel(what)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.05), ncols=columns)
