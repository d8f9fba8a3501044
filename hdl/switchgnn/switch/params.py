"""Combines the parameters of SwitchGNN's switch: its sizes, and the bundles of all its parts."""

from hdl.switchgnn.switch.ingress.ingress_params import IngressParams
from hdl.switchgnn.switch.links.link_params import LinkParams
from hdl.switchgnn.switch.tasks.task_params import TaskParams


class GnnSwitchParams(TaskParams, LinkParams, IngressParams):
    """Sets the sizes of SwitchGNN's switch; describes the bundles of jobs, tasks and ports.

    The sizes are those of :class:`GnnSwitchSizes`; each base class adds the bundles of one part.
    """
