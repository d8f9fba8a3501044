"""What a switch whose jobs are tenants has beside the others: commands, refusals, verdicts."""

from amaranth.lib import data, enum

from hdl.switch.params import COMMAND

#: A switch's enumeration of what became of a packet has these, too, if its jobs are tenants.
TENANT_VERDICTS = (
    "NOT_GRANTED",  #: it is of a job that is registered and does not hold the switch
    "DRAINING",  #: it would begin a new use of a slot, and its job has been released
)


class TenantRefusal(enum.Enum, shape=4):
    """Says why the last command had no effect; the first that applies."""

    NONE = 0  #: it had an effect
    BUSY = 1  #: a job is being granted
    NO_SUCH_JOB = 2  #: the number is too large
    BAD_PORTS = 3  #: register: no child, a port that the switch has not, or the parent's a child's
    BAD_SLOTS = 4  #: register: no slots, or slots that the switch has not
    PORTS_TAKEN = 5  #: acquire: ports are held apart, and another job holds some of these
    SLOTS_TAKEN = 6  #: acquire: another job holds some of the slots
    NOT_REGISTERED = 7  #: acquire: no job is registered by that number
    HELD = 8  #: register, acquire: the job is granted already, or drains
    NOT_GRANTED = 9  #: release: the job is not granted, or drains already
    SWITCH_TAKEN = 10  #: acquire: as many jobs hold the switch as may; before the other two
    OLD = 11  #: acquire: the epoch is not later than the job's last one


#: A host's command to a switch of tenants. All but the first four hold still while it is busy.
#: ``ports`` are those of the children, and ``parent`` is the number of the port towards the parent,
#: of a job that ``has_parent``. ``most`` jobs may hold the switch at a time; they hold ports
#: ``apart``, or share them.
TENANT_COMMAND = data.StructLayout(
    {
        "start": 1,  # acquire
        "stop": 1,  # by force
        "register": 1,
        "release": 1,
        **{name: field.shape for name, field in COMMAND if name not in ("start", "stop")},
        "parent": 8,
        "has_parent": 1,
        "most": 6,
        "apart": 1,
    }
)
