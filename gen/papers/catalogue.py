"""Finds the papers that can be reproduced: each file of this folder that has ``PAPER``."""

from collections.abc import Mapping
from functools import cache

import gen.papers
from gen.base.errors import unknown
from gen.designs.catalogue import of_package
from gen.papers.paper import Paper


@cache
def papers() -> Mapping[str, Paper]:
    """Return every paper by its name, in the order of the files."""
    return {paper.name: paper for _, paper in of_package(gen.papers, "PAPER")}


def find_paper(name: str) -> Paper:
    """Return the paper of that name; raise UserError if there is none."""
    if name not in papers():
        raise unknown("paper", name, papers())
    return papers()[name]
