// Prints what XRT's library makes of an xclbin: its kernels, and each argument with its memories.
#include <experimental/xrt_xclbin.h>

#include <cstdio>

int main(int, char **values) {
  xrt::xclbin file{std::string(values[1])};
  for (auto &kernel : file.get_kernels())
    for (auto &unit : kernel.get_cus()) {
      std::printf("%s %lx %zx\n", unit.get_name().c_str(), unit.get_base_address(), unit.get_size());
      for (auto &arg : unit.get_args())
        for (auto &memory : arg.get_mems())
          std::printf("%s %s %zu %lx %lx %s %lx\n", arg.get_name().c_str(), arg.get_port().c_str(), arg.get_index(),
                      arg.get_offset(), arg.get_size(), memory.get_tag().c_str(), memory.get_base_address());
    }
}
