// A simulation without Python: what the same Verilated model can do at most.
//
//   free_running [+ram_<index>=<file> ...] +script=<file>
//
// The script has a command a line, numbers in hexadecimal, wide ones as words, the low one first:
//
//   memory WORD...            settings of all memories
//   register ADDRESS WORD     a write on s_axil
//   model ADDRESS WORD...     a write of a beat on s_axi_model
//   run                       wait until `busy` has risen and fallen
//   read ADDRESS              a read on s_axil; prints `ADDRESS WORD`
//
// Prints `cycles seconds` at the end, the seconds of CPU, counted from the end of reset.

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

static Vtop *top;
static uint64_t cycles = 0;

double sc_time_stamp() { return static_cast<double>(cycles); }

[[noreturn]] static void die(const std::string &what) {
    std::cerr << "free_running: " << what << std::endl;
    std::exit(1);
}

// The two halves of a cycle: outputs are settled after the first, registers change in the second.
static void settle() {
    top->clk = 0;
    top->eval();
}

static void edge() {
    top->clk = 1;
    top->eval();
    ++cycles;
}

static void tick() {
    settle();
    edge();
}

// Offer what `valid` says until `ready` takes it.
template <typename Valid, typename Ready>
static void offer(Valid &valid, const Ready &ready) {
    bool moved = false;
    valid = 1;
    while (!moved) {
        settle();
        moved = ready;
        edge();
    }
    valid = 0;
}

template <typename Valid, typename Response>
static void accept(const Valid &valid, const Response &response, const char *what) {
    bool moved = false;
    while (!moved) {
        settle();
        moved = valid;
        if (moved && response != 0) die(std::string(what) + " was refused");
        edge();
    }
}

static void write_register(uint32_t address, uint32_t word) {
    top->s_axil_awaddr = address;
    offer(top->s_axil_awvalid, top->s_axil_awready);
    top->s_axil_wdata = word;
    top->s_axil_wstrb = 0xf;
    offer(top->s_axil_wvalid, top->s_axil_wready);
    accept(top->s_axil_bvalid, top->s_axil_bresp, "a write of a register");
}

static uint32_t read_register(uint32_t address) {
    top->s_axil_araddr = address;
    offer(top->s_axil_arvalid, top->s_axil_arready);
    accept(top->s_axil_rvalid, top->s_axil_rresp, "a read of a register");
    return top->s_axil_rdata;
}

template <typename Port>
static void set_wide(Port &port, const std::vector<uint32_t> &words) {
    if (words.size() != sizeof(port) / sizeof(uint32_t)) die("a wide number of another width");
    for (size_t k = 0; k < words.size(); ++k) port[k] = words[k];
}

static void write_model(uint32_t address, const std::vector<uint32_t> &beat) {
    top->s_axi_model_awaddr = address;
    top->s_axi_model_awlen = 0;
    top->s_axi_model_awsize = 5;
    top->s_axi_model_awburst = 1;
    offer(top->s_axi_model_awvalid, top->s_axi_model_awready);
    set_wide(top->s_axi_model_wdata, beat);
    top->s_axi_model_wstrb = 0xffffffff;
    top->s_axi_model_wlast = 1;
    offer(top->s_axi_model_wvalid, top->s_axi_model_wready);
    accept(top->s_axi_model_bvalid, top->s_axi_model_bresp, "a write of the model");
}

static void run() {
    for (int waited = 0; !top->busy; ++waited) {
        if (waited == 100) die("the worker did not start");
        tick();
    }
    while (top->busy) tick();
}

static void obey(const std::string &line) {
    std::istringstream text(line);
    std::string command;
    text >> command >> std::hex;
    std::vector<uint32_t> numbers;
    for (uint32_t number; text >> number;) numbers.push_back(number);
    if (command == "memory") {
        set_wide(top->memory, numbers);
    } else if (command == "register") {
        write_register(numbers.at(0), numbers.at(1));
    } else if (command == "model") {
        write_model(numbers.at(0), {numbers.begin() + 1, numbers.end()});
    } else if (command == "run") {
        run();
    } else if (command == "read") {
        const uint32_t word = read_register(numbers.at(0));
        std::cout << numbers.at(0) << " " << word << std::endl;
    } else {
        die("no such command: " + command);
    }
}

int main(int argc, char **argv) {
    Verilated::commandArgs(argc, argv);
    top = new Vtop;
    const std::string path = Verilated::commandArgsPlusMatch("script=");
    std::ifstream script(path.substr(path.find('=') + 1));
    if (!script) die("cannot open the script");
    std::vector<std::string> lines;
    for (std::string line; std::getline(script, line);) lines.push_back(line);

    top->s_axil_bready = top->s_axil_rready = top->s_axi_model_bready = 1;
    top->rst = 1;
    tick();  // the memories are loaded here
    tick();
    top->rst = 0;
    cycles = 0;
    const std::clock_t start = std::clock();
    for (const std::string &line : lines) obey(line);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::cout << cycles << " " << seconds << std::endl;
    top->final();
}
