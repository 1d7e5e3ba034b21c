// What the launches of one kernel's code took from host memory, by their arguments.
//
// The counters belong to the whole device, and now and then somebody else uses host memory: on an
// H100 about once in a second, 68 to 1,302 sectors (finding 0038). Equal launches touch the same,
// so a miss shows in each of them. So what a launch took may be a disturbance where it is little,
// and where not all launches with these arguments took as much. Such launches are doubtful. They
// are disturbances where they are rare among all launches of the code (Disturbances). One
// disturbance may last for several launches that are counted one after the other: a run.
//
// Pure.
#ifndef VRAMSPAN_RUNTIME_API_ARGUMENT_SETS_H_
#define VRAMSPAN_RUNTIME_API_ARGUMENT_SETS_H_

#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/observe/trust_list.h"

namespace vramspan {

// Of the launches of one code, in sectors of host memory.
struct HostSectors {
  uint64_t most = 0;           // In one launch that is not doubtful.
  uint64_t doubtful = 0;       // Launches,
  uint64_t doubtful_most = 0;  // and the most in one of them.
  // Doubtful ones that others contradict: kEnoughAlike equal ones took nothing, or as many that
  // were given the same, with other pointers.
  uint64_t contradicted = 0;
};

// What one launch took.
struct CountedLaunch {
  uint64_t arguments = 0;  // A hash of all that it was given,
  uint64_t given = 0;      // and of that but for pointers: Submission::given.
  uint64_t sectors = 0;    // Of host memory.
  bool shows = false;      // All that it does not name lay there.
  uint64_t run = 0;        // Of launches above noise: NoisyRuns::Of.
};

// How many doubtful launches are disturbances among so many. Of a few launches none is: it cannot
// be told, unless enough that were given the same contradict it.
constexpr uint64_t kEnoughToTell = 16;
constexpr uint64_t kEnoughAlike = TrustList::kProvenLaunches;
constexpr uint64_t Disturbances(uint64_t launches) {
  return launches < kEnoughToTell ? 0 : 1 + launches / 32;
}

// Launches that show and took no more than noise, and were all given this but for pointers.
struct GivenLaunches {
  uint64_t given = 0;  // Submission::given.
  uint64_t launches = 0;
  uint64_t sets = 0;  // Of arguments, among them.
};

class ArgumentSets {
 public:
  // So many sets are kept apart. Launches of further ones count as alone in theirs.
  static constexpr size_t kMost = 4096;
  static constexpr uint64_t kLittle = 4096;  // Sectors: 128 KiB.
  static constexpr size_t kMostGiven = 4;

  void Add(const CountedLaunch& launch);

  // Launches that were asked about arrays, and took what is in none of theirs: they may have missed
  // all the same. Sets that are clean here did not.
  void AddDoubts(const ArgumentSets& arrays);

  // Whether a launch with these arguments may still tell something, and not only what others have
  // told: else memory need not be moved to see what it takes.
  bool MayTell(uint64_t arguments) const;
  // Whether one of them took more than noise, and whether one that shows did not.
  bool Doubts(uint64_t arguments) const { return Of(arguments).above != 0; }
  bool Clean(uint64_t arguments) const { return Of(arguments).clean != 0; }

  // Sets with a launch that shows and took no more than noise.
  size_t clean() const { return clean_; }
  // Such launches, by what they were given but for pointers: of the first that were seen. With more
  // of them there are enough sets.
  absl::Span<const GivenLaunches> given() const { return given_; }
  HostSectors taken() const;

 private:
  struct Set {
    uint64_t most = 0;   // Sectors in one launch above noise,
    uint64_t above = 0;  // and how many of those there were,
    uint64_t runs = 0;   // in so many runs.
    uint64_t run = 0;    // The last of these.
    uint64_t given = 0;  // What they were given but for pointers; 0: not all the same.
    uint64_t clean = 0;  // Launches that show and took no more than noise.
  };

  void AddGiven(uint64_t given, bool of_new_set);
  bool Contradicted(const Set& set) const;
  Set Of(uint64_t arguments) const {
    const auto known = sets_.find(arguments);
    return known == sets_.end() ? Set() : known->second;
  }

  absl::flat_hash_map<uint64_t, Set> sets_;
  size_t clean_ = 0;
  std::vector<GivenLaunches> given_;
  uint64_t shown_ = 0;  // Launches that show.
  bool doubts_ = false;
  Set beyond_;         // The launches of further sets.
  uint64_t most_ = 0;  // In one launch that is not doubtful, whatever else comes.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_ARGUMENT_SETS_H_
