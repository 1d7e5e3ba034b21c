#include "tests/odd/memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runtime/observe/readable.h"
#include "tests/kernels/test_kernels.h"
#include "tests/odd/machine.h"

namespace odd {
namespace {

constexpr size_t kMiBWords = (size_t{1} << 20) / sizeof(Word);
constexpr size_t kChunk = size_t{2} << 20;

// All arrays begin as parts of it, so that comparing takes no computing.
const std::vector<Word>& Pattern() {
  static const auto* const pattern = [] {
    auto* words = new std::vector<Word>(8 * kMiBWords);
    for (size_t i = 0; i < words->size(); ++i) (*words)[i] = vramspan_test::HashWord(i, 33);
    return words;
  }();
  return *pattern;
}

}  // namespace

Word Array::Get(size_t word) const {
  const auto found = changed.find(word);
  return found != changed.end() ? found->second : Pattern()[pattern + word];
}

// Mostly less than a chunk: smaller arrays never move, and larger ones take longer to check.
void Memory::Make(Array* a) {
  *a = Array();
  a->words = kMiBWords + 512 + draw_.Below(draw_.Percent(80) ? kMiBWords / 8 : 3 * kMiBWords);
  a->pattern = draw_.Below(Pattern().size() - a->words);
  ODD_SPAN(vramspanMemAlloc(runtime_, &a->at, a->bytes()));
  ODD_CU(cuMemcpyHtoD(a->at, &Pattern()[a->pattern], a->bytes()));
}

void Memory::Allocate() {
  Array a;
  Make(&a);
  arrays_.push_back(a);
}

void Memory::FreeAll() {
  for (const Array& a : arrays_) ODD_SPAN(vramspanMemFree(runtime_, a.at));
  arrays_.clear();
}

void Memory::Replace(size_t array) {
  ODD_SPAN(vramspanMemFree(runtime_, arrays_[array].at));
  Make(&arrays_[array]);
}

void Memory::CheckWords(size_t array) {
  const Array& a = arrays_[array];
  read_.resize(a.words);
  ODD_CU(cuMemcpyDtoH(read_.data(), a.at, a.bytes()));
  const Word* const pattern = &Pattern()[a.pattern];
  const auto wrong = [&](size_t i, Word right) {
    char text[160];
    std::snprintf(text, sizeof(text), "word %zu of array %zu is %llx, not %llx", i, array, read_[i],
                  right);
    throw Failure{text};
  };
  for (const auto& [i, right] : a.changed) {
    if (read_[i] != right) wrong(i, right);
    read_[i] = pattern[i];
  }
  if (std::memcmp(read_.data(), pattern, a.bytes()) == 0) return;
  for (size_t i = 0; i < a.words; ++i) {
    if (read_[i] != pattern[i]) wrong(i, pattern[i]);
  }
}

size_t Memory::Unmapped() const {
  size_t unmapped = 0;
  for (const Array& a : arrays_) {
    for (CUdeviceptr p = a.at; p < a.at + a.bytes(); p += kChunk) {
      char byte = 0;
      unmapped += vramspan::ReadIfMapped(reinterpret_cast<const void*>(p), &byte, 1) == 0;
    }
  }
  return unmapped;
}

Slice Memory::SomeSlice(size_t array, size_t count) {
  const size_t words = arrays_[array].words, half = words / 2;
  // Often at the very end, or across a boundary of chunks.
  size_t first = half + draw_.Below(half - count);
  if (draw_.Percent(15)) first = words - count;
  const size_t boundary = kChunk / sizeof(Word);
  if (draw_.Percent(15) && boundary > half + count && boundary + count < words) {
    first = boundary - count / 2;
  }
  return {array, first, count};
}

size_t Memory::NewSlot(size_t array) {
  Array& a = arrays_[array];
  for (;;) {
    const size_t word = draw_.Below(a.words / 4);
    if (a.changed.emplace(word, a.Get(word)).second) return word;
  }
}

}  // namespace odd
