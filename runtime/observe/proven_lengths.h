// How far launches go that differ from proven ones in the number of their piece.
//
// A loop over the pieces of an array names a new piece each time, and mostly says by a number which
// one it is. Four launches of the same code and shape that have proved where their pieces end
// (working_sets.h), and all go equally far, tell how far the next one goes: as far, if it differs
// in one number, and that is one of a place: that of all seen, and of this, is a constant plus the
// address in some unit. Any other number may be a size.
//
// Pure; of one allocation. Threads: one at a time.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_PROVEN_LENGTHS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_PROVEN_LENGTHS_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/functional/function_ref.h>

#include <array>

#include "runtime/observe/submission.h"

namespace vramspan {

class ProvenLengths {
 public:
  static constexpr size_t kLaunches = 4;
  // Numbers remembered, with what was the same; beyond that all are forgotten.
  static constexpr size_t kMost = 1 << 12;

  struct Piece {
    uint64_t offset;  // Into the allocation.
    uint64_t length;
  };
  // `s` has proved that from the pointer `touch` it goes as far as this.
  void Note(const Submission& s, const Touch& touch, Piece piece);
  // Whether that is so of `s` by what others have proved.
  bool Hold(const Submission& s, const Touch& touch, Piece piece) const;

  size_t size() const { return numbers_.size(); }

 private:
  // Launches that differ in this number.
  struct Number {
    struct Seen {
      uint64_t offset;
      uint64_t value;
    };
    std::array<Seen, kLaunches> seen{};  // The first ones.
    size_t count = 0;
    bool placed = true;  // Of all that were seen.

    void Add(Seen now);
    bool Enough() const { return count == kLaunches && placed; }
    bool Allows(Seen now) const;
    bool OnLine(Seen now) const;
  };

  // Of all but the numbers.
  static uint64_t KeyOf(const Submission& s, const Touch& touch, uint64_t length);
  // Calls `visit` with a key of what is the same, and the number that is left out of it, for each
  // number of the launch until that returns true.
  static bool ForEach(const Submission& s, uint64_t same,
                      absl::FunctionRef<bool(uint64_t key, uint64_t number)> visit);

  absl::flat_hash_map<uint64_t, Number> numbers_;
  // Keys without numbers of which enough launches were seen: of others no number need be looked up,
  // and a launch has a hundred for each of its pointers.
  absl::flat_hash_set<uint64_t> enough_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_PROVEN_LENGTHS_H_
