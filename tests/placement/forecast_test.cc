#include "runtime/placement/forecast.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <random>
#include <vector>

namespace {

size_t allocations = 0;

}  // namespace

// Not inlined: the compiler would see a delete that frees what a new allocated.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  void* p = std::malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
// As the library has it, but a sanitizer's would not be freed here.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return operator new(size);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Signatures = std::vector<uint64_t>;

void Show(Forecast& forecast, const Signatures& signatures) {
  for (const uint64_t s : signatures) forecast.Saw(s);
}

Signatures Next(const Forecast& forecast, size_t count, size_t skipped = 0) {
  Signatures out;
  forecast.ForEachNext(skipped, [&](size_t place) {
    if (out.size() == count) return false;
    out.push_back(forecast.SignatureAt(place));
    return true;
  });
  return out;
}

// `count` signatures from `first` on, all different.
Signatures Series(uint64_t first, size_t count) {
  Signatures series(count);
  for (size_t i = 0; i < count; ++i) series[i] = first + i;
  return series;
}

Signatures operator+(Signatures a, const Signatures& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Signatures operator*(size_t times, const Signatures& a) {
  Signatures all;
  for (; times > 0; --times) all = std::move(all) + a;
  return all;
}

TEST(Forecast, GoesOnBehindWhatIsSkipped) {
  Forecast forecast;
  for (int i = 0; i < 40; ++i) forecast.Saw(1 + i % 7);
  const Signatures all = Next(forecast, 60);
  ASSERT_EQ(all.size(), 60u);
  for (size_t skipped = 0; skipped < 60; ++skipped) {
    const Signatures rest = Next(forecast, 60 - skipped, skipped);
    EXPECT_THAT(rest, testing::ElementsAreArray(all.begin() + skipped, all.end())) << skipped;
  }
}

TEST(Forecast, CountsWhatItWasConfidentOf) {
  Forecast forecast;
  Show(forecast, {1, 2, 3, 1, 2, 3});
  EXPECT_FALSE(forecast.confident()) << "2 and 3 came true, a period is three";
  EXPECT_EQ(forecast.period(), 3u);
  EXPECT_THAT(Next(forecast, 4), IsEmpty());
  forecast.Saw(1);
  EXPECT_TRUE(forecast.confident());
  EXPECT_THAT(Next(forecast, 7), ElementsAre(2, 3, 1, 2, 3, 1, 2));
  EXPECT_THAT(Next(forecast, 0), IsEmpty());
  EXPECT_EQ(forecast.hits() + forecast.misses(), 0u);
  Show(forecast, {2, 3});
  EXPECT_EQ(forecast.hits(), 2u);
  forecast.Saw(9);
  EXPECT_EQ(forecast.misses(), 1u);
  EXPECT_THAT(Next(forecast, 4), IsEmpty());
  Show(forecast, {1, 2});
  EXPECT_EQ(forecast.hits(), 2u) << "without confidence nothing counts";
  EXPECT_EQ(forecast.misses(), 1u);
}

TEST(Forecast, OfTheSameThingAgainAndAgain) {
  Forecast forecast;
  Show(forecast, {7, 7, 7, 7});
  EXPECT_FALSE(forecast.confident());
  forecast.Saw(7);
  EXPECT_THAT(Next(forecast, 3), ElementsAre(7, 7, 7));
  EXPECT_EQ(forecast.period(), 1u);
}

TEST(Forecast, NeedsEightProofsOfALongPeriod) {
  Forecast forecast;
  Show(forecast, Series(1, 100) + Series(1, 8));
  EXPECT_FALSE(forecast.confident());
  forecast.Saw(9);
  EXPECT_EQ(Next(forecast, 150), Series(10, 91) + Series(1, 59));
}

TEST(Forecast, TellsTheTurnsOfALoopApart) {
  const Signatures lap = {1, 2, 1, 2, 3};
  Forecast forecast;
  Show(forecast, 3 * lap);
  EXPECT_EQ(forecast.period(), 5u);
  for (int i = 0; i < 50; ++i) {
    const Signatures expected = Next(forecast, 12);
    EXPECT_EQ(expected, Signatures({lap[i % 5], lap[(i + 1) % 5], lap[(i + 2) % 5],
                                    lap[(i + 3) % 5], lap[(i + 4) % 5]}) +
                            Signatures(expected.begin(), expected.begin() + 7));
    forecast.Saw(lap[i % 5]);
  }
  EXPECT_LE(forecast.misses(), 1u);
}

TEST(Forecast, CountsEqualTurns) {
  // A hundred times the same: only where the cursor stands tells when it ends.
  const Signatures lap = 100 * Signatures{1} + Signatures{2, 3};
  Forecast forecast;
  Show(forecast, 2 * lap);
  const uint64_t misses = forecast.misses();
  for (int i = 0; i < 3; ++i) {
    Show(forecast, lap);
    EXPECT_EQ(Next(forecast, 102), lap);
  }
  EXPECT_EQ(forecast.misses(), misses);
}

TEST(Forecast, TrainingIteration) {
  // Forwards, backwards through the same layers with kernels of its own, a step of the optimizer
  // that has the same signature for each tensor; in each layer an attention loop.
  Signatures lap;
  for (uint64_t layer = 0; layer < 24; ++layer) {
    lap = lap + Series(layer * 100, 4) + 8 * Series(layer * 100 + 10, 2);
  }
  for (uint64_t layer = 24; layer-- > 0;) {
    lap = lap + Series(layer * 100 + 50, 6) + 8 * Series(layer * 100 + 10, 2);
  }
  lap = lap + 40 * Signatures{5000};
  Forecast forecast;
  Show(forecast, 2 * lap);
  const uint64_t misses = forecast.misses();
  const uint64_t hits = forecast.hits();
  for (size_t i = 0; i < lap.size(); ++i) {
    const Signatures next = Next(forecast, 30);
    for (size_t k = 0; k < next.size(); ++k) ASSERT_EQ(next[k], lap[(i + k) % lap.size()]) << i;
    forecast.Saw(lap[i]);
  }
  EXPECT_EQ(forecast.misses(), misses);
  EXPECT_EQ(forecast.hits(), hits + lap.size());
  EXPECT_EQ(forecast.period(), lap.size());
}

TEST(Forecast, APeriodMustFit) {
  Forecast fits(64);
  Show(fits, 5 * Series(1, 63));
  EXPECT_EQ(Next(fits, 63), Series(1, 63));
  EXPECT_EQ(fits.misses(), 0u);
  Forecast too_small(64);
  Show(too_small, 50 * Series(1, 64));
  EXPECT_THAT(Next(too_small, 1), IsEmpty());
  EXPECT_EQ(too_small.hits() + too_small.misses(), 0u);
  EXPECT_EQ(too_small.period(), 0u);
}

TEST(Forecast, GoesOnAfterNoise) {
  // At every 97th place something else: put in, left out, or in the place of another.
  const Signatures lap = Series(1, 30) + 3 * Series(10, 3) + Series(40, 20);
  for (const int kind : {0, 1, 2}) {
    Signatures all = 200 * lap;
    for (size_t i = 5; i + 97 < all.size(); i += 97) {
      const auto at = all.begin() + static_cast<ptrdiff_t>(i);
      if (kind == 0) all.insert(at, 100000 + i);
      if (kind == 1) all.erase(at);
      if (kind == 2) *at = 100000 + i;
    }
    Forecast forecast;
    Show(forecast, all);
    // What else came is met twice, as it comes and as it is expected; each time it takes 8 proofs
    // and a few more until there is confidence again.
    const double share = static_cast<double>(forecast.hits()) / static_cast<double>(all.size());
    EXPECT_GT(share, 1 - 2 * 12.0 / 97) << kind;
    EXPECT_LT(static_cast<double>(forecast.misses()), 2.2 * static_cast<double>(all.size()) / 97)
        << kind;
  }
}

TEST(Forecast, FindsItsPlaceWhereALittleIsLeftOut) {
  for (const uint64_t left_out : {1, 2, 3, 4}) {
    Forecast forecast;
    // What is next occurred more recently elsewhere.
    Show(forecast, Series(1, 40) + Signatures{22, 90, 23, 91, 24, 92, 25, 93} + Series(1, 20));
    EXPECT_EQ(Next(forecast, 1), Signatures{21});
    forecast.Saw(21 + left_out);
    EXPECT_EQ(forecast.period(), 48 - left_out);
    Show(forecast, Series(22 + left_out, 8));
    EXPECT_EQ(Next(forecast, 1), Signatures{30 + left_out});
  }
}

TEST(Forecast, ForgetsWhatIsTooLongAgo) {
  Forecast forecast(64);
  Show(forecast, 5 * Series(1, 20) + Series(100, 60));
  EXPECT_EQ(forecast.period(), 0u);
  Show(forecast, Series(1, 20));
  EXPECT_EQ(forecast.hits(), 71u) << "no more, the loop is not known any longer";
}

TEST(Forecast, FollowsAChangeOfPeriod) {
  Forecast forecast;
  Show(forecast, 10 * Series(1, 40));
  const Signatures lap = Series(1, 20) + Series(100, 5) + Series(30, 15);
  Show(forecast, 2 * lap);
  EXPECT_LE(forecast.misses(), 3u);
  EXPECT_EQ(Next(forecast, 80), 2 * lap);
  Show(forecast, 5 * lap + 5 * Series(1, 40));
  EXPECT_EQ(Next(forecast, 40), Series(1, 40));
  EXPECT_EQ(forecast.period(), 40u);
}

TEST(Forecast, IsSilentOnNoise) {
  std::mt19937_64 rng(1);
  Forecast forecast;
  for (int i = 0; i < 100000; ++i) {
    forecast.Saw(rng());
    ASSERT_FALSE(forecast.confident());
  }
  Forecast of_few;
  for (int i = 0; i < 100000; ++i) of_few.Saw(rng() % 100);
  EXPECT_LT(of_few.hits() + of_few.misses(), 100u);
}

TEST(Forecast, TakesNoMemoryAsItGoes) {
  std::mt19937_64 rng(1);
  Forecast forecast(1000);
  Signatures out(100);
  const size_t before = allocations;
  for (int i = 0; i < 20000; ++i) {
    forecast.Saw(i % 3000 < 1500 ? static_cast<uint64_t>(i % 50) : rng() % 1000);
    size_t count = 0;
    forecast.ForEachNext(0, [&](size_t place) {
      out[count++] = forecast.SignatureAt(place);
      return count != out.size();
    });
  }
  EXPECT_EQ(allocations, before);
  EXPECT_GT(forecast.hits(), 5000u);
}

// The rules by plain search through the whole past. The index may have lost some of it, not much.
class Model {
 public:
  void Saw(uint64_t signature) {
    const bool hit = cursor_ != kNowhere && past_[cursor_] == signature;
    const size_t period = cursor_ == kNowhere ? 0 : past_.size() - cursor_;
    if (cursor_ != kNowhere && streak_ >= std::clamp<size_t>(period, 3, 8)) hits_ += hit;
    past_.push_back(signature);
    if (hit) {
      ++streak_;
      ++cursor_;
      doubted_ = false;
      return;
    }
    const bool proven = streak_ >= 8;
    const bool believed = proven || doubted_;
    streak_ = 0;
    doubted_ = false;
    if (believed && Skip(signature)) return;
    doubted_ = proven;
    if (proven) return;
    if (Find(16) || Find(4) || Skip(signature)) return;
    Find(1);
  }
  uint64_t hits() const { return hits_; }

 private:
  static constexpr size_t kNowhere = SIZE_MAX;
  bool Skip(uint64_t signature) {
    for (size_t at = cursor_ + 1; cursor_ != kNowhere && at <= cursor_ + 4; ++at) {
      if (at + 1 >= past_.size() || past_[at] != signature) continue;
      cursor_ = at + 1;
      return true;
    }
    return false;
  }
  bool Find(size_t length) {
    for (size_t end = past_.size() - 1; past_.size() > length && end >= length; --end) {
      if (std::equal(past_.end() - static_cast<ptrdiff_t>(length), past_.end(),
                     past_.begin() + static_cast<ptrdiff_t>(end - length))) {
        cursor_ = end;
        return true;
      }
    }
    return false;
  }

  Signatures past_;
  size_t cursor_ = kNowhere;
  size_t streak_ = 0;
  bool doubted_ = false;
  uint64_t hits_ = 0;
};

TEST(Forecast, DoesAsWellAsAPlainSearch) {
  uint64_t hits = 0;
  uint64_t of_model = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 rng(seed);
    std::vector<Signatures> parts;
    for (int i = 0; i < 6; ++i)
      parts.push_back((1 + rng() % 3) * Series(rng() % 50, 1 + rng() % 30));
    Forecast forecast(size_t{1} << 18);  // So that hardly a context displaces another.
    Model model;
    for (int i = 0; i < 60; ++i) {
      for (const uint64_t s : parts[i % 20 < 16 ? i % 4 : rng() % 6]) {
        const uint64_t signature = rng() % 50 == 0 ? rng() % 200 : s;
        forecast.Saw(signature);
        model.Saw(signature);
      }
    }
    hits += forecast.hits();
    of_model += model.hits();
  }
  EXPECT_GT(of_model, 20000u);
  EXPECT_NEAR(static_cast<double>(hits), static_cast<double>(of_model),
              static_cast<double>(of_model) * 0.001);
}

}  // namespace
}  // namespace vramspan
