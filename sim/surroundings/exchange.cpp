// The ends of wires that are cut: a part of a simulated system exchanges what goes over them with the
// parts at their other ends, each of which is a process of its own.
//
// At each edge of the clock every channel takes a record of what leaves the part and returns the one
// that its neighbour had `epoch` edges before. Records of an epoch travel as one message, over one
// socket for each channel; so a part waits for others once in an epoch, and never Python. Messages
// also say which parts have come to a barrier, and when the latest of them did.
//
// INGATHER_EXCHANGE holds: edges of an epoch, number of this part, number of parts.
// INGATHER_SOCKETS holds a descriptor for each channel, INGATHER_TURNS two of a pipe: a part takes a
// byte from it before it works, and puts it back before it waits.

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "svdpi.h"

namespace exchange {

constexpr int ALONE = 75;  // exit status of a part whose neighbour has ended

struct Channel {
    int socket;
    std::string records;   // of this epoch, on their way out
    std::string outgoing;  // bytes of messages that the socket has not taken yet
    std::string incoming;  // bytes that have come
    std::string read;      // records of the neighbour's last epoch
    size_t place = 0;      // in them
    uint64_t edges = 0;
};

struct Header {
    uint64_t size, barrier, latest;  // bytes in all; which barrier; the latest cycle of an arrival
};

std::vector<int64_t> numbers(const char* name) {
    const char* text = std::getenv(name);
    std::istringstream stream(text ? text : "");
    std::vector<int64_t> found;
    for (int64_t number; stream >> number;) found.push_back(number);
    return found;
}

struct Part {
    std::vector<Channel> channels;
    std::vector<int64_t> turns = numbers("INGATHER_TURNS");
    std::vector<uint8_t> arrived;  // at the barrier, by part: 1, and what it says, shifted by 1
    uint64_t barrier = 0, latest = 0, edges = 0, epoch = 1, number = 0;
    bool ended = false, working = false;

    Part() {
        const std::vector<int64_t> about = numbers("INGATHER_EXCHANGE");
        for (int64_t socket : numbers("INGATHER_SOCKETS")) {
            channels.emplace_back();
            channels.back().socket = static_cast<int>(socket);
        }
        if (about.size() != 3) fail("INGATHER_EXCHANGE is missing");
        epoch = about[0];
        number = about[1];
        arrived.resize(about[2]);
        work(true);
    }

    [[noreturn]] static void fail(const char* text, int status = EXIT_FAILURE) {
        std::fprintf(stderr, "%s\n", text);
        std::fflush(nullptr);
        _exit(status);
    }

    static void alone() { fail("another part of the simulated system has ended", ALONE); }

    // Takes a turn, or gives it back.
    void work(bool begins) {
        if (turns.empty() || working == begins) return;
        working = begins;
        char token = 0;
        const auto move = [&] {
            return begins ? ::read(static_cast<int>(turns[0]), &token, 1)
                          : ::write(static_cast<int>(turns[1]), &token, 1);
        };
        while (move() != 1)
            if (errno != EINTR) alone();
    }

