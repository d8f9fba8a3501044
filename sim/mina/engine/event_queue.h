// Running jobs by the time of their next event: a binary heap that knows where each job stands.
#pragma once

#include <limits>

#include "job.h"

class EventQueue {
    struct Event {
        double time;
        Int turn;  // of events at one time; the low half is the job's number

        // Without branches, which no processor could predict.
        bool operator<(const Event& other) const {
            return (time < other.time) | ((time == other.time) & (turn < other.turn));
        }
    };

    std::vector<Event> heap;
    std::vector<int> place;  // in the heap, by job: apart from the jobs, which fill no cache like this

    void put(int at, const Event& event) {
        heap[at] = event;
        place[uint32_t(event.turn)] = at;
    }

    // Moves an event from `at` to where it belongs.
    void settle(int at, const Event& event) {
        for (; at && event < heap[(at - 1) / 2]; at = (at - 1) / 2) put(at, heap[(at - 1) / 2]);
        int size = int(heap.size());
        for (int child; (child = 2 * at + 1) < size; at = child) {
            if (child + 1 < size) child += heap[child + 1] < heap[child];
            if (!(heap[child] < event)) break;
            put(at, heap[child]);
        }
        put(at, event);
    }

  public:
    explicit EventQueue(Int jobs) : place(jobs) {}

    // The lowest rank comes first, of equal ranks the lowest number.
    static Int turn(Int rank, int number) { return rank * (Int(1) << 32) + number; }

    void add(const Job& job) {
        heap.emplace_back();
        settle(int(heap.size()) - 1, {job.run->next, job.turn});
    }

    // The time or the turn of the job's next event is another one now.
    void update(const Job& job) { settle(place[job.number], {job.run->next, job.turn}); }

    void remove(const Job& job) {
        Event last = heap.back();
        heap.pop_back();
        if (place[job.number] < int(heap.size())) settle(place[job.number], last);
    }

    // The number of the job whose event comes first; -1 if none ever comes.
    int first() const {
        bool comes = !heap.empty() && heap[0].time < std::numeric_limits<double>::infinity();
        return comes ? int(uint32_t(heap[0].turn)) : -1;
    }
};
