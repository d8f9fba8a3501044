"""Makes the parts of the page about a regression and its coverage, as ``ingather verify`` does."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gen.page.page import Section
from gen.verify import coverage, page

FILES = ("log", "waves", "gtkw")  #: keys of a failure's files in the regression's folder


def regression_sections(label: str, content: Mapping[str, Any]) -> list[Section]:
    """Make all parts from the content of verify.json, with that of coverage.json or None."""
    folder = Path(label).parent
    items = [item | {"failure": placed(item["failure"], folder)} for item in content["items"]]
    first, *others = page.sections({"interrupted": False, **content, "items": items})
    origin = Markup('<p class="note">{}</p>').format(label)
    named = Section(first.title, f"{origin}\n{first.html}")
    covered = [] if content["coverage"] is None else coverage.sections(content["coverage"])
    return [named, *others, *covered]


def placed(failure: Mapping[str, Any] | None, folder: Path) -> dict[str, Any] | None:
    """Return a failure with the paths of its files from the place of the report on."""
    if failure is None:
        return None
    return {**failure, **{name: str(folder / failure[name]) for name in FILES if failure[name]}}
