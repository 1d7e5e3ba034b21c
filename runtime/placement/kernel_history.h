// What earlier launches of a kernel proved: how long it runs with its memory on the device, and how
// often each byte of an argument crosses the bus when it is served in place. From that, whether the
// next launch should have the argument moved first.
//
// The measure is `passes`: the time that the remote part added, over the time of streaming it once.
// About 1 for a kernel that reads each byte once (or less, where other work hides it), 79 for a
// GEMM that re-reads its weights (measured), tens for random access beyond what the GPU's TLB
// reaches, which begins at about 1 GiB: more remote memory than that is a case of its own.
//
// An unknown kernel's memory is moved: that costs at most about twice what serving it would, and
// serving the wrong kernel in place costs up to 79 times. A kernel that gets through its memory at
// a fair part of the memory's own rate most likely reads it once. Once its resident time is known,
// one chunk of an argument is served in place as a trial, and again until two say the same or there
// are three, of which the middle one counts; what cannot be told from those (too small beside the
// kernel's time) counts as cheap.
//
// What is served is what an argument names, and what moves is whole chunks. So an array of a few
// KiB in a chunk of 64 MiB may be read many times in place before the move is cheaper. A launch
// that takes less than a hundredth of the move is served untried. In place it takes about a hundred
// times as long at worst, since the second-level cache is that much faster than the bus.
//
// Bounded: kMost kernels; the least recently launched goes. Pure and deterministic. Threads: not
// safe.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_KERNEL_HISTORY_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_KERNEL_HISTORY_H_

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/base/roughly.h"
#include "runtime/placement/prices.h"

namespace vramspan {

// One finished launch.
struct LaunchSample {
  static constexpr uint16_t kSeveral = 0xffff;

  uint64_t kernel = 0;       // Of code, and of about which shape and how much memory.
  uint16_t slot = kSeveral;  // The argument that was partly remote, if it was the only one.
  Bytes touched;             // All of its likely memory.
  Bytes remote;              // Of that, served in place.
  Bytes argument;            // All that the argument in `slot` names; 0: not known.
  Bytes moved;               // The chunks that it is remote in; 0: not known.
  // Of what was served in place, other arguments than the one in `slot`, and what that adds, as far
  // as it is known.
  Bytes apart;
  uint64_t apart_nanoseconds = 0;
  uint64_t nanoseconds = 0;
  uint64_t unsure = 0;  // Nanoseconds: it may have ended so much earlier.
};

// What is known of how often each byte of an argument crosses the bus.
struct ArgumentPrice {
  uint16_t slot = 0;
  bool wide = false;  // Of more than KernelHistory::kWide.
  bool sure = false;  // Enough launches have shown it.
  bool told = false;  // An earlier run did, and nothing that was seen in this one.
  double passes = 0;

  bool operator==(const ArgumentPrice&) const = default;
};

// What is known of a kernel, in figures that are good in another process.
struct KernelFacts {
  uint64_t resident_ns = 0;    // With all its memory on the device; 0: not known.
  Bytes touched;               // Then.
  bool resident_told = false;  // An earlier run says so, and this one has not seen it often enough.
  std::vector<ArgumentPrice> arguments;

  bool operator==(const KernelFacts&) const = default;
};

class KernelHistory {
 public:
  enum class Verdict : uint8_t {
    kMove,   // Worth moving, or not known yet.
    kTry,    // Serve one chunk in place and see.
    kServe,  // As cheap where it lies.
  };
  static constexpr size_t kMost = 4096;
  static constexpr size_t kArguments = 8;  // Told apart in one kernel; the others share the last.
  static constexpr Bytes kWide = GiB(1);   // Remote memory beyond this is a case of its own.
  static constexpr int kTrials = 3;        // At most; the middle one counts,
  static constexpr double kDear = 4;       // unless one adds so many passes, of a whole chunk.

  explicit KernelHistory(const Prices& prices) : prices_(prices) {}

