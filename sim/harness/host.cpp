// The process that simulators are forked from: Python, with the libraries that all of them import.
//
// sim/harness/forks.py answers requests in it. In each process that it forks, its `serve` returns
// what to run, and that is loaded as a library and run here, where no Python code is on the stack:
// cocotb ends the interpreter at the end of a simulation.

#include <Python.h>
#include <dlfcn.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

// What a design holds before its first step is zero, as it is in a process whose memory is new.

static void* zeroed(void* memory, std::size_t size) {
    if (!memory) throw std::bad_alloc();
    return std::memset(memory, 0, size);
}

void* operator new(std::size_t size) { return zeroed(std::malloc(size), size); }

void* operator new(std::size_t size, std::align_val_t alignment) {
    const std::size_t unit = static_cast<std::size_t>(alignment);
    return zeroed(std::aligned_alloc(unit, (size + unit - 1) / unit * unit), size);
}

void operator delete(void* memory) noexcept { std::free(memory); }

void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }

static int failed() {
    PyErr_Print();
    return EXIT_FAILURE;
}

static bool started() {
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    PyStatus status =
        PyConfig_SetBytesString(&config, &config.executable, std::getenv("PYGPI_PYTHON_BIN"));
    if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status)) std::fprintf(stderr, "no Python: %s\n", status.err_msg);
    return !PyStatus_Exception(status);
}

static int run(std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    prctl(PR_SET_NAME, "simulation");
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would be told how it ends
    void* library = dlopen(arguments[0], RTLD_NOW | RTLD_GLOBAL);
    void* entry = library ? dlsym(library, "main") : nullptr;
    if (!entry) {
        std::fprintf(stderr, "%s\n", dlerror());
        return EXIT_FAILURE;
    }
    const auto simulate = reinterpret_cast<int (*)(int, char**)>(entry);
    return simulate(static_cast<int>(command.size()), arguments.data());
}

int main() {
    std::signal(SIGINT, SIG_IGN);  // a terminal sends it here too; the end is that of the asker
    if (!started()) return EXIT_FAILURE;
    PyObject* forks = PyImport_ImportModule("sim.harness.forks");
    PyObject* words = forks ? PyObject_CallMethod(forks, "serve", nullptr) : nullptr;
    if (!words) return failed();
    std::vector<std::string> command;
    for (Py_ssize_t place = 0; place < PyList_Size(words); ++place) {
        const char* word = PyUnicode_AsUTF8(PyList_GetItem(words, place));
        if (!word) return failed();
        command.push_back(word);
    }
    Py_DECREF(words);
    Py_DECREF(forks);
    return command.empty() ? EXIT_SUCCESS : run(command);
}
