// Gives Python the registers of a kernel by xrt::ip, of which XRT's own module pyxrt has nothing.
//
// g++ -std=c++17 -shared -fPIC -I$XILINX_XRT/include xrt_registers.cpp
//     -o libxrt_registers.so -L$XILINX_XRT/lib -lxrt_coreutil
#if __has_include(<xrt/experimental/xrt_ip.h>)
#include <xrt/experimental/xrt_ip.h>
#else
#include <experimental/xrt_ip.h>
#endif
#include <xrt/xrt_device.h>
#include <xrt/xrt_uuid.h>

#include <cstdint>
#include <exception>
#include <string>

namespace {
std::string error;

// Calls what may throw; returns 0, or -1 when it has thrown.
template <typename Call> int guarded(Call call) {
  try {
    call();
    return 0;
  } catch (const std::exception &thrown) {
    error = thrown.what();
    return -1;
  }
}
} // namespace

extern "C" {
// Opens the kernel `name` of the xclbin `uuid`, which is loaded, at a card's number or PCI address;
// returns nullptr when XRT refuses.
void *xrt_registers_open(const char *device, const char *uuid, const char *name) {
  void *ip = nullptr;
  guarded([&] {
    std::string card = device;
    bool number = card.find_first_not_of("0123456789") == std::string::npos;
    xrt::device opened = number ? xrt::device(static_cast<unsigned>(std::stoul(card))) : xrt::device(card);
    ip = new xrt::ip(opened, xrt::uuid(std::string(uuid)), name);
  });
  return ip;
}

int xrt_registers_read(void *ip, uint32_t offset, uint32_t *word) {
  return guarded([&] { *word = static_cast<xrt::ip *>(ip)->read_register(offset); });
}

int xrt_registers_write(void *ip, uint32_t offset, uint32_t word) {
  return guarded([&] { static_cast<xrt::ip *>(ip)->write_register(offset, word); });
}

void xrt_registers_close(void *ip) { delete static_cast<xrt::ip *>(ip); }

const char *xrt_registers_error() { return error.c_str(); }
}
