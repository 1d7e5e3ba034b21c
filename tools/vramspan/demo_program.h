// The program that the demo runs under one budget after the other: layers of weights that are only
// read, applied to an activation on one stream, and state that sweeps of integer and float
// arithmetic rewrite on another. At the end of a round the streams meet, the activation goes into
// the state, and pieces are copied down to the host and up again elsewhere. Every step depends on
// the ones before it, so one byte lost or stale changes the digest of everything after it.
//
// Pointers are plain. Where the runtime traces launches nothing is asked of the program: it
// allocates, launches and copies. Else it declares what each of them touches.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_DEMO_PROGRAM_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_DEMO_PROGRAM_H_

#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "tools/vramspan/demo_device.h"
#include "vramspan/vramspan.hpp"

namespace vramspan::demo {

struct Shape {
  size_t blocks = 64;      // A multiple of 4; half of them weights, half state.
  size_t block_bytes = 0;  // A multiple of 2 MiB.
  int rounds = 8;
  uint32_t work = 1;  // Arithmetic on each element; results depend on it.

  size_t words() const { return block_bytes / sizeof(uint32_t); }  // Of a block.
  size_t width() const;                                            // Words of an activation.
  Bytes data_bytes() const { return Bytes(blocks * block_bytes); }
  // With the activations and sums.
  Bytes total_bytes() const;
  // Blocks for at least `data` bytes. REQUIRES: data >= kMinData.
  static Shape For(Bytes data);
  static constexpr uint64_t kMinData = uint64_t{32} << 20;
};

// Two sums for every buffer, over every byte of it.
using Digest = std::vector<unsigned long long>;

class Program {
 public:
  // Allocates. Throws Error, as everything here. The device outlives the program.
  // `declares`: by scopes, for a runtime that sees no launches.
  Program(const Device& device, const Runtime& runtime, const Shape& shape, bool declares);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // First contents; returns when they are there.
  void Fill();
  // Runs all rounds to their end. At most two are queued ahead; `progress` hears of each that has
  // ended, as a count.
  void Run(const std::function<void(int)>& progress);
  // Waits for nothing but the stream it runs on: Run has returned.
  Digest Finish();

  // Every buffer that the digest covers, in its order.
  std::vector<Region> memory() const;

 private:
  using Words = Buffer<uint32_t>;

  // Calls `launch`, in a scope if the program declares.
  template <typename Launch>
  void Submit(CUstream stream, std::initializer_list<vramspanRange> ranges, Launch&& launch) const;
  template <typename T>
  void Upload(CUstream stream, const Buffer<T>& to, std::span<const T> from) const;
  template <typename T>
  void Download(CUstream stream, std::span<T> to, const Buffer<T>& from, size_t first) const;
  void SubmitLayer(size_t layer);
  void SubmitSweep(size_t block);
  void SubmitMeeting(int round);
  // Pieces of the state, down to the host and up again elsewhere.
  void SubmitCopies(int round);

  const Device& device_;
  const Runtime& runtime_;
  const Shape shape_;
  const bool declares_;
  std::vector<Words> weights_, state_;
  std::vector<Words> activations_;  // Two, in and out in turn.
  Buffer<unsigned long long> sums_;
  void* host_ = nullptr;        // Pinned, one piece.
  std::vector<CUevent> ended_;  // One for each round.
};

}  // namespace vramspan::demo

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_DEMO_PROGRAM_H_
