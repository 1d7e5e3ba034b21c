// What a host kernel image (an ELF shared object) hands to the simulated driver.
//
// An image is made by compiling a .cu file for the host with tools/simcuda/kernel.h. It carries
//   - a note (owner kNoteOwner, type kAbiVersion) that marks it before anything in it is run, and
//   - one exported variable, kImageSymbol of type Image, which heads two linked lists that the
//     image's constructors fill.
// Everything the lists name belongs to the image and lives as long as it stays loaded.
//
// Plain C++ without includes beyond <cstdint>: both sides of the boundary compile this file.

#ifndef VRAMSPAN_TOOLS_SIMCUDA_KERNEL_ABI_H_
#define VRAMSPAN_TOOLS_SIMCUDA_KERNEL_ABI_H_

#include <cstdint>

namespace simcuda::abi {

// A change of any type below, or in object_abi.h, needs a new version: images of another one are
// refused.
inline constexpr uint32_t kAbiVersion = 2;
inline constexpr char kNoteOwner[] = "simcuda";
inline constexpr char kImageSymbol[] = "simcuda_image";

struct Extent {
  uint32_t x;
  uint32_t y;
  uint32_t z;
};

// One kernel parameter inside the packed parameter block, laid out as CUDA lays it out.
struct Param {
  uint32_t offset;
  uint32_t size;
};

struct Kernel {
  const char* name;
  // Runs the whole grid on the calling thread. `params` is the packed block, aligned to 16 bytes.
  void (*invoke)(const void* params, const Extent* grid, const Extent* block);
  const Param* params;
  uint32_t param_count;
  uint32_t param_bytes;
  const Kernel* next;
};

struct Global {
  const char* name;
  void* address;
  uint64_t bytes;
  const Global* next;
};

struct Image {
  uint32_t version;
  uint32_t reserved;
  const Kernel* kernels;
  const Global* globals;
};

}  // namespace simcuda::abi

#endif  // VRAMSPAN_TOOLS_SIMCUDA_KERNEL_ABI_H_