    void send(Channel& channel) {
        while (!channel.outgoing.empty()) {
            const ssize_t count = ::send(channel.socket, channel.outgoing.data(),
                                         channel.outgoing.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
            if (count < 0) alone();
            channel.outgoing.erase(0, static_cast<size_t>(count));
        }
    }

    static bool whole(const Channel& channel) {
        Header header;
        if (channel.incoming.size() < sizeof header) return false;
        std::memcpy(&header, channel.incoming.data(), sizeof header);
        return channel.incoming.size() >= header.size;
    }

    void receive(Channel& channel) {
        char bytes[1 << 16];
        while (!whole(channel)) {
            const ssize_t count = ::recv(channel.socket, bytes, sizeof bytes, MSG_DONTWAIT);
            if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
            if (count <= 0) alone();
            channel.incoming.append(bytes, static_cast<size_t>(count));
        }
    }

    // Moves bytes until a message of each neighbour is there, or until all has left.
    void move(bool wait_for_messages) {
        for (;;) {
            std::vector<pollfd> waits;
            for (Channel& channel : channels) {
                send(channel);
                if (wait_for_messages) receive(channel);
                const bool lacks = wait_for_messages && !whole(channel);
                const short events = static_cast<short>((lacks ? POLLIN : 0) |
                                                        (channel.outgoing.empty() ? 0 : POLLOUT));
                if (lacks || (!wait_for_messages && events))
                    waits.push_back({channel.socket, events, 0});
            }
            if (waits.empty()) break;
            work(false);
            ::poll(waits.data(), waits.size(), -1);
        }
        work(true);
    }

    void turn_over() {
        for (Channel& channel : channels) {
            const Header header{sizeof header + arrived.size() + channel.records.size(), barrier,
                                latest};
            channel.outgoing.append(reinterpret_cast<const char*>(&header), sizeof header);
            channel.outgoing.append(arrived.begin(), arrived.end());
            channel.outgoing += channel.records;
            channel.records.clear();
        }
        move(true);
        for (Channel& channel : channels) {
            Header header;
            std::memcpy(&header, channel.incoming.data(), sizeof header);
            const char* flags = channel.incoming.data() + sizeof header;
            if (header.barrier == barrier) {
                for (size_t k = 0; k < arrived.size(); ++k) arrived[k] |= flags[k];
                if (header.latest > latest) latest = header.latest;
            }
            const size_t first = sizeof header + arrived.size();
            channel.read.assign(channel.incoming, first, header.size - first);
            channel.incoming.erase(0, header.size);
            channel.place = 0;
        }
    }

    void step(int which, size_t bytes, uint8_t flags, bool carries, const void* payload,
              uint8_t* flags_come, bool* carries_come, void* payload_come) {
        *flags_come = *carries_come = 0;
        if (ended) return;
        Channel& channel = channels.at(which);
        if (channel.edges == edges) {  // the first of all channels at this edge
            if (edges && edges % epoch == 0) turn_over();
            ++edges;
        }
        if (++channel.edges > epoch) {
            const uint8_t head = static_cast<uint8_t>(channel.read.at(channel.place++));
            *flags_come = head >> 1;
            *carries_come = head & 1;
            if (*carries_come) {
                std::memcpy(payload_come, channel.read.data() + channel.place, bytes);
                channel.place += bytes;
            }
        }
        channel.records.push_back(static_cast<char>(flags << 1 | carries));
        if (carries) channel.records.append(static_cast<const char*>(payload), bytes);
    }
};

Part& part() {
    static Part& only = *new Part;
    return only;
}

}  // namespace exchange

extern "C" {

void ingather_exchange(int channel, int words, svBit carries, const svBitVecVal* flags,
                       const svBitVecVal* payload, svBit* carries_come, svBitVecVal* flags_come,
                       svBitVecVal* payload_come) {
    uint8_t come;
    bool carried;
    exchange::part().step(channel, words * sizeof(svBitVecVal), static_cast<uint8_t>(*flags),
                          carries, payload, &come, &carried, payload_come);
    *flags_come = come;
    *carries_come = carried;
}

// Says that this part has come to the barrier in this cycle, and up to 7 bits for all parts.
void ingather_arrive(uint64_t cycle, int says) {
    exchange::Part& part = exchange::part();
    part.arrived[part.number] = static_cast<uint8_t>(says << 1 | 1);
    if (cycle > part.latest) part.latest = cycle;
}

// Returns the cycle in which the last part came to the barrier; 0 if some have not.
uint64_t ingather_arrived() {
    const exchange::Part& part = exchange::part();
    for (uint8_t each : part.arrived)
        if (!each) return 0;
    return part.latest;
}

// Returns every bit that a part has said at the barrier.
int ingather_said() {
    int said = 0;
    for (uint8_t each : exchange::part().arrived) said |= each >> 1;
    return said;
}

// Gives the part's turn back while Python waits for something else, or takes one again.
void ingather_work(int works) {
    exchange::Part& part = exchange::part();
    if (!works) part.move(false);
    part.work(works);
}

// Goes on to the next barrier; behind the last one nothing is exchanged any more.
void ingather_pass(int last) {
    exchange::Part& part = exchange::part();
    ++part.barrier;
    part.latest = 0;
    part.arrived.assign(part.arrived.size(), 0);
    if (!last) return;
    part.move(false);
    part.ended = true;
    part.work(false);
    part.turns.clear();
}

}
