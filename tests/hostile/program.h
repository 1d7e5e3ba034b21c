// What the programs of this folder share: the driver's primary context, kernels, and checks. A
// program is a stranger's: it calls the driver, and knows nothing of vramspan. What it prints
// depends on nothing but its arguments, since it is compared.
//
//   HOSTILE_PROGRAM(name) { Start(); …; return 0; }   // argc, argv: the name, and what stands
//   behind it
#ifndef VRAMSPAN_TESTS_HOSTILE_PROGRAM_H_
#define VRAMSPAN_TESTS_HOSTILE_PROGRAM_H_

#include <cuda.h>

#include <cstddef>
#include <vector>

#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(hostile_kernels);

namespace hostile {

using Word = unsigned long long;

// A block of memory: eight of them are what the budgets of cases.cc hold. Kernels work on its first
// words; what moves is the block.
constexpr size_t kBlock = size_t{2} << 20;
constexpr size_t kBlockWords = 4096;

struct Gpu {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction add = nullptr, wait_add = nullptr, churn = nullptr, nothing = nullptr;
};
extern Gpu gpu;

// Ends the program with code 3 and a line where `result` is none of success.
void Check(CUresult result, const char* call, const char* file, int line);
#define OK(call) ::hostile::Check((call), #call, __FILE__, __LINE__)

// The primary context of device 0, current, with the kernels loaded.
void Start();

// Kernels: add to the words; add once *flag is set; add 1 until *flag; do nothing.
void Add(CUdeviceptr words, size_t count, Word value, CUstream stream);
void WaitAdd(CUdeviceptr flag, CUdeviceptr words, size_t count, Word value, CUstream stream);
void Churn(CUdeviceptr flag, CUdeviceptr words, size_t count, CUdeviceptr passes, CUstream stream);
void Nothing(CUdeviceptr words, CUstream stream);

CUstream MakeStream();
std::vector<CUdeviceptr> Blocks(size_t count);  // Zeroed.
void AddToAll(const std::vector<CUdeviceptr>& blocks, CUstream stream);
// How many of the words that are worked on are not `expected`.
size_t WrongWords(CUdeviceptr block, Word expected);

// A page of host memory that kernels see.
struct Page {
  Page();
  volatile unsigned* word = nullptr;  // On the host.
  CUdeviceptr address = 0;            // For kernels.
};

// A program by name.
using Main = int (*)(int argc, char** argv);
bool Register(const char* name, Main main);

}  // namespace hostile

#define HOSTILE_PROGRAM(name)                                                                     \
  static int Main_##name(int argc, char** argv);                                                  \
  [[maybe_unused]] static const bool registered_##name = ::hostile::Register(#name, Main_##name); \
  static int Main_##name([[maybe_unused]] int argc, [[maybe_unused]] char** argv)

#endif  // VRAMSPAN_TESTS_HOSTILE_PROGRAM_H_
