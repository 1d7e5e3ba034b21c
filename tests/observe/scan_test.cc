// What is found in parameters, against a plain look at each word: random blocks, with addresses at
// and around the ends of two arenas.

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/observe/decoder_fixture.h"

namespace vramspan {
namespace {

using ::testing::ElementsAreArray;

class ScanTest : public DecoderTest {
 protected:
  void SetUp() override {
    DecoderTest::SetUp();
    second_ = arena_ + 3 * arena_size_;
    decoder_->AddArena(DevicePtr(second_), Bytes(arena_size_));
  }

  bool Ours(uint64_t value) const {
    return value - arena_ < arena_size_ || value - second_ < arena_size_;
  }
  uint64_t Address() {
    const uint64_t base = random_() % 2 == 0 ? arena_ : second_;
    switch (random_() % 3) {
      case 0:
        return base;
      case 1:
        return base + arena_size_ - 1;
      default:
        return base + random_() % arena_size_;
    }
  }
  uint64_t Number() {
    switch (random_() % 4) {
      case 0:
        return arena_ - 1 - random_() % 2;
      case 1:
        return (random_() % 2 == 0 ? arena_ : second_) + arena_size_;
      case 2:
        return random_() % 64;
      default:
        return random_() >> 32;
    }
  }
  // Words of which one in so many is an address; 0: none.
  std::vector<uint64_t> Words(size_t count, uint64_t one_in) {
    std::vector<uint64_t> words(count);
    for (uint64_t& word : words) {
      word = one_in != 0 && random_() % one_in == 0 ? Address() : Number();
    }
    return words;
  }

  // By parameters, where the words are those of `block_4k`, or by a buffer.
  Submission DecodeWords(CUfunction kernel, std::vector<uint64_t>& words, bool by_parameters) {
    if (by_parameters) {
      void* parameters[] = {words.data(), words.data() + 1};
      return Decode(CALL(cuLaunchKernel), Launch(kernel, parameters));
    }
    size_t size = words.size() * sizeof(uint64_t);
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, words.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &size, CU_LAUNCH_PARAM_END};
    return Decode(CALL(cuLaunchKernel), Launch(kernel, nullptr, extra));
  }

  std::mt19937_64 random_{7};
  uint64_t second_ = 0;
};

TEST_F(ScanTest, FindsWhatAPlainLookFinds) {
  const CUfunction kernel = Observed("block_4k");
  for (int round = 0; round < 2000; ++round) {
    const bool by_parameters = round % 2 == 0;
    const size_t count = by_parameters ? 512 : 1 + random_() % 64;
    constexpr uint64_t kOneIn[] = {0, 1, 2, 7, 100};
    std::vector<uint64_t> words = Words(count, kOneIn[random_() % 5]);
    std::vector<Touch> touches;
    std::vector<uint64_t> numbers;
    for (size_t i = 0; i < count; ++i) {
      if (Ours(words[i])) {
        // Not a third time, where one of the first eight holds it.
        const auto holds = [&](const Touch& t) { return t.ptr.value == words[i]; };
        const auto first = absl::MakeConstSpan(touches).first(std::min<size_t>(touches.size(), 8));
        if (absl::c_any_of(first, holds) && absl::c_count_if(touches, holds) == 2) continue;
        touches.push_back(
            {.ptr = DevicePtr(words[i]), .linear = false, .slot = static_cast<uint16_t>(i)});
      } else {
        numbers.push_back(words[i]);
      }
    }
    if (numbers.size() > Submission::kMostWords) numbers.clear();
    const Submission s = DecodeWords(kernel, words, by_parameters);
    ASSERT_THAT(s.touches, ElementsAreArray(touches)) << round;
    ASSERT_THAT(s.words, ElementsAreArray(numbers)) << round;
    ASSERT_EQ(s.scanned, Bytes(count * sizeof(uint64_t))) << round;

    // Another address in place of one changes no number; any other word does.
    const size_t at = random_() % count;
    const bool address = Ours(words[at]);
    words[at] = address ? Address() : words[at] ^ uint64_t { 1 } << random_() % 32;
    const bool changed = DecodeWords(kernel, words, by_parameters).numbers != s.numbers;
    ASSERT_EQ(changed, !address) << round << ": word " << at;
  }
}

TEST_F(ScanTest, WordsThatChangePlacesAreOtherNumbers) {
  const CUfunction kernel = Observed("block_4k");
  for (int round = 0; round < 500; ++round) {
    std::vector<uint64_t> words = Words(512, 9);
    const uint64_t numbers = DecodeWords(kernel, words, true).numbers;
    const size_t a = random_() % words.size(), b = random_() % words.size();
    if (words[a] == words[b] || (Ours(words[a]) && Ours(words[b]))) continue;
    std::swap(words[a], words[b]);
    ASSERT_NE(DecodeWords(kernel, words, true).numbers, numbers) << round << ": " << a << ", " << b;
  }
}

}  // namespace
}  // namespace vramspan
