pytest_plugins = ["sim.verify.plugin"]
