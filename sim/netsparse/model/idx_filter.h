// The idx filter: requests that a unit's own cache knows no answer of go to banks, in turn.
#pragma once

#include "turns.h"

namespace idx_filter {

constexpr Int NEAR = 4;    // cycles from a request to its answer, or to its leaving for a bank
constexpr Int WAITS = 15;  // of a unit, until it takes no more
constexpr Int BANK = 5;    // from a bank's carrying a request out to its answer
constexpr Int FILL = 11;   // beside the memory's latency, for a line that must be fetched
constexpr Int BLANK = 10;  // for one that is zeros, as its set has lost none
constexpr Int BLOCK = 16;  // idxs that an answer tells a unit of
constexpr Int LINE = 512;  // idxs of a line

// Ones of the block of `need`; a node's needs lie in the order of their idxs.
inline Int ones_around(const State &s, Int n, Int need) {
    Int block = s.idx[need] / BLOCK, ones = 0;
    for (Int at = need; at >= s.need_base[n] && s.idx[at] / BLOCK == block; --at)
        ones |= Int(s.bit[at]) << s.idx[at] % BLOCK;
    for (Int at = need + 1; at < s.need_base[n + 1] && s.idx[at] / BLOCK == block; ++at)
        ones |= Int(s.bit[at]) << s.idx[at] % BLOCK;
    return ones;
}

// Write what an answer has told into the unit's own cache.
inline void fill(Client &client) {
    if (client.fill.ones) client.near[client.fill.block % Int(client.near.size())] = client.fill;
    client.fill.ones = 0;
}

// Let a unit's own cache answer a lookup whose bit it knows; everything else goes to the banks.
inline void ask(State &s, Node &node, Client &client, Int pr, Int t) {
    Pr &one = s.prs[pr];
    Int idx = s.idx[one.need], block = idx / BLOCK;
    if (client.fill_time < t) fill(client);
    const Near &near = client.near[block % s.k.unit_rows];
    one.time = t + NEAR;
    if (!one.sets && near.block == block && near.ones >> idx % BLOCK & 1) {
        client.near_answers.push(s.prs, pr);
    } else {
        client.far.push(s.prs, pr);
        ++node.far;
    }
}

inline bool takes(const Client &client) {
    return client.far.count < WAITS && client.near_answers.count < WAITS;
}

// Keep an answer; what a bank says is known in the unit's own cache two cycles later.
inline void keep(State &s, Client &client, Int pr, Int bit, Int t) {
    Slots &slots = s.prs[pr].sets ? client.sets : client.lookups;
    slots.all[s.prs[pr].slot].answered = t;
    slots.all[s.prs[pr].slot].bit = bit;
}

// Take the answer that comes to a unit in this cycle: a bank's goes first.
inline void hear(State &s, Client &client, Int t) {
    if (client.answer != NONE && client.answer_time == t) {
        Int pr = client.answer, ones = s.prs[pr].ones, idx = s.idx_of(pr);
        client.answer = NONE;
        keep(s, client, pr, ones >> idx % BLOCK & 1, t);
        if (!ones) return;
        fill(client);
        client.fill = {idx / BLOCK, ones};
        client.fill_time = t + 1;
    } else if (client.near_answers.count && s.prs[client.near_answers.first].time <= t) {
        keep(s, client, client.near_answers.pop(s.prs), 1, t);
    }
}

// Carry out a request that goes to a bank now.
inline void visit(State &s, Int n, Bank &bank, Int pr, Int t) {
    Node &node = s.nodes[n];
    Int need = s.prs[pr].need, line = s.idx[need] / LINE, &ready = node.line_ready[line];
    Int seen = std::max(t, bank.last) + 1;
    if (ready == NEVER) {
        bool blank = ++node.set_lines[line % s.k.filter_sets] <= s.k.filter_ways;
        ready = seen + (blank ? BLANK : FILL + s.k.dram_latency);
    }
    bank.before = bank.last;
    bank.last = std::max(seen, ready);
    s.bit[need] |= s.prs[pr].sets;
    s.prs[pr].ones = ones_around(s, n, need);
    s.prs[pr].time = bank.last + BANK;
    bank.answers.push(s.prs, pr);
    ++node.near;
}

// Let each bank that has room take the next unit's request.
inline void request_banks(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    Client *clients = &s.clients[n * s.k.clients];
    for (Int b = 0; b < s.k.banks && node.far; ++b) {
        Bank &bank = node.banks[b];
        if (bank.before >= t) continue;
        Int unit = turns::next(bank.turn, s.k.clients, [&](Int k) {
            Int pr = clients[k].far.first;
            return clients[k].far.count && clients[k].went < t && s.prs[pr].time <= t &&
                   s.idx_of(pr) / LINE % s.k.banks == b;
        });
        if (unit == NONE) continue;
        bank.turn = unit;
        --node.far;
        clients[unit].went = t;
        visit(s, n, bank, clients[unit].far.pop(s.prs), t);
    }
}

// Let each unit take the next bank's answer.
inline void answer_units(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    auto ripe = [&](const Bank &bank) {
        return bank.answers.count && s.prs[bank.answers.first].time <= t;
    };
    auto unit_of = [&](const Bank &bank) -> Client & {
        return s.clients[bank.answers.first / s.k.entries];
    };
    auto behind = [&](const Client &unit, Int b) {
        return (b - unit.answer_bank - 1 + 2 * s.k.banks) % s.k.banks;
    };
    for (Int b = 0; b < s.k.banks; ++b) {
        if (!ripe(node.banks[b])) continue;
        Client &unit = unit_of(node.banks[b]);
        bool first = unit.answer_time != t + 1;
        if (first || behind(unit, b) < behind(unit, unit.best_bank)) unit.best_bank = b;
        unit.answer_time = t + 1;
    }
    for (Int b = 0; b < s.k.banks; ++b) {
        Bank &bank = node.banks[b];
        if (!ripe(bank) || unit_of(bank).best_bank != b) continue;
        Client &unit = unit_of(bank);
        unit.answer = bank.answers.pop(s.prs);
        unit.answer_bank = b;
        --node.near;
    }
}

inline void step(State &s, Int n, Int t) {
    if (s.nodes[n].near) answer_units(s, n, t);
    if (s.nodes[n].far) request_banks(s, n, t);
}

}  // namespace idx_filter
