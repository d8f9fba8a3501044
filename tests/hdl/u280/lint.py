"""Lets Verilator lint a component that places the vendor's IP."""

from gen.base.emission.emit import Emission, EmittedModule
from sim.harness.emissions import emission_of
from sim.harness.verilator import lint


def lint_with_stubs(component, ips):
    """Lint what ``component`` becomes, with an empty module for each of ``ips``; return the
    emission.
    """
    emission = emission_of(component, generated=True)
    stubs = {ip.name: EmittedModule(ip.name, type(component), verilog=ip.stub) for ip in ips}
    lint(Emission(stubs | emission.modules))
    return emission
