// Gives Python registers and interrupt of a kernel by xrt::ip, of which XRT's own pyxrt has nothing.
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

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace {
struct Kernel {
  xrt::ip ip;
  std::optional<xrt::ip::interrupt> interrupt; // from the first wait on
};

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
  Kernel *kernel = nullptr;
  guarded([&] {
    std::string card = device;
    bool number = card.find_first_not_of("0123456789") == std::string::npos;
    xrt::device opened = number ? xrt::device(static_cast<unsigned>(std::stoul(card))) : xrt::device(card);
    kernel = new Kernel{xrt::ip(opened, xrt::uuid(std::string(uuid)), name), {}};
  });
  return kernel;
}

int xrt_registers_read(Kernel *kernel, uint32_t offset, uint32_t *word) {
  return guarded([&] { *word = kernel->ip.read_register(offset); });
}

int xrt_registers_write(Kernel *kernel, uint32_t offset, uint32_t word) {
  return guarded([&] { kernel->ip.write_register(offset, word); });
}

// Waits for an interrupt, also one since the last wait; `came` tells whether there was one.
int xrt_registers_wait(Kernel *kernel, uint32_t milliseconds, int *came) {
  return guarded([&] {
    if (!kernel->interrupt)
      kernel->interrupt = kernel->ip.create_interrupt_notify();
    auto status = kernel->interrupt->wait(std::chrono::milliseconds(milliseconds));
    *came = status == std::cv_status::no_timeout;
    if (*came)
      kernel->interrupt->wait(); // which only now takes it: the wait with a time looks and leaves it
  });
}

void xrt_registers_close(Kernel *kernel) { delete kernel; }

const char *xrt_registers_error() { return error.c_str(); }
}
