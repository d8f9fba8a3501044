// What acts at every rising edge of a clock: sources, monitors and sinks of streams, and waits.
#pragma once

#include <Python.h>

#include <functional>
#include <utility>
#include <vector>

#include "ports.h"

constexpr int64_t NEVER = -1;

// Acts at an edge. Records what moved, with the cycle; asks for Python at a number of records.
class Agent {
   public:
    virtual ~Agent() = default;
    virtual void edge(int64_t now) = 0;

    bool due() const {
        return ended || (live && wake_at != NEVER && static_cast<int64_t>(count) >= wake_at);
    }

    bool live = true;
    bool ended = false;           // Python is to know, whatever was recorded
    size_t count = 0;             // of records, in all
    int64_t wake_at = NEVER;      // count that Python waits for
    int words = 0;                // of a record
    std::vector<int64_t> cycles;  // of those that Python has not fetched
    std::vector<Word> data;

   protected:
    void keep(int64_t now) {
        ++count;
        cycles.push_back(now);
    }
};

// Says in a cycle whether a side of a stream pauses.
struct Stall {
    explicit Stall(uint64_t seed) : random(seed) {}
    ~Stall() { Py_XDECREF(function); }
    Stall(const Stall&) = delete;
    Stall& operator=(const Stall&) = delete;

    bool draw() {
        if (!function) return (random.draw() >> 1) < chance;
        const PyGILState_STATE state = PyGILState_Ensure();
        PyObject* answer = PyObject_CallNoArgs(function);
        const bool pauses = answer && PyObject_IsTrue(answer) == 1;
        Py_XDECREF(answer);
        failed |= !answer;
        PyErr_Clear();  // the function has told
        PyGILState_Release(state);
        return pauses;
    }

    bool never() const { return !function && !chance; }

    Word chance = 0;  // of 2**31
    bool failed = false;
    PyObject* function = nullptr;
    Random random;
};

// Offers beats to a stream; while it pauses, the payload is garbage.
class Source : public Agent {
   public:
    Source(Port valid, Port ready, std::vector<Port> payload, uint64_t seed)
        : stall(seed), valid(valid), ready(ready), payload(payload), garbage(~seed) {
        for (const Port& port : payload) width += port.words;
        valid.set(0);
    }

    void append(const Word* bits, size_t beats) {
        queue.insert(queue.end(), bits, bits + beats * width);
        queued += beats;
        if (offers || paused) return;
        begin();
        appended = steps();
    }

    void clear() {
        const size_t kept = offers ? (head + 1) * width : 0;
        queue.resize(kept);
        queued = offers ? head + 1 : 0;
        head = offers ? head : 0;
    }

    void abandon() {
        if (offers) valid.set(0);
        offers = paused = false;
        forget();
    }

    size_t missing() const { return queued - head; }

    void edge(int64_t now) override {
        if (!offers) return begin();
        // Whoever appended it woke at the edge's own time: `ready` does not yet follow `valid`.
        const int64_t at = std::exchange(appended, NEVER);
        if (at != NEVER && at == steps()) return valid.postpone();
        if (!ready.bit()) return;
        keep(now);
        ++head;
        offers = false;
        begin();
        if (!offers) valid.set(0);
    }

    Stall stall;
    bool babbles = false;  // the payload is garbage, too, while there is nothing to send

   private:
    void begin() {
        paused = false;
        if (head == queued) {
            if (babbles) scramble();
            return forget();
        }
        paused = stall.draw();
        ended |= stall.failed;
        if (paused) return scramble();
        const Word* bits = queue.data() + head * width;
        for (const Port& port : payload) {
            port.write(bits);
            bits += port.words;
        }
        valid.set(1);
        offers = true;
    }

    void scramble() {
        for (const Port& port : payload) {
            std::vector<Word> bits(port.words);
            for (Word& word : bits) word = garbage.draw();
            bits.back() &= port.last_word();
            port.write(bits.data());
        }
    }

    void forget() {
        queue.clear();
        queued = head = 0;
    }

    Port valid, ready;
    std::vector<Port> payload;
    Random garbage;
    std::vector<Word> queue;
    size_t queued = 0, head = 0;  // beats in the queue, and those of them that have moved
    int width = 0;
    bool offers = false, paused = false;
    int64_t appended = NEVER;  // time at which Python let it offer a beat
};

// Watches a stream: a beat that waits neither changes nor goes away. A sink also takes its beats.
class Monitor : public Agent {
   public:
    enum Wrong { NOTHING, WENT_AWAY, CHANGED };

    Monitor(Port valid, Port ready, std::vector<Port> payload, std::vector<Port> reset, bool takes,
            uint64_t seed)
        : stall(seed), valid(valid), ready(ready), payload(payload), reset(reset), takes(takes) {
        for (const Port& port : payload) words += port.words;
        bits.resize(words);
        before.resize(words);
    }

    void edge(int64_t now) override {
        watch(now);
        if (takes && (pauses || !stall.never())) drive();
    }

    void drive() {
        pauses = stall.draw();
        ready.set(!pauses);
        ended |= stall.failed;
    }

    Wrong wrong = NOTHING;
    bool lets_go = false;       // a beat that waits may change, or go away
    int flag = -1;              // bit of a beat in which those of `ignored` are taken as 0
    std::vector<Word> ignored;
    std::vector<Word> bits, before;
    Stall stall;

   private:
    bool in_reset() const { return !reset.empty() && reset[0].bit(); }

    void broke(Wrong how) {
        if (lets_go) return;
        wrong = how;
        ended = true;
    }

    void watch(int64_t now) {
        if (wrong) return;
        if (!valid.any()) {
            if (waiting && !in_reset()) broke(WENT_AWAY);
            waiting = false;
            return;
        }
        if (in_reset()) {
            waiting = false;
            return;
        }
        Word* at = bits.data();
        for (const Port& port : payload) {
            port.read(at);
            at += port.words;
        }
        if (flag >= 0 && bits[flag / 32] >> flag % 32 & 1)
            for (int k = 0; k < words; ++k) bits[k] &= ~ignored[k];
        if (waiting && bits != before) broke(CHANGED);
        if (wrong) return;
        waiting = !ready.bit();
        if (waiting) {
            before = bits;
        } else {
            keep(now);
            data.insert(data.end(), bits.begin(), bits.end());
        }
    }

    Port valid, ready;
    std::vector<Port> payload, reset;
    bool takes, pauses = false, waiting = false;
};

// Waits for a number of edges, or for the first at which a port has a value.
class Wait : public Agent {
   public:
    explicit Wait(int64_t edges) : left(edges) {}
    Wait(Port port, Word value) : ports{port}, value(value) {}

    void edge(int64_t) override {
        ended = ports.empty() ? --left <= 0 : ports[0].bit() == value;
        live = !ended;
    }

   private:
    std::vector<Port> ports;
    Word value = 0;
    int64_t left = 0;
};
