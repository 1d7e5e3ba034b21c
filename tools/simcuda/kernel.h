// Kernels written once, as ordinary CUDA C++, and compiled for both worlds.
//
//   extern "C" __global__ void saxpy(float a, const float* x, float* y, size_t n) {
//     size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
//     if (i < n) y[i] += a * x[i];
//   }
//   SIMCUDA_EXPORT(saxpy);
//
//   __device__ unsigned long long counter;
//   SIMCUDA_EXPORT_GLOBAL(counter);
//
// vramspan_add_kernels (cmake/Kernels.cmake) puts this header before the source. Under nvcc both
// macros mean nothing. Compiled for the host they enter the kernel, with the layout of its
// parameters and a loop over the grid, in the image that tools/simcuda's cuModuleLoadData takes.
//
// Host images: the threads of a grid run one after another on one CPU thread, so __shared__ and
// __syncthreads do not compile, and a kernel may wait only for other streams and the host. Spin on
// a volatile (which ThreadSanitizer builds treat as acquire and release) with __nanosleep inside.

#ifndef VRAMSPAN_TOOLS_SIMCUDA_KERNEL_H_
#define VRAMSPAN_TOOLS_SIMCUDA_KERNEL_H_

#ifdef __CUDACC__

#define SIMCUDA_EXPORT(kernel) static_assert(sizeof(&kernel) != 0, #kernel)
#define SIMCUDA_EXPORT_GLOBAL(variable) static_assert(sizeof(variable) != 0, #variable)

#else  // Compiled for the host.

#if !(defined(__x86_64__) || defined(__aarch64__)) || !defined(__ELF__)
#error "simcuda kernel images are ELF shared objects for x86-64 or aarch64"
#endif

#include <type_traits>
#include <utility>

#include "tools/simcuda/kernel_abi.h"
#include "tools/simcuda/kernel_builtins.h"
#include "tools/simcuda/kernel_objects.h"

#define __global__ __attribute__((visibility("hidden")))
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
// clang-format off: the pragma's text must be one literal.
#define __shared__ _Pragma("GCC error \"simcuda: __shared__ is not supported in host kernels\"")
// clang-format on

#ifdef __SANITIZE_THREAD__
#include "tools/simcuda/kernel_tsan.h"
#endif

// Marks the file as an image before anything in it is run; the numbers are the sizes of the owner
// and of the (empty) description, and abi::kAbiVersion.
asm(".pushsection .note.simcuda, \"a\", @note\n"
    ".balign 4\n"
    ".long 8, 0, 2\n"
    ".asciz \"simcuda\"\n"
    ".popsection\n");

extern "C" {
__attribute__((visibility("default"), weak))
simcuda::abi::Image simcuda_image = {simcuda::abi::kAbiVersion, 0, nullptr, nullptr};
}

namespace simcuda::device {

inline constexpr uint32_t AlignUp(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

template <typename Function>
struct Signature;

template <typename... Args>
struct Signature<void (*)(Args...)> {
  static_assert((std::is_trivially_copyable_v<Args> && ...),
                "kernel parameters are copied byte by byte: no references, no constructors");
  static constexpr uint32_t kCount = sizeof...(Args);

  struct Layout {
    abi::Param params[kCount + 1];
    uint32_t bytes;
  };

  static constexpr Layout MakeLayout() {
    Layout layout = {};
    uint32_t index = 0;
    uint32_t end = 0;
    ((end = AlignUp(end, alignof(Args)), layout.params[index++] = {end, sizeof(Args)},
      end += sizeof(Args)),
     ...);
    layout.bytes = end;
    return layout;
  }
  static constexpr Layout kLayout = MakeLayout();
};

template <uint32_t kIndex, typename First, typename... Rest>
struct TypeAt : TypeAt<kIndex - 1, Rest...> {};
template <typename First, typename... Rest>
struct TypeAt<0, First, Rest...> {
  using Type = First;
};

template <auto kFunction, typename Function = decltype(kFunction)>
struct GridLoop;

template <auto kFunction, typename... Args>
struct GridLoop<kFunction, void (*)(Args...)> {
  // Flattened, so that the kernel is inlined into the loop and its indices stay in registers. The
  // arguments are copied for every thread: a kernel may change its parameters.
  __attribute__((flatten)) static void Run(const abi::Extent blocks, const abi::Extent threads,
                                           const Args... args) {
    gridDim = {blocks.x, blocks.y, blocks.z};
    blockDim = {threads.x, threads.y, threads.z};
    for (uint32_t bz = 0; bz < blocks.z; ++bz) {
      for (uint32_t by = 0; by < blocks.y; ++by) {
        for (uint32_t bx = 0; bx < blocks.x; ++bx) {
          blockIdx = {bx, by, bz};
          for (uint32_t tz = 0; tz < threads.z; ++tz) {
            for (uint32_t ty = 0; ty < threads.y; ++ty) {
              for (uint32_t tx = 0; tx < threads.x; ++tx) {
                threadIdx = {tx, ty, tz};
                kFunction(args...);
              }
            }
          }
        }
      }
    }
  }

  template <typename Sequence>
  struct Unpack;
  template <uint32_t... kIndex>
  struct Unpack<std::integer_sequence<uint32_t, kIndex...>> {
    static void Invoke([[maybe_unused]] const void* params, const abi::Extent* grid,
                       const abi::Extent* block) {
      [[maybe_unused]] constexpr auto kLayout = Signature<void (*)(Args...)>::kLayout;
      Run(*grid, *block,
          *reinterpret_cast<const typename TypeAt<kIndex, Args...>::Type*>(
              static_cast<const char*>(params) + kLayout.params[kIndex].offset)...);
    }
  };
  using Invoker = Unpack<std::make_integer_sequence<uint32_t, sizeof...(Args)>>;
};

struct KernelEntry : abi::Kernel {
  explicit KernelEntry(const abi::Kernel& kernel) : abi::Kernel(kernel) {
    next = simcuda_image.kernels;
    simcuda_image.kernels = this;
  }
};

struct GlobalEntry : abi::Global {
  explicit GlobalEntry(const abi::Global& global) : abi::Global(global) {
    next = simcuda_image.globals;
    simcuda_image.globals = this;
  }
};

template <auto kFunction>
constexpr abi::Kernel DescribeKernel(const char* name) {
  using Layout = Signature<decltype(kFunction)>;
  return {name,
          &GridLoop<kFunction>::Invoker::Invoke,
          Layout::kLayout.params,
          Layout::kCount,
          Layout::kLayout.bytes,
          nullptr};
}

}  // namespace simcuda::device

#define SIMCUDA_EXPORT(kernel)                                       \
  static const simcuda::device::KernelEntry simcuda_kernel_##kernel( \
      simcuda::device::DescribeKernel<&kernel>(#kernel))

#define SIMCUDA_EXPORT_GLOBAL(variable)                                            \
  static const simcuda::device::GlobalEntry simcuda_global_##variable(             \
      {#variable, const_cast<void*>(static_cast<const volatile void*>(&variable)), \
       sizeof(variable), nullptr})

#endif  // __CUDACC__

#endif  // VRAMSPAN_TOOLS_SIMCUDA_KERNEL_H_
