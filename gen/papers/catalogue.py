"""The papers that can be reproduced: each file of this folder that has ``PAPER``."""

from collections.abc import Mapping
from functools import cache

import gen.papers
from gen.designs.catalogue import of_package
from gen.errors import unknown
from gen.papers.paper import Paper


@cache
def papers() -> Mapping[str, Paper]:
    """Every paper by its name, in the order of their files."""
    return {paper.name: paper for _, paper in of_package(gen.papers, "PAPER")}


def find_paper(name: str) -> Paper:
    """The paper of that name; UserError if there is none."""
    if name not in papers():
        raise unknown("paper", name, papers())
    return papers()[name]
