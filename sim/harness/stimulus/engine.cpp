// A module of Python, loaded by a simulator's process, whose agents act at the edges of clocks.
//
// Python is called at an edge only if it listens to the clock, or if an agent is due. Agents have
// then acted already: what they have recorded includes this edge.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "master.h"

namespace {

struct Clock {
    explicit Clock(const char* path, int number);
    static PLI_INT32 changed(p_cb_data data);
    void watch(bool on);
    bool drive();
    void stop();
    void rise();
    void rises() {
        if (listens || !members.empty()) rise();
    }

    int number;
    bool listens = false;
    std::vector<int> members;
    vpiHandle signal = nullptr, callback = nullptr;
    s_vpi_value value{};
    s_vpi_time time{};
};

std::map<std::string, std::unique_ptr<Clock>> clocks;
std::vector<Clock*> by_number;
// Never destroyed: at the end of the process there is no Python that would take back its objects.
std::vector<std::unique_ptr<Agent>>& agents = *new std::vector<std::unique_ptr<Agent>>;
int first = 0;  // number of the first of the agents: those of tests before have had other numbers
int64_t period = 1;
Clock* driven = nullptr;  // clock that the simulator's main loop drives
PyObject* wake = nullptr;
long wakes = 0;

Clock::Clock(const char* path, int number) : number(number) {
    signal = vpi_handle_by_name(const_cast<char*>(path), nullptr);
    if (!signal) throw std::invalid_argument(std::string("no clock ") + path);
    watch(true);
}

// Learns of edges as cocotb does, or no more.
void Clock::watch(bool on) {
    if (on == (callback != nullptr)) return;
    if (!on) {
        vpi_remove_cb(callback);
        callback = nullptr;
        return;
    }
    s_cb_data data{};
    data.reason = cbValueChange;
    data.cb_rtn = changed;
    data.obj = signal;
    value.format = vpiIntVal;
    time.type = vpiSimTime;
    data.time = &time;
    data.value = &value;
    data.user_data = reinterpret_cast<char*>(this);
    callback = vpi_register_cb(&data);
}

using Drive = int (*)(uint64_t, void (*)(void*), void*);

// Returns what lets the simulator's main loop drive its clock (clock.h); null if it cannot.
Drive driver() {
    static const auto found = reinterpret_cast<Drive>(dlsym(RTLD_DEFAULT, "ingather_clock"));
    return found;
}

// Lets the simulator's main loop drive this clock and tell its edges; returns whether it can.
bool Clock::drive() {
    const auto rise = [](void* clock) { static_cast<Clock*>(clock)->rises(); };
    if (!driver() || !driver()(period / 2, rise, this)) return false;
    watch(false);
    driven = this;
    return true;
}

void Clock::stop() {
    driver()(0, nullptr, nullptr);
    driven = nullptr;
    watch(true);
}

PLI_INT32 Clock::changed(p_cb_data data) {
    Clock& clock = *reinterpret_cast<Clock*>(data->user_data);
    if (data->value->value.integer) clock.rises();
    return 0;
}

int64_t cycle() { return steps() / period + 1; }

void Clock::rise() {
    const int64_t now = members.empty() ? 0 : cycle();
    bool due = listens, dead = false;
    const auto asleep = [](int number) {
        const Agent& agent = *agents[number - first];
        return !agent.live && !agent.ended && agent.cycles.empty();
    };
    for (int number : members) {
        Agent& agent = *agents[number - first];
        if (agent.live) agent.edge(now);
        due |= agent.due();
        dead |= asleep(number);
    }
    if (dead) members.erase(std::remove_if(members.begin(), members.end(), asleep), members.end());
    if (!due) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    ++wakes;
    PyObject* news = PyList_New(0);
    for (int number : members) {
        Agent& agent = *agents[number - first];
        if (!agent.cycles.empty() || agent.ended) {
            PyObject* item = PyLong_FromLong(number);
            PyList_Append(news, item);
            Py_DECREF(item);
        }
        agent.ended = false;
    }
    PyObject* answer = PyObject_CallFunction(wake, "iO", this->number, news);
    Py_DECREF(news);
    Py_XDECREF(answer);
    if (!answer) {  // nobody would wake those who wait
        PyErr_Print();
        vpi_control(vpiFinish, 1);
    }
    PyGILState_Release(state);
}

template <typename Kind>
Kind* known(int number) {
    const size_t place = static_cast<size_t>(number - first);
    Kind* agent = place < agents.size() ? dynamic_cast<Kind*>(agents[place].get()) : nullptr;
    if (!agent) throw std::invalid_argument("it was of a test that has ended");
    return agent;
}

PyObject* added(int clock, Agent* agent) {
    const int number = first + static_cast<int>(agents.size());
    agents.emplace_back(agent);
    by_number[clock]->members.push_back(number);
    return PyLong_FromLong(number);
}

std::vector<Port> ports(PyObject* paths) {
    std::vector<Port> found;
    for (Py_ssize_t k = 0; k < PyTuple_Size(paths); ++k) {
        const char* path = PyUnicode_AsUTF8(PyTuple_GetItem(paths, k));
        if (!path) throw std::invalid_argument("a path must be text");
        found.emplace_back(path);
    }
    return found;
}

// Each function below takes its arguments as a tuple; `What` reads them.

PyObject* nothing() { Py_RETURN_NONE; }

struct Refused {};  // Python knows the error

template <typename... Places>
void parse(PyObject* arguments, const char* format, Places... places) {
    if (!PyArg_ParseTuple(arguments, format, places...)) throw Refused();
}

int number_in(PyObject* arguments) {
    int number;
    parse(arguments, "i", &number);
    return number;
}

PyObject* begin(PyObject* arguments) {
    PyObject* function;
    long long steps;
    parse(arguments, "LO", &steps, &function);
    period = steps;
    Py_INCREF(function);
    wake = function;
    return nothing();
}

PyObject* clear(PyObject*) {
    first += static_cast<int>(agents.size());
    agents.clear();
    for (Clock* clock : by_number) clock->members.clear();
    if (driven) driven->stop();
    return nothing();
}

PyObject* drive_clock(PyObject* arguments) {
    return PyBool_FromLong(by_number.at(number_in(arguments))->drive());
}

PyObject* count_of_wakes(PyObject*) { return PyLong_FromLong(wakes); }

PyObject* clock_of(PyObject* arguments) {
    const char* path;
    parse(arguments, "s", &path);
    std::unique_ptr<Clock>& clock = clocks[path];
    if (!clock) {
        clock = std::make_unique<Clock>(path, static_cast<int>(by_number.size()));
        by_number.push_back(clock.get());
    }
    return PyLong_FromLong(clock->number);
}

PyObject* listen(PyObject* arguments) {
    int clock, listens;
    parse(arguments, "ip", &clock, &listens);
    by_number.at(clock)->listens = listens;
    return nothing();
}

PyObject* source(PyObject* arguments) {
    int clock;
    const char *valid, *ready;
    PyObject* payload;
    unsigned long long seed;
    parse(arguments, "issO!K", &clock, &valid, &ready, &PyTuple_Type, &payload, &seed);
    return added(clock, new Source(Port(valid), Port(ready), ports(payload), seed));
}

PyObject* monitor(PyObject* arguments) {
    int clock, takes;
    const char *valid, *ready;
    PyObject *payload, *reset;
    unsigned long long seed;
    parse(arguments, "issO!O!pK", &clock, &valid, &ready, &PyTuple_Type, &payload, &PyTuple_Type,
          &reset, &takes, &seed);
    return added(clock, new Monitor(Port(valid), Port(ready), ports(payload), ports(reset), takes,
                                    seed));
}

PyObject* wait_for_edges(PyObject* arguments) {
    int clock;
    long long edges;
    parse(arguments, "iL", &clock, &edges);
    return added(clock, new Wait(edges));
}

PyObject* wait_for_value(PyObject* arguments) {
    int clock;
    const char* path;
    unsigned value;
    parse(arguments, "isI", &clock, &path, &value);
    return added(clock, new Wait(Port(path), value));
}

PyObject* stall(PyObject* arguments) {
    int number;
    double share;
    PyObject* function;
    parse(arguments, "idO", &number, &share, &function);
    Monitor* sink = dynamic_cast<Monitor*>(known<Agent>(number));
    Stall& stall = sink ? sink->stall : known<Source>(number)->stall;
    Py_XDECREF(stall.function);
    stall.function = function == Py_None ? nullptr : Py_NewRef(function);
    stall.chance = static_cast<Word>(share * 2147483648.0);
    return nothing();
}

PyObject* drive(PyObject* arguments) {
    known<Monitor>(number_in(arguments))->drive();
    return nothing();
}

std::vector<Word> words_in(Py_buffer& bits) {
    std::vector<Word> words(bits.len / sizeof(Word));
    if (bits.len) std::memcpy(words.data(), bits.buf, words.size() * sizeof(Word));
    PyBuffer_Release(&bits);
    return words;
}

PyObject* append(PyObject* arguments) {
    int number;
    Py_buffer bits;
    Py_ssize_t beats;
    parse(arguments, "iy*n", &number, &bits, &beats);
    known<Source>(number)->append(words_in(bits).data(), beats);
    return nothing();
}

PyObject* ignore(PyObject* arguments) {
    int number, flag;
    Py_buffer bits;
    parse(arguments, "iiy*", &number, &flag, &bits);
    Monitor* monitor = known<Monitor>(number);
    monitor->ignored = words_in(bits);
    monitor->ignored.resize(monitor->words);
    monitor->flag = flag;
    return nothing();
}

PyObject* let_go(PyObject* arguments) {
    known<Monitor>(number_in(arguments))->lets_go = true;
    return nothing();
}

PyObject* babble(PyObject* arguments) {
    int number, on;
    parse(arguments, "ip", &number, &on);
    known<Source>(number)->babbles = on;
    return nothing();
}

PyObject* abandon(PyObject* arguments) {
    known<Source>(number_in(arguments))->abandon();
    return nothing();
}

PyObject* drop(PyObject* arguments) {
    known<Source>(number_in(arguments))->clear();
    return nothing();
}

PyObject* missing(PyObject* arguments) {
    return PyLong_FromSize_t(known<Source>(number_in(arguments))->missing());
}

PyObject* stop(PyObject* arguments) {
    known<Agent>(number_in(arguments))->live = false;
    return nothing();
}

PyObject* master(PyObject* arguments) {
    int clock, writes;
    const char* bus;
    parse(arguments, "isp", &clock, &bus, &writes);
    return added(clock, new Master(bus, writes));
}

PyObject* transfer(PyObject* arguments) {
    int clock, number;
    unsigned long long address;
    Py_buffer data;
    parse(arguments, "iiKy*", &clock, &number, &address, &data);
    const size_t length = data.len;
    known<Master>(number)->begin(address, words_in(data), length);
    std::vector<int>& members = by_number.at(clock)->members;
    if (std::find(members.begin(), members.end(), number) == members.end())
        members.push_back(number);
    return nothing();
}

PyObject* outcome(PyObject* arguments) {
    std::string found;
    const unsigned worst = known<Master>(number_in(arguments))->outcome(found);
    return Py_BuildValue("Iy#", worst, found.data(), static_cast<Py_ssize_t>(found.size()));
}

PyObject* wake_at(PyObject* arguments) {
    int number;
    long long count;
    parse(arguments, "iL", &number, &count);
    known<Agent>(number)->wake_at = count;
    return nothing();
}

PyObject* number_of(const Word* bits, int words) {
    if (words == 1) return PyLong_FromUnsignedLong(*bits);
    const auto* bytes = reinterpret_cast<const unsigned char*>(bits);
    return _PyLong_FromByteArray(bytes, words * sizeof(Word), 1, 0);
}

PyObject* fetch(PyObject* arguments) {
    Agent* agent = known<Agent>(number_in(arguments));
    const Py_ssize_t beats = static_cast<Py_ssize_t>(agent->cycles.size());
    PyObject *cycles = PyList_New(beats), *items = PyList_New(agent->words ? beats : 0);
    for (Py_ssize_t k = 0; k < beats; ++k) {
        PyList_SET_ITEM(cycles, k, PyLong_FromLongLong(agent->cycles[k]));
        if (agent->words)
            PyList_SET_ITEM(items, k, number_of(&agent->data[k * agent->words], agent->words));
    }
    agent->cycles.clear();
    agent->data.clear();
    return Py_BuildValue("NN", cycles, items);
}

PyObject* wrong(PyObject* arguments) {
    Monitor* monitor = known<Monitor>(number_in(arguments));
    if (monitor->wrong == Monitor::NOTHING) return nothing();
    PyObject* now = monitor->wrong == Monitor::CHANGED
                        ? number_of(monitor->bits.data(), monitor->words)
                        : nothing();
    return Py_BuildValue("NN", number_of(monitor->before.data(), monitor->words), now);
}

// Calls a function above, and makes its error one of Python's.
template <PyObject* (*function)(PyObject*)>
PyObject* guarded(PyObject*, PyObject* arguments) {
    try {
        return function(arguments);
    } catch (const Refused&) {
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    }
    return nullptr;
}

#define NAMED(name, function, text) {name, guarded<function>, METH_VARARGS, text}
#define FUNCTION(name, text) NAMED(#name, name, text)

PyMethodDef functions[] = {
    FUNCTION(begin, "Take the clock's period in steps and the function that is called."),
    FUNCTION(clear, "Forget all agents."),
    NAMED("wakes", count_of_wakes, "Return how often Python was called at an edge."),
    FUNCTION(clock_of, "Return the number of the clock with a path."),
    FUNCTION(drive_clock, "Let the simulator itself drive a clock; return whether it can."),
    FUNCTION(listen, "Set whether Python is called at each edge of a clock."),
    FUNCTION(source, "Return a source: clock, paths of valid, ready and payload, seed."),
    FUNCTION(monitor, "Return a monitor: clock, valid, ready, payload, reset, it takes, seed."),
    FUNCTION(wait_for_edges, "Return what waits for a number of edges."),
    FUNCTION(wait_for_value, "Return what waits for a value of a port."),
    FUNCTION(master, "Return a side of a master: clock, path of the bus before a channel, it writes."),
    FUNCTION(transfer, "Let a master begin: clock, master, address, data or as many bytes to read."),
    FUNCTION(outcome, "Return the worst response of a transfer, and what was read."),
    FUNCTION(stall, "Set the chance of a pause, or a function that says so in each cycle."),
    FUNCTION(drive, "Let a sink set ready for the cycle that comes."),
    FUNCTION(append, "Give a source the words of beats."),
    FUNCTION(ignore, "Take bits as 0 in beats that have a flag."),
    FUNCTION(let_go, "Let beats that wait change and go away."),
    FUNCTION(babble, "Let a source show garbage, or not, while it has nothing to send."),
    FUNCTION(abandon, "Let a source forget what has not moved."),
    FUNCTION(drop, "Let a source forget all but the beat that it offers."),
    FUNCTION(missing, "Return how many beats of a source have not moved."),
    FUNCTION(stop, "Let an agent do nothing more."),
    FUNCTION(wake_at, "Set at how many records Python is called; -1: not for them."),
    FUNCTION(fetch, "Return the cycles and the bits of new records."),
    FUNCTION(wrong, "Return the bits of a beat that did not stay, before and now; or None."),
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "engine", nullptr, -1, functions,
                      nullptr,               nullptr,  nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_engine() { return PyModule_Create(&module); }
