"""Finds the licences of the installed packages that ingather depends on, by their metadata."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageMetadata, PackageNotFoundError, distribution

OWN = "ingather"
DEVELOPMENT = "dev"  #: extra of what only developers of ingather install
TEXT = re.compile(r"(?:^|/)(?:licen[cs]e|copying|notice)[^/]*$", re.IGNORECASE)


@dataclass(frozen=True)
class Licence:
    """Tells the licence of an installed package."""

    package: str
    version: str
    licence: str  #: as the package's metadata has it; empty if they have none
    texts: tuple[str, ...]  #: files of its text, below the folder of packages
    home: str = ""  #: address of the project; empty if the metadata have none

    @property
    def line(self) -> str:
        """Return the licence as a line for the console."""
        name = self.licence or "unknown"
        missing = f"the package has no text; see {self.home or 'its source code'}"
        return f"{self.package:26} {self.version:14} {name:34} {' '.join(self.texts) or missing}"


def licences(*, development: bool = False) -> list[Licence]:
    """Return the licence of each package that is installed for ingather, by name.

    These are what it requires, with every extra, and what that requires in turn; with
    ``development``, also what only its developers install.
    """
    result: dict[str, Distribution] = {}
    left = [*required(distribution(OWN), development)]
    while left:
        name = left.pop()
        try:
            item = distribution(name)
        except PackageNotFoundError:  # for another system, or of an extra that is left out
            continue
        if key(name) not in result and key(name) != OWN:
            result[key(name)] = item
            left += requirements(item)
    return [licence_of(result[name]) for name in sorted(result)]


def required(own: Distribution, development: bool) -> Iterator[str]:
    """Yield what ingather requires itself."""
    for text in own.requires or ():
        if development or f'extra == "{DEVELOPMENT}"' not in text.replace("'", '"'):
            yield name_of(text)


def requirements(other: Distribution) -> Iterator[str]:
    """Yield what another package requires, without its extras."""
    return (name_of(text) for text in other.requires or () if "extra ==" not in text)


def name_of(requirement: str) -> str:
    """Return the name that a requirement begins with."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def key(name: str) -> str:
    """Return a package's name as it is compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licence_of(package: Distribution) -> Licence:
    """Return what the metadata of a package say of its licence."""
    about = package.metadata
    classified = [
        text.split("::")[-1].strip()
        for text in about.get_all("Classifier") or ()
        if text.startswith("License ::")
    ]
    expression, free = (about.get_all(name) or [""] for name in ("License-Expression", "License"))
    stated = expression[0] or "; ".join(classified) or free[0].strip().partition("\n")[0]
    texts = tuple(sorted(str(file) for file in package.files or () if TEXT.search(str(file))))
    return Licence(about["Name"], package.version, stated, texts, home_of(about))


def home_of(about: PackageMetadata) -> str:
    """Return the address of a project that a package's metadata have, empty if they have none."""
    links = (text.partition(", ") for text in about.get_all("Project-URL") or ())
    known = {label.lower(): address for label, _, address in links}
    return (about.get_all("Home-page") or [""])[0] or next(
        (known[label] for label in ("source code", "repository", "homepage") if label in known), ""
    )
