// Reads or writes over an AXI4 or AXI4-Lite bus, one transfer at a time.
#pragma once

#include <algorithm>
#include <string>

#include "agents.h"

constexpr int64_t MAX_BEATS = 256, PAGE_BYTES = 4096;  // of a burst, and what it stays within

// One side of a master. It acts from `begin` to the last answer, and costs nothing in between.
class Master : public Agent {
   public:
    Master(const std::string& bus, bool writes)
        : writes(writes),
          bytes(Port((bus + "wstrb").c_str()).bits()),
          bursts(there(bus + "wlast")),
          requests(source(bus + (writes ? "aw" : "ar"), {"addr", "len"})),
          beats(source(bus + "w", writes ? Names{"data", "last"} : Names{})),
          answers(monitor(bus + (writes ? "b" : "r"), writes ? Names{"resp"} : Names{"data", "resp"})) {
        const std::string address = bus + (writes ? "aw" : "ar");
        address_words = Port((address + "addr").c_str()).words;
        fix(address + "size", __builtin_ctz(bytes));
        fix(address + "burst", 1);
        fix(address + "id", 0);
        fix(address + "prot", 0);
        if (writes) {
            const Port strobe((bus + "wstrb").c_str());
            std::vector<Word> ones(strobe.words, ~Word{0});
            ones.back() &= strobe.last_word();
            strobe.write(ones.data());
        }
        answers.drive();
        live = false;
    }

    void begin(uint64_t address, const std::vector<Word>& data, size_t length) {
        const int width = std::max<int>(bytes / sizeof(Word), 1);
        size_t left = length / bytes, place = 0;
        // Who waited for the transfer before may have been cancelled; its answers still come.
        stale = wanted > answers.count ? wanted - answers.count : 0;
        answers.data.clear();
        wanted = std::max(wanted, answers.count) + (writes ? 0 : left);
        while (left) {
            const int64_t room = (PAGE_BYTES - static_cast<int64_t>(address % PAGE_BYTES)) / bytes;
            const size_t count = bursts ? std::min<size_t>(left, std::min(MAX_BEATS, room)) : 1;
            std::vector<Word> request{static_cast<Word>(address), static_cast<Word>(address >> 32)};
            request.resize(address_words);
            if (bursts) request.push_back(static_cast<Word>(count - 1));
            requests.append(request.data(), 1);
            for (size_t k = 0; writes && k < count; ++k, ++place) {
                std::vector<Word> beat(data.begin() + place * width, data.begin() + (place + 1) * width);
                if (bursts) beat.push_back(k + 1 == count);
                beats.append(beat.data(), 1);
            }
            wanted += writes;
            address += count * bytes;
            left -= count;
        }
        live = true;
    }

    void edge(int64_t now) override {
        requests.edge(now);
        if (writes) beats.edge(now);
        answers.edge(now);
        ended = answers.count >= wanted || answers.wrong;
        live = !ended;
    }

    // Return the worst response of the last transfer, and what was read.
    Word outcome(std::string& found) {
        Word worst = answers.wrong ? 3 : 0;
        for (size_t at = stale * answers.words; at < answers.data.size(); at += answers.words) {
            if (!writes) found.append(reinterpret_cast<const char*>(&answers.data[at]), bytes);
            worst = std::max(worst, answers.data[at + answers.words - 1]);
        }
        for (Agent* agent : std::initializer_list<Agent*>{&requests, &beats, &answers}) {
            agent->cycles.clear();
            agent->data.clear();
        }
        return worst;
    }

   private:
    using Names = std::vector<const char*>;

    static bool there(const std::string& path) {
        return vpi_handle_by_name(const_cast<char*>(path.c_str()), nullptr);
    }

    static void fix(const std::string& path, Word value) {
        if (there(path)) Port(path.c_str()).set(value);
    }

    // Those of the names that the bus has.
    static std::vector<Port> payload(const std::string& channel, const Names& names) {
        std::vector<Port> found;
        for (const char* name : names)
            if (there(channel + name)) found.emplace_back((channel + name).c_str());
        return found;
    }

    static Source source(const std::string& channel, const Names& names) {
        const Port valid(names.empty() ? "" : (channel + "valid").c_str());
        return {valid, Port((channel + "ready").c_str()), payload(channel, names), 0};
    }

    static Monitor monitor(const std::string& channel, const Names& names) {
        const Port valid((channel + "valid").c_str()), ready((channel + "ready").c_str());
        return {valid, ready, payload(channel, names), {}, true, 0};
    }

    bool writes;
    int bytes;    // of a beat
    bool bursts;  // else each beat has its own address
    int address_words;
    Source requests, beats;
    Monitor answers;
    size_t wanted = 0, stale = 0;  // answers in all, and those due to a transfer before
};
