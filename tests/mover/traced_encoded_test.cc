// Addresses in parameters that no aligned slot of 8 bytes shows as they are.
#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

// A kernel that adds to two arrays, of which the second is named in another form.
struct Form {
  const char* name;
  // It says which memory it means, and likely means no other: what lies in front of an array does.
  bool told;
};
constexpr Form kForms[] = {{"packed", true}, {"from_one", false}, {"distance", true},
                           {"halves", true}, {"tagged", true},    {"page", true}};

class TracedEncoded : public TracedTest {
 protected:
  void Launch(const std::string& form, size_t first, size_t second, Word value, CUstream stream) {
    Word *one = Words(first), *other = Words(second);
    size_t count = kChunkWords;
    const auto launch = [&](const char* kernel, auto&... parameters) {
      EXPECT_CU(world_.Launch(Traced(kernel), stream, Parameters(parameters...)));
    };
    const auto address = reinterpret_cast<size_t>(other);
    if (form == "packed") {
      // In a row of three, of which the last adds nothing that the first has not.
      PackedPointers arrays = {one, static_cast<unsigned>(count), other, {1, 2, 3}, one};
      launch("add_to_packed", arrays, value);
      buffers_[first].add += value;
    } else if (form == "from_one") {
      --one, --other;
      launch("add_from_one", one, other, count, value);
    } else if (form == "distance") {
      long long apart = other - one;
      launch("add_at_distance", one, apart, count, value);
    } else if (form == "halves") {
      auto low = static_cast<unsigned>(address), high = static_cast<unsigned>(address >> 32);
      auto few = static_cast<unsigned>(count);
      launch("add_to_halves", one, low, few, high, value);
    } else if (form == "tagged") {
      size_t tagged = address | size_t{0x1234} << 48;
      launch("add_to_tagged", one, tagged, count, value);
    } else {
      size_t page = address >> 12;
      launch("add_to_page", one, page, count, value);
    }
    Added({first, second}, value);
  }
  bool overlaps() const { return std::string(GetParam()) != "off"; }
};
INSTANTIATE_TRACED(TracedEncoded);

// Evicted memory is unmapped but for work that may touch it: whoever is not seen to name it dies.
TEST_P(TracedEncoded, RightWhileMemoryMoves) {
  ASSERT_NO_FATAL_FAILURE(Start(12));
  Pressure pressure(this, {0, 1, 2, 3, 4, 5});
  for (size_t round = 0; round < 24; ++round) {
    for (const Form& form : kForms) {
      const size_t one = 6 + round % 6, other = 6 + (round + 3) % 6;
      // Distances lead back.
      const bool turned = std::string(form.name) == "distance" && other > one;
      Launch(form.name, turned ? other : one, turned ? one : other, 1, stream_);
    }
    Wait(stream_);
  }
}

// Nothing is fetched for them, and where they are known they stay where they are.
TEST_P(TracedEncoded, WhatTheyMayMeanStays) {
  ASSERT_NO_FATAL_FAILURE(Start());
  for (const char* kernel :
       {"add_to_packed", "add_at_distance", "add_to_halves", "add_to_tagged", "add_to_page"}) {
    EXPECT_CU(DRIVER(cuFuncLoad)(Traced(kernel)));
  }
  for (const Form& form : kForms) {
    if (!form.told) continue;
    SCOPED_TRACE(form.name);
    ExpectStay({4, 1}, [&](CUstream stream) { Launch(form.name, 4, 1, 3, stream); });
  }
}

// Launches that have all but one byte of their parameters in common mean other memory.
TEST_P(TracedEncoded, EveryByteCounts) {
  ASSERT_NO_FATAL_FAILURE(Start(12));
  Pressure pressure(this, {0, 1, 2, 3, 4, 5});
  for (size_t round = 0; round < 20; ++round) {
    for (size_t second = 6; second < 11; ++second) Launch("distance", 11, second, 1, stream_);
    for (size_t second = 7; second < 12; ++second) Launch("page", 6, second, 1, stream_);
  }
  Wait(stream_);
}

// What the statistics say of it; ordinary launches are not among them.
TEST_P(TracedEncoded, AreCounted) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const uint64_t before = runtime_->stats().launches_encoded;
  for (int i = 0; i < 3; ++i) Add(2, 1, stream_);
  EXPECT_EQ(runtime_->stats().launches_encoded, before);
  for (const Form& form : kForms) Launch(form.name, 4, 1, 1, stream_);
  Wait(stream_);
  EXPECT_EQ(runtime_->stats().launches_encoded - before, overlaps() ? std::size(kForms) : 0);
}

}  // namespace
}  // namespace vramspan_test