  void Record(const LaunchSample& sample);
  // What earlier runs prove of a kernel: each of its arguments, as far as nothing has been seen of
  // it, counts as tried with so many passes, and `resident` nanoseconds as what a launch takes.
  // What is seen from then on counts as ever.
  void Teach(uint64_t kernel, double passes, uint64_t resident);
  // What an earlier run has seen (Facts), as far as nothing was seen of it here, nor taught. It is
  // gone by until enough is seen: of the time three launches, of an argument's price two that
  // agree. A launch that is faster than it can be disproves the time at once.
  void Know(uint64_t kernel, uint64_t resident_ns, Bytes touched);
  void KnowArgument(uint64_t kernel, const ArgumentPrice& price);
  // What is known of each kernel, the one that was launched last first. Also where that is nothing
  // any more.
  struct KnownKernel {
    uint64_t kernel;
    KernelFacts facts;
  };
  std::vector<KnownKernel> Facts() const;
  // What would be served in place for a launch, or moved instead.
  struct Remote {
    Bytes named;  // Of the argument.
    Bytes moved;  // The chunks that it lies in.
  };
  Verdict For(uint64_t kernel, uint16_t slot, const Remote& remote);
  // How often each byte of the argument crosses the bus in a launch that is served so much in
  // place; nothing where that was never seen.
  std::optional<double> Passes(uint64_t kernel, uint16_t slot, Bytes remote) const;
  // So much of the argument is about to be served, and is not known to be cheap: whether its end is
  // to be seen when it comes. So often, at most.
  bool WantsSample(uint64_t kernel, uint16_t slot, Bytes remote);
  static constexpr uint8_t kMostWanted = 4 * kTrials;
  // Whether that was seen of any of its arguments.
  bool HasPasses(uint64_t kernel) const;
  // Grows whenever what For says of some argument has become another.
  uint64_t changes() const { return changes_; }
  // Whether enough launches were seen with all their memory on the device. Before that they are
  // timed; and no trial is made, unless an earlier run says how long they take.
  bool KnowsResident(uint64_t kernel) const;
  // How long a launch takes with all its memory on the device, in nanoseconds, by and large: in so
  // few different figures that one kernel's seldom changes. What is not known counts as short.
  uint64_t Expected(uint64_t kernel) const;
  // Grows whenever what Expected says of some kernel has become another.
  uint64_t expected_changes() const { return expected_changes_; }
  uint64_t expected_changed() const { return expected_changed_; }  // Of which it last did.
  // How long a launch may well take, in nanoseconds, where its memory lies as the sample says; 0
  // where nothing is known. Generous.
  uint64_t MayTake(const LaunchSample& sample) const;
  size_t size() const { return kernels_.size(); }

 private:
  // Resident launches seen before a trial is made: the first ones load and warm up.
  static constexpr uint32_t kSettled = 3;

  struct Argument {
    uint16_t slot = 0;
    bool used = false;
    // Of narrow access and of wide: the middle one of the first kTrials, smoothed from then on.
    std::array<double, 2> passes{};
    std::array<uint8_t, 2> trials{};
    std::array<uint8_t, 2> wanted{};                    // Samples.
    std::array<bool, 2> told{};                         // Nothing of it was seen here yet.
    std::array<std::array<float, kTrials>, 2> first{};  // In order.
  };
  struct Kernel {
    double resident = 0;  // Nanoseconds, smoothed; 0: never seen with all its memory there.
    Bytes touched;        // Then.
    uint32_t resident_samples = 0;
    double seen = 0;               // The fastest of the first samples.
    bool resident_told = false;    // Of an earlier run: good until enough samples say otherwise,
    bool disproved = false;        // or one did.
    std::optional<double> taught;  // Passes.
    std::array<Argument, kArguments> arguments;
    std::list<uint64_t>::iterator age;
  };

  Kernel& Find(uint64_t kernel);
  // Null: it is not known.
  const Kernel* Known(uint64_t kernel) const;
  void ExpectedChanged(uint64_t kernel, uint64_t expected) {
    ++expected_changes_;
    expected_changed_ = kernel;
    expected_[kernel] = expected;
  }
  static uint64_t ExpectedOf(const Kernel& kernel);
  static bool HasResident(const Kernel& kernel) {
    return kernel.resident_told || kernel.resident_samples != 0;
  }
  static bool Settled(const Kernel& kernel) {
    return kernel.resident_told || kernel.resident_samples >= kSettled;
  }
  void RecordResident(const LaunchSample& sample, Kernel* kernel);
  void DisproveTold(uint64_t id, Kernel* kernel);
  static Argument& ArgumentOf(Kernel& kernel, uint16_t slot);
  static void Note(double passes, size_t width, Argument* argument);
  bool Decided(const Argument& argument, size_t width, double slack) const;
  KernelFacts FactsOf(const Kernel& kernel) const;

  // How many times more passes than over whole chunks are as cheap as a move: little of a chunk may
  // be named, and all of it moves.
  double Slack(const Remote& remote) const;
  // Whatever it does with so little, or so fast, it costs less than a move.
  bool CheapAtWorst(const Kernel& kernel, const Remote& remote) const;
  Verdict Judge(const Kernel& kernel, const Argument& argument, const Remote& remote) const;

  const Prices prices_;
  uint64_t changes_ = 0, expected_changes_ = 0, expected_changed_ = 0;
  std::unordered_map<uint64_t, Kernel> kernels_;
  // What Expected says, where that is not what it says of all others: asked for far more often.
  absl::flat_hash_map<uint64_t, uint64_t> expected_;
  std::list<uint64_t> by_age_;  // The least recently launched first.
  // Of one launch the same kernel is asked for many times; null: none has been.
  mutable const Kernel* last_ = nullptr;
  mutable uint64_t last_id_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_KERNEL_HISTORY_H_
