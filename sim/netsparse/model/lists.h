// Lists of items that are linked by their `next`: an item is in one list at a time.
#pragma once

#include <cstdint>
#include <vector>

using Int = std::int64_t;

constexpr Int NONE = -1;
constexpr Int NEVER = Int(1) << 60;

// Two places, as hdl/common/streams.py has them: what comes can go a cycle later, and a place that
// becomes free is used a cycle later. What goes in a cycle must be taken before what comes.
template <typename Item>
struct Register {
    Item items[2] = {};
    Int count = 0, popped = NONE;

    bool room(Int t) const { return count + (popped == t) < 2; }

    void push(const Item &item) { items[count++] = item; }

    Item pop(Int t) {
        Item item = items[0];
        items[0] = items[1];
        --count;
        popped = t;
        return item;
    }
};

struct List {
    Int first = NONE, last = NONE, count = 0;

    template <typename Item>
    void push(std::vector<Item> &items, Int item) {
        items[item].next = NONE;
        (count ? items[last].next : first) = item;
        last = item;
        ++count;
    }

    template <typename Item>
    Int pop(const std::vector<Item> &items) {
        Int item = first;
        first = items[item].next;
        --count;
        return item;
    }
};
