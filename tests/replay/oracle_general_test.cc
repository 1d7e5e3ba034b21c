#include "tools/replay/oracle_general.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/replay/random_run.h"
#include "tools/replay/cache_model.h"

namespace vramspan::replay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// By hand, a byte after another, not as the code does it.
std::string Record(uint64_t time, uint64_t object, uint64_t size, int64_t next) {
  std::string bytes;
  const auto put = [&](uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  };
  put(time, 4);
  put(object, 8);
  put(size, 4);
  put(static_cast<uint64_t>(next), 8);
  return bytes;
}

StatusOr<RecordedRun> Read(const std::string& bytes) {
  std::stringbuf buffer(bytes);
  return ReadOracleGeneral(&buffer);
}

class OracleGeneral : public ::testing::Test {
 protected:
  OracleGeneral() : path_(::testing::TempDir() + "oracle_" + std::to_string(::getpid())) {}
  ~OracleGeneral() override { std::filesystem::remove(path_); }
  std::string Bytes_() const {
    std::ostringstream bytes;
    bytes << std::ifstream(path_, std::ios::binary).rdbuf();
    return bytes.str();
  }
  const std::string path_;
};

TEST_F(OracleGeneral, ObjectsAreAllocationsAndRequestsAreWork) {
  const auto run = Read(Record(5, 0xfedcba9876543210, 3 << 20, 3) + Record(5, 7, 100, -1) +
                        Record(9, 0xfedcba9876543210, 5 << 20, -1));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->Check().ok()) << run->Check();
  ASSERT_THAT(run->allocations, SizeIs(2));
  EXPECT_EQ(run->allocations[0].size, MiB(5));
  EXPECT_EQ(run->allocations[0].name, "object 18364758544493064720");
  EXPECT_EQ(run->allocations[1].size, MiB(2));
  ASSERT_THAT(run->works, SizeIs(3));
  EXPECT_EQ(run->works[0].set, run->works[2].set);
  EXPECT_EQ(run->set(run->works[2].set)[0].size, MiB(5).value);
  EXPECT_TRUE(run->works[0].timed());
  EXPECT_TRUE(run->setting.estimated_times);
  EXPECT_THAT(run->notes, ElementsAre(HasSubstr("1 of 2 objects are smaller than 2 MiB")));
}

TEST_F(OracleGeneral, SavesEachChunkThatWorkNames) {
  RunBuilder builder;
  const uint32_t a = builder.Allocate(MiB(6));
  builder.Work(std::vector<uint32_t>{a}, 3'000'000);
  const uint32_t b = builder.Allocate(MiB(2));
  builder.Work({a, b});
  RecordedRun run = builder.Take();
  const ChunkedRun chunked(&run, 22, GiB(1));
  ASSERT_TRUE(SaveOracleGeneral(chunked, path_, false).ok());
  constexpr int kLarge = 4 << 20;
  constexpr int kSmall = 2 << 20;
  EXPECT_EQ(Bytes_(), Record(0, 1, kLarge, 3) + Record(0, 2, kSmall, 4) + Record(3, 1, kLarge, -1) +
                          Record(3, 2, kSmall, -1) + Record(3, 3, kSmall, -1));
}

TEST_F(OracleGeneral, WhatWasSavedMissesAsBefore) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const RecordedRun run = RandomRun(seed, {.varied = true});
    const ChunkedRun before(&run, 23, GiB(1));
    ASSERT_TRUE(SaveOracleGeneral(before, path_, true).ok());
    EXPECT_TRUE(LooksLikeOracleGeneral(Bytes_().substr(0, 24 * 64)));
    const auto back = LoadOracleGeneral(path_);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(back->Check().ok());
    EXPECT_THAT(back->problems, IsEmpty());
    const ChunkedRun after(&*back, 26, GiB(1));
    for (const std::string_view policy : {"lru", "arc", "min"}) {
      const CacheCounts one = RunCache(before, policy, MiB(64)).value();
      const CacheCounts two = RunCache(after, policy, MiB(64)).value();
      EXPECT_EQ(one.accesses, two.accesses);
      EXPECT_EQ(one.misses, two.misses) << policy;
      EXPECT_EQ(one.missed, two.missed);
    }
  }
}

TEST_F(OracleGeneral, ReplacesNoFileUnasked) {
  std::ofstream(path_) << "mine";
  const RecordedRun run = LoopRun(2, 2);
  const ChunkedRun chunked(&run, 0, GiB(1));
  const Status status = SaveOracleGeneral(chunked, path_, false);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path_), HasSubstr("--force")));
  EXPECT_EQ(Bytes_(), "mine");
  EXPECT_TRUE(SaveOracleGeneral(chunked, path_, true).ok());
  EXPECT_EQ(Bytes_().size(), 4 * 24u);
  EXPECT_FALSE(SaveOracleGeneral(chunked, path_ + "/none/x", false).ok());
  // A device that takes nothing.
  EXPECT_EQ(SaveOracleGeneral(chunked, "/dev/full", true).code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(OracleGeneral, SaysWhatIsWrong) {
  EXPECT_EQ(Read("").status().code(), absl::StatusCode::kFailedPrecondition);
  const Status cut = Read(Record(1, 1, 1, -1) + "12345").status();
  EXPECT_EQ(cut.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(cut.message()), AllOf(HasSubstr("after 1 requests 5 bytes are left")));
  std::string large;
  for (uint64_t i = 0; i < 40000; ++i) large += Record(1, i, UINT32_MAX, -1);
  EXPECT_EQ(Read(large).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(LoadOracleGeneral(path_ + ".none").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(OracleGeneral, IsToldFromOtherFiles) {
  const std::string good = Record(1, 8, 4, 3) + Record(1, 9, 4, INT64_MAX) + Record(2, 8, 4, 90);
  EXPECT_TRUE(LooksLikeOracleGeneral(good));
  EXPECT_TRUE(LooksLikeOracleGeneral(good + "abc"));
  EXPECT_FALSE(LooksLikeOracleGeneral(""));
  EXPECT_FALSE(LooksLikeOracleGeneral("too short"));
  EXPECT_FALSE(LooksLikeOracleGeneral(good + Record(1, 8, 4, -1))) << "time ran backwards";
  EXPECT_FALSE(LooksLikeOracleGeneral(good + Record(2, 8, 4, 4))) << "its own next";
  EXPECT_FALSE(LooksLikeOracleGeneral(Record(1, 8, 4, 2) + Record(1, 9, 4, -1)));
  EXPECT_FALSE(LooksLikeOracleGeneral(std::string(96, 'x')));
  EXPECT_FALSE(LooksLikeOracleGeneral(std::string(96, '\0')));
}

}  // namespace
}  // namespace vramspan::replay
