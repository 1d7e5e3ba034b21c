// What of a launch's memory stays on the host for it: by argument, as the kernel's history has it,
// and by chunk, for what is served so often that it should have a place.
//
// Threads: not safe.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_IN_PLACE_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_IN_PLACE_H_

#include <absl/functional/function_ref.h>

#include <array>
#include <cstdint>

#include "runtime/placement/heat.h"
#include "runtime/placement/kernel_history.h"

namespace vramspan {

// The arguments of one launch that are as cheap where they lie. At most KernelHistory::kArguments
// are told apart; those beyond are moved.
class ServedArguments {
 public:
  // What the argument names of a chunk of that size. None for LaunchSample::kSeveral.
  void Add(uint16_t slot, Bytes named, Bytes size, bool on_device);
  // Asks the history. After all Adds, before Serves.
  void Judge(uint64_t kernel, KernelHistory* history);
  bool Serves(uint16_t slot) const {
    const Argument* argument = Find(slot);
    return argument != nullptr && argument->serve;
  }
  bool ServesAny() const { return any_; }

 private:
  struct Argument {
    uint16_t slot = 0;
    bool serve = false;
    KernelHistory::Remote all, remote;
  };
  const Argument* Find(uint16_t slot) const {
    for (size_t i = 0; i < count_; ++i) {
      if (arguments_[i].slot == slot) return &arguments_[i];
    }
    return nullptr;
  }

  std::array<Argument, KernelHistory::kArguments> arguments_;
  size_t count_ = 0;
  bool any_ = false;
};

// Whether chunks that are served in place have been so often enough to take others' places: of
// those that the planner would take for them, by size too (victims.h). One for each launch that is
// priced.
class PlaceMerit {
 public:
  // Calls `take` with chunks that could leave and their bytes, the first to leave first, until it
  // returns true or there are no more.
  using Take = absl::FunctionRef<bool(ChunkIndex, Bytes)>;
  using OfferVictims = absl::FunctionRef<void(Take take)>;

  PlaceMerit(const Heat& heat, Bytes room, OfferVictims offer)
      : heat_(heat), room_(room), offer_(offer) {}
  // Whether it is worth its move. If so its room is taken.
  bool Worth(ChunkIndex chunk, Bytes size);

 private:
  struct Victim {
    double heat;
    uint64_t size;
  };
  // A bit for each that is taken. More are not looked at, so a large chunk may be worth the places
  // of some small ones, not of many.
  using Taken = uint32_t;
  static constexpr size_t kMostVictims = 32;

  void Gather();
  // Of those left the one that the planner would take, or null.
  const Victim* Next(uint64_t need, Taken taken) const;

  const Heat& heat_;
  Bytes room_;
  OfferVictims offer_;
  bool gathered_ = false;
  Taken taken_ = 0;
  size_t count_ = 0;
  std::array<Victim, kMostVictims> victims_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_IN_PLACE_H_
