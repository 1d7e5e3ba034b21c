// What comes next, as far as it came before: recognises a sequence of launches that repeats (a
// layer loop, an iteration of a training run) and says how it goes on. As in dictionary compression
// the past is the model: a cursor stands in it where the present was last preceded by the same, and
// what follows there is expected here (J. Ziv, A. Lempel, "A Universal Algorithm for Sequential
// Data Compression", IEEE Transactions on Information Theory 23(3), 1977; for prefetching, J. S.
// Vitter, P. Krishnan, "Optimal Prefetching via Data Compression", FOCS 1991).
//
// The cursor follows along for as long as what comes is what it expects; so once it stands one
// period back, it tells the turns of a loop apart by where they are, however alike they look. A
// cursor that was right 8 times in a row is believed once more when something else comes: if that
// is among the next 4 expected, it goes there (something was left out), else it stays and the next
// signature may be the one it stands at (something was put in) or among the next 4 (something came
// in another's place). Where it is not, or the cursor was never as good, it goes
//  - to where the last 16 signatures occurred before, else the last 4 (the last time they did);
//  - else to the signature among the next 4 expected;
//  - else to where the signature occurred before;
//  - else it stays.
//
// Confident: the last K predictions all came true, where K is 8, or a period (how far back the
// cursor stands) if that is shorter, but 3 at least. Only predictions made with confidence are
// counted, as hits or misses.
//
// Bounded: remembers the last `capacity` signatures; a period must be shorter to be recognised. All
// memory, 32 bytes for each, is taken at construction. Saw is O(1), its worst case a few dozen
// comparisons. Pure and deterministic. Threads: not safe.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_FORECAST_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_FORECAST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vramspan {

class Forecast {
 public:
  // The capacity is rounded up to a power of two, 64 at least. REQUIRES: at most 2^30.
  explicit Forecast(size_t capacity = size_t{1} << 14);

  // The next work was submitted; `signature` is a hash of all that makes it the same work (its
  // kernel and its chunks).
  void Saw(uint64_t signature);
  // Works may have been submitted that it did not see.
  void Interrupted() { streak_ = 0; }

  // Calls `visit` with where the signatures are remembered that are expected after the last one
  // seen and `skipped` others, in order, until it returns false: beyond one period the period
  // repeats. Without confidence: with none.
  template <typename Visit>
  void ForEachNext(size_t skipped, Visit visit) const {
    if (!confident()) return;
    uint64_t position = cursor_ + (skipped < period() ? skipped : skipped % period());
    while (visit(position & mask_)) {
      if (++position == seen_) position = cursor_;
    }
  }
  // Signatures are remembered in so many places, in turn. REQUIRES: one was seen, for the last.
  size_t places() const { return history_.size(); }
  size_t last_place() const { return (seen_ - 1) & mask_; }
  uint64_t SignatureAt(size_t place) const { return history_[place]; }
  bool confident() const;
  // How many works ago the present was last the same; 0 where it never was.
  size_t period() const { return anchored_ ? seen_ - cursor_ : 0; }

  uint64_t hits() const { return hits_; }
  uint64_t misses() const { return misses_; }

 private:
  // Where each context of `length` signatures last ended. Direct mapped: contexts that fall
  // together displace each other, and what is found is compared.
  struct Contexts {
    uint64_t length;
    uint64_t leaving;  // What the signature that leaves the context has been multiplied by.
    uint64_t hash = 0;
    std::vector<uint32_t> ends;  // The last digits of the position after it; 0 for none.
  };

  uint64_t At(uint64_t position) const { return history_[position & mask_]; }
  // Another signature came than was expected.
  void Mismatch(uint64_t signature);
  // To what followed when the last `length` signatures occurred before; false where they did not.
  bool Anchor(const Contexts& contexts);
  // To behind `signature`, if it is among the next that are expected.
  bool SkipTo(uint64_t signature);
  uint32_t Slot(const Contexts& contexts) const {
    return static_cast<uint32_t>(contexts.hash >> slot_shift_);
  }

  const uint64_t mask_;
  const int slot_shift_;
  std::vector<uint64_t> history_;  // A ring.
  std::array<Contexts, 3> contexts_;
  uint64_t seen_ = 0;  // Signatures; the next one's position.
  uint64_t cursor_ = 0;
  bool anchored_ = false;  // Whether there is a cursor: what is expected next is at it.
  uint64_t streak_ = 0;    // Predictions that came true since one did not.
  bool doubted_ = false;   // One did not after kProofs that did, and the cursor stayed.
  uint64_t hits_ = 0;
  uint64_t misses_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_FORECAST_H_
