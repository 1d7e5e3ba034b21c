// What runs of a program have taught of its kernels, kept for the next run (docs/learned.md).
//
// It says what things cost, and nothing of what a launch may touch: what is wrong in it costs time
// and no more. Text is parsed as from a stranger: at most kMostLearnedText bytes, every line known,
// every figure within reason, and a sum over all of it.
//
// Pure. Threads: any.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_LEARNED_KERNELS_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_LEARNED_KERNELS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/placement/kernel_history.h"

namespace vramspan {

inline constexpr size_t kMostLearnedText = size_t{1} << 20;

// A kernel as another process finds it again: handles differ there, and so do addresses.
struct KernelIdentity {
  uint64_t name = 0;    // KernelPrice::HashOfName.
  uint64_t module = 0;  // A hash of the image that holds it; 0: not known.
  uint64_t shape = 0;   // Submission::rough_shape.
  uint64_t bytes = 0;   // RoughSize of what a launch touches.

  auto operator<=>(const KernelIdentity&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const KernelIdentity& i) {
    return H::combine(std::move(h), i.name, i.module, i.shape, i.bytes);
  }
};

struct LearnedKernel {
  // `told` of an argument is not kept: to whoever reads it, all is.
  struct Argument {
    ArgumentPrice price;
    uint32_t age = 0;  // Runs that took the price over, since one saw it.

    bool operator==(const Argument&) const = default;
  };
  // What is dearer is moved, however much dearer it is.
  static constexpr double kMostPasses = 1000;
  static constexpr uint64_t kMostResident = 60'000'000'000;  // Nanoseconds.
  static constexpr size_t kMostName = 200;
  static constexpr size_t kMostArguments = 2 * KernelHistory::kArguments;

  KernelIdentity id;
  std::string name;          // For people: clean, and cut.
  uint64_t resident_ns = 0;  // 0: not known, and no more is `touched`.
  Bytes touched;
  bool resident_told = false;  // As `told` of an argument.
  uint32_t resident_age = 0;   // Runs that took the time over, since one saw it.
  uint32_t age = 0;            // Runs since one launched it.
  std::vector<Argument> arguments;

  bool operator==(const LearnedKernel&) const = default;
};

struct Learned {
  // So many runs take over what none sees, then it is forgotten: what is wrong goes that way, too.
  static constexpr uint32_t kMostAge = 16;
  static constexpr size_t kMostKernels = KernelHistory::kMost;
  static constexpr size_t kMostWords = 400;  // Bytes of `program` and of `device`.

  uint64_t key = 0;             // Of the program and what it runs on.
  std::string program, device;  // The same in words; clean.
  uint64_t runs = 0;            // That were short of memory.
  std::vector<LearnedKernel> kernels;

  bool operator==(const Learned&) const = default;

  // What is to be kept after a run that began with this and has seen `seen`, best first.
  // REQUIRES: no identity comes twice in it.
  Learned After(std::vector<LearnedKernel> seen) const;
};

// As much of it as is read again, the first kernels first.
std::string LearnedText(const Learned& learned);
// The line that ends such a text, by what stands before it.
std::string LearnedEnd(std::string_view text);
// FailedPrecondition for text of another version, InvalidArgument for one that makes no sense; each
// names what is wrong.
StatusOr<Learned> ParseLearned(std::string_view text);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_LEARNED_KERNELS_H_
