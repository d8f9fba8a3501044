// Lists of items that are linked by their `next`: an item is in one list at a time.
#pragma once

#include <cstdint>
#include <vector>

using Int = std::int64_t;

constexpr Int NONE = -1;
constexpr Int NEVER = Int(1) << 60;

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
