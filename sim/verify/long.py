"""Leaves out, as pytest's plugin, what a commit need not run again: items marked ``long``.

They are sizes, matrices and mutants beside those that already find what can break. ``--all`` runs
them too, and so does naming one of them; a run that leaves some out says how many.
"""

import pytest

LONG = "long"  #: the mark
LEFT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --all."""
    parser.addoption("--all", action="store_true", help="run what is marked as long, too")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark ``long``."""
    config.addinivalue_line("markers", f"{LONG}: it is run with --all only, or if it is named")
    config.stash[LEFT] = 0


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is long, unless all is asked for or the item is named."""
    if config.getoption("--all"):
        return
    left = [item for item in items if item.get_closest_marker(LONG) and not named(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def named(item: pytest.Item) -> bool:
    """Return whether the command line names ``item``, and not just its folder or file."""
    return any("::" in argument and matches(item, argument) for argument in item.config.args)


def matches(item: pytest.Item, argument: str) -> bool:
    """Return whether ``argument`` is the name of ``item``, with its parameters if it has some."""
    expected, result = argument.split("::")[-1], item.nodeid.split("::")[-1]
    return expected == result and item.nodeid.partition("::")[0].endswith(
        argument.partition("::")[0].removeprefix("./")
    )


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count what is left out, in whichever process leaves it out."""
    for item in items:
        if item.get_closest_marker(LONG):
            item.config.stash[LEFT] += 1


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Report from a worker to the leading process how many items were left out."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[LONG] = session.config.stash[LEFT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Keep one worker's count of what was left out: all workers collect the same."""
    config = getattr(node, "config", None)
    output = getattr(node, "workeroutput", {})
    if config is not None and LONG in output:
        config.stash[LEFT] = output[LONG]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many items were left out."""
    if left := terminalreporter.config.stash[LEFT]:
        terminalreporter.write_line(f"{left} long items are left out: make test-all, or --all")
