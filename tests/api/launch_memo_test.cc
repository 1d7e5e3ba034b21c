// What a thread remembers of launches: found by all that counts, and by nothing less.
#include "runtime/api/launch_memo.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace vramspan {
namespace {

constexpr LaunchMemo::Grounds kMemoGrounds{.tracer = 1, .trust = 1, .allocations = 5, .hidden = 3};

class LaunchMemoTest : public testing::Test {
 protected:
  Submission Launch(const std::string& parameters, uint64_t code = 1, uint64_t shape = 1) {
    Submission s;
    s.kind = Submission::Kind::kKernel;
    s.code = reinterpret_cast<const void*>(code);
    s.shape = shape;
    s.parameters.buffer = {parameters.data(), parameters.size()};
    return s;
  }
  bool Known(const Submission& s, const LaunchMemo::Grounds& grounds = kMemoGrounds) {
    return memo_.Find(s, grounds) != nullptr;
  }
  void Learn(const Submission& s, const LaunchMemo::Grounds& grounds = kMemoGrounds) {
    memo_.Find(s, grounds);
    if (!memo_.Wants()) memo_.Find(s, grounds);
    ASSERT_TRUE(memo_.Wants());
    LaunchMemo::Known* const known = memo_.Learn(s, grounds);
    ASSERT_NE(known, nullptr);
    memo_.Count(known);
    ASSERT_TRUE(Known(s, grounds));
  }

  LaunchMemo memo_;
};

TEST_F(LaunchMemoTest, WhatComesOnceIsNotLearnt) {
  const std::string parameters(16, 'a');
  EXPECT_FALSE(Known(Launch(parameters)));
  EXPECT_FALSE(memo_.Wants());
  EXPECT_FALSE(Known(Launch(parameters)));
  EXPECT_TRUE(memo_.Wants());
}

TEST_F(LaunchMemoTest, EveryByteCounts) {
  const std::string parameters(1001, 'a');
  Learn(Launch(parameters));
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::string other = parameters;
    other[i] = 'b';
    EXPECT_FALSE(Known(Launch(other))) << i;
  }
  for (const size_t size : {1000, 1002, 0}) {
    EXPECT_FALSE(Known(Launch(std::string(size, 'a')))) << size;
  }
  EXPECT_TRUE(Known(Launch(parameters)));
}

TEST_F(LaunchMemoTest, EveryByteCountsOfParametersOneByOne) {
  Layout layout, other_layout;
  layout.places = {{0, 8}, {8, 1}, {16, 24}};
  other_layout.places = layout.places;
  std::string first(8, 'a'), second(1, 'b'), third(24, 'c');
  std::vector<void*> values = {first.data(), second.data(), third.data()};
  Submission s = Launch("");
  s.parameters = {.layout = &layout, .values = values.data()};
  Learn(s);
  for (std::string* parameter : {&first, &second, &third}) {
    for (char& byte : *parameter) {
      ++byte;
      EXPECT_FALSE(Known(s));
      --byte;
    }
  }
  EXPECT_TRUE(Known(s));
  s.parameters.layout = &other_layout;
  EXPECT_FALSE(Known(s)) << "another kernel has the handle";
  s.parameters.layout = &layout;
  values[1] = nullptr;
  EXPECT_FALSE(Known(s));
  memo_.Find(s, kMemoGrounds);
  EXPECT_EQ(memo_.Learn(s, kMemoGrounds), nullptr) << "a parameter is missing";
}

TEST_F(LaunchMemoTest, CodeShapeAndAllGroundsCount) {
  const std::string parameters(16, 'a');
  Learn(Launch(parameters));
  EXPECT_FALSE(Known(Launch(parameters, 2)));
  EXPECT_FALSE(Known(Launch(parameters, 1, 2)));
  const ArenaSet arenas;
  const std::vector<std::function<void(LaunchMemo::Grounds*)>> changes = {
      [](LaunchMemo::Grounds* g) { ++g->tracer; },
      [](LaunchMemo::Grounds* g) { ++g->trust; },
      [](LaunchMemo::Grounds* g) { ++g->allocations; },
      [](LaunchMemo::Grounds* g) { ++g->hidden; },
      [](LaunchMemo::Grounds* g) { ++g->decoder.objects; },
      [](LaunchMemo::Grounds* g) { g->incomplete = true; },
      [&](LaunchMemo::Grounds* g) { g->decoder.arenas = &arenas; }};
  for (const auto& change : changes) {
    LaunchMemo::Grounds other = kMemoGrounds;
    change(&other);
    EXPECT_FALSE(Known(Launch(parameters), other)) << &change - changes.data();
  }
  EXPECT_TRUE(Known(Launch(parameters)));
}

TEST_F(LaunchMemoTest, WhatIsForgottenIsNotKnown) {
  const std::string parameters(16, 'a');
  Learn(Launch(parameters));
  memo_.Forget(memo_.Find(Launch(parameters), kMemoGrounds));
  EXPECT_FALSE(Known(Launch(parameters)));
  EXPECT_EQ(memo_.size(), Bytes(0));
}

TEST_F(LaunchMemoTest, OfOneThreadIsBounded) {
  for (uint64_t i = 0; i < 4000; ++i) {
    std::string parameters(4096, 'a');
    parameters.replace(0, 8, reinterpret_cast<const char*>(&i), 8);
    Learn(Launch(parameters, i));
    ASSERT_LE(memo_.size(), LaunchMemo::kMostOfThread + KiB(16));
  }
}

TEST_F(LaunchMemoTest, OfAllThreadsIsBounded) {
  std::vector<std::unique_ptr<LaunchMemo>> memos;
  Bytes all;
  const auto fill = [&](LaunchMemo* memo) {
    for (uint64_t i = 0; i < 800; ++i) {
      std::string parameters(4096, 'a');
      parameters.replace(0, 8, reinterpret_cast<const char*>(&i), 8);
      const Submission s = Launch(parameters, i);
      memo->Find(s, kMemoGrounds);
      LaunchMemo::Known* const known = memo->Learn(s, kMemoGrounds);
      if (known != nullptr) memo->Count(known);
    }
  };
  for (int i = 0; i < 40; ++i) fill(memos.emplace_back(std::make_unique<LaunchMemo>()).get());
  for (const auto& memo : memos) all += memo->size();
  EXPECT_LE(all, LaunchMemo::kMostOfAll + KiB(16));
  EXPECT_GT(all, MiB(32));
  memos.clear();
  Learn(Launch(std::string(4096, 'a')));
}

}  // namespace
}  // namespace vramspan
