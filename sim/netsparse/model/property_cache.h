// The Property Cache of a middle pipe: sets of ways, of which the least recently used goes first.
#pragma once

#include "state.h"

namespace property_cache {

// The ways of an idx's row: {segment without the bits that its mode ignores, set}.
inline Line *row_of(const Shape &k, Pipe &pipe, Int idx) {
    Int segment = idx / k.sets % k.segments / k.together;
    return &pipe.lines[(segment * k.sets + idx % k.sets) * k.ways];
}

inline Line *find(const Shape &k, Line *row, Int idx) {
    for (Line *line = row; line != row + k.ways; ++line)
        if (line->idx == idx) return line;
    return nullptr;
}

// Whether the property of `idx` is there.
inline bool look_up(const Shape &k, Pipe &pipe, Int idx) {
    Line *line = find(k, row_of(k, pipe, idx), idx);
    if (line) line->used = ++pipe.stamp;
    ++(line ? pipe.counts.hit : pipe.counts.miss);
    return line;
}

// Keep the property of `idx`, unless it is there.
inline void insert(const Shape &k, Pipe &pipe, Int idx) {
    Line *row = row_of(k, pipe, idx);
    if (find(k, row, idx)) {
        ++pipe.counts.present;
        return;
    }
    Line *victim = row;
    for (Line *line = row; line != row + k.ways; ++line)
        if (line->used < victim->used) victim = line;
    ++pipe.counts.inserted;
    pipe.counts.replaced += victim->idx != NONE;
    *victim = {idx, ++pipe.stamp};
}

}  // namespace property_cache
