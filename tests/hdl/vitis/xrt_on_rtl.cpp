// Stands before XRT's library and lets what would go to a card go to a socket, whose number is XRT_ON_RTL.
//
// These are registers, and copies of buffers, each of which has an address. All else is XRT's.
#include <experimental/xrt_ip.h>
#include <xrt/xrt_bo.h>

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace {
struct Request {
  uint32_t kind, size; // kind: 'r', 'w' of a register; 'R', 'W' of memory
  uint64_t place;
};

void all(bool sends, void *data, size_t size) {
  static const int socket = std::stoi(std::getenv("XRT_ON_RTL"));
  for (char *at = static_cast<char *>(data); size;) {
    auto moved = sends ? write(socket, at, size) : read(socket, at, size);
    if (moved <= 0)
      throw std::runtime_error("the simulation has ended");
    at += moved;
    size -= moved;
  }
}

void request(char kind, uint64_t place, void *data, uint32_t size) {
  bool writes = kind == 'w' || kind == 'W';
  Request head{static_cast<uint32_t>(kind), size, place};
  all(true, &head, sizeof head);
  all(writes, data, size);
}
} // namespace

uint32_t xrt::ip::read_register(uint32_t offset) const {
  uint32_t word;
  request('r', offset, &word, 4);
  return word;
}

void xrt::ip::write_register(uint32_t offset, uint32_t word) { request('w', offset, &word, 4); }

uint64_t xrt::bo::address() const {
  static std::map<void *, uint64_t> places;
  auto mapped = const_cast<xrt::bo *>(this)->map();
  return places.emplace(mapped, (places.size() + 1) << 28).first->second;
}

void xrt::bo::sync(xclBOSyncDirection direction, size_t size, size_t offset) {
  char *data = map<char *>() + offset;
  request(direction == XCL_BO_SYNC_BO_TO_DEVICE ? 'W' : 'R', address() + offset, data, size);
}
