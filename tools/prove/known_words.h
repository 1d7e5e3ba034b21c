// What is known of numbers of 32 bits: registers that hold a word of the parameters, and predicates
// that say whether such a word lies in a range. By these some code chooses whether it takes its
// addresses from the parameters, or from a table.
//
// What is not known is not kept. So it takes little where nothing is learnt (word_rules.h).
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_KNOWN_WORDS_H_
#define VRAMSPAN_TOOLS_PROVE_KNOWN_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/parameter_ranges.h"
#include "tools/prove/sass_instruction.h"

namespace vramspan::prove {

// What lies outside of it. REQUIRES: something does.
constexpr ParameterRange Outside(ParameterRange range) {
  return {range.at, range.last + 1, range.first - 1, range.bytes};
}

// A word of the parameters, or a part of one with zeros above it.
struct ParameterWord {
  uint16_t at = 0;
  uint8_t bytes = 4;
  bool operator==(const ParameterWord&) const = default;
};

class KnownWords {
 public:
  // What the register holds.
  std::optional<ParameterWord> Of(SassRegister reg) const;
  // Where the guard holds a word of the parameters lies there, and elsewhere it does not.
  std::optional<ParameterRange> TestOf(SassGuard guard) const;

  void Set(SassRegister reg, ParameterWord word);
  // REQUIRES: nothing is known of the guard's predicate.
  void SetTest(SassGuard guard, ParameterRange range) { tests_.push_back({guard, range}); }

  void Forget(SassRegister reg);
  void Forget(SassGuard guard);
  void ForgetTests() { tests_.clear(); }
  void ForgetAll();

  // Keeps what is known both here and there. Whether anything was forgotten.
  bool Join(const KnownWords& other);
  size_t Bytes() const;

 private:
  struct Word {
    SassRegister reg;
    ParameterWord holds;
    bool operator==(const Word&) const = default;
  };
  struct Test {
    SassGuard guard = kNoGuard;
    ParameterRange range;
    bool operator==(const Test&) const = default;
  };

  std::vector<Word> words_;  // At most one of a register.
  std::vector<Test> tests_;  // At most one of a predicate.
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_KNOWN_WORDS_H_
