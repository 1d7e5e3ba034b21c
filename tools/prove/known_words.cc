#include "tools/prove/known_words.h"

#include <algorithm>

namespace vramspan::prove {
namespace {

bool OfOnePredicate(SassGuard one, SassGuard other) {
  return one == other || one == Opposite(other);
}

template <typename T>
bool KeepCommon(const std::vector<T>& other, std::vector<T>* own) {
  const auto lost = [&other](const T& one) {
    return std::find(other.begin(), other.end(), one) == other.end();
  };
  return std::erase_if(*own, lost) != 0;
}

}  // namespace

std::optional<ParameterWord> KnownWords::Of(SassRegister reg) const {
  for (const Word& word : words_) {
    if (word.reg == reg) return word.holds;
  }
  return std::nullopt;
}

std::optional<ParameterRange> KnownWords::TestOf(SassGuard guard) const {
  for (const Test& test : tests_) {
    if (test.guard == guard) return test.range;
    if (test.guard == Opposite(guard)) return Outside(test.range);
  }
  return std::nullopt;
}

void KnownWords::Set(SassRegister reg, ParameterWord word) {
  Forget(reg);
  words_.push_back({reg, word});
}

void KnownWords::Forget(SassRegister reg) {
  std::erase_if(words_, [reg](const Word& word) { return word.reg == reg; });
}

void KnownWords::Forget(SassGuard guard) {
  std::erase_if(tests_, [guard](const Test& test) { return OfOnePredicate(test.guard, guard); });
}

void KnownWords::ForgetAll() {
  words_.clear();
  tests_.clear();
}

bool KnownWords::Join(const KnownWords& other) {
  const bool words = KeepCommon(other.words_, &words_);
  return KeepCommon(other.tests_, &tests_) || words;
}

size_t KnownWords::Bytes() const {
  return words_.capacity() * sizeof(Word) + tests_.capacity() * sizeof(Test);
}

}  // namespace vramspan::prove
