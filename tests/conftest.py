"""What only the tests of this checkout need; the rest is :mod:`sim.verify.plugin`."""

pytest_plugins = ["sim.verify.plugin"]


def pytest_addoption(parser):
    parser.addoption("--update-ports", action="store_true", help="rewrite the committed ports")
