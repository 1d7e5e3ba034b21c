#include "tools/replay/oracle_general.h"

#include <gmock/gmock.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/replay/random_run.h"
#include "tools/replay/cache_model.h"
#include "tools/replay/load_run.h"

namespace vramspan::replay {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
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
  EXPECT_EQ(Read("12345").status().code(), absl::StatusCode::kFailedPrecondition);
  std::string large;
  for (uint64_t i = 0; i < 40000; ++i) large += Record(1, i, UINT32_MAX, -1);
  EXPECT_EQ(Read(large).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(LoadOracleGeneral(path_ + ".none").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(OracleGeneral, WhatIsCutIsUsedAsFarAsItGoes) {
  const auto run = Read(Record(1, 1, 1, -1) + "12345");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(run->works, SizeIs(1));
  EXPECT_THAT(run->problems, ElementsAre(HasSubstr("after 1 requests 5 bytes are left")));
}

std::string PackedByZstd(const std::string& bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
  return packed;
}

// As they are shared: packed by zstd, whatever the file is called.
TEST_F(OracleGeneral, ReadsWhatZstdPacked) {
  uint64_t random = 3;
  std::string bytes;
  bool lucky = false;
  for (size_t requests = 1; requests < 200; ++requests) {
    random = random * 6364136223846793005 + 1442695040888963407;
    bytes += Record(requests, random >> 40, 1 << 20, -1);
    const std::string packed = PackedByZstd(bytes);
    // So many bytes are requests as well, if nobody looks.
    if (requests != 100 && packed.size() % 24 != 0) continue;
    lucky = lucky || packed.size() % 24 == 0;
    std::ofstream(path_, std::ios::binary) << packed;
    const auto run = LoadOracleGeneral(path_);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_THAT(run->works, SizeIs(requests));
    EXPECT_THAT(run->problems, IsEmpty());
    std::ofstream(path_, std::ios::binary) << packed.substr(0, packed.size() - 9);
    const auto cut = LoadOracleGeneral(path_);
    if (cut.ok()) {
      EXPECT_THAT(cut->problems, Contains(HasSubstr("zstd data are cut short")));
    } else {
      EXPECT_THAT(std::string(cut.status().message()), HasSubstr("has no requests"));
    }
  }
  EXPECT_TRUE(lucky);
}

TEST_F(OracleGeneral, NamesOtherFormatsOfTheKind) {
  const auto put = [](std::string* bytes, uint64_t value, int count) {
    for (int i = 0; i < count; ++i) *bytes += static_cast<char>(value >> (8 * i) & 0xff);
  };
  std::string lcs, twr, vscsi1, vscsi2, iqi, csv = "time,object,size\r\n", txt;
  put(&lcs, 0x123456789abcdef0, 8);
  lcs.resize(1024);
  for (uint64_t i = 1; i <= 100; ++i) {
    const uint64_t object = i * 0x9e3779b97f4a7c15;
    put(&twr, i / 3, 4), put(&twr, object, 8), put(&twr, 20 << 22 | 900, 4);
    put(&twr, (1 + i % 2) << 24 | 3600, 4);
    put(&vscsi1, i, 4), put(&vscsi1, 4096, 4), put(&vscsi1, 1, 4), put(&vscsi1, 0x2a, 2);
    put(&vscsi1, 1 << 8, 2), put(&vscsi1, object, 8), put(&vscsi1, 1000 * i, 8);
    put(&vscsi2, 0x28, 2), put(&vscsi2, 2 << 8 | 1, 2), put(&vscsi2, i, 4), put(&vscsi2, 4096, 4);
    put(&vscsi2, 1, 4), put(&vscsi2, object, 8), put(&vscsi2, 1000 * i, 8), put(&vscsi2, 5, 8);
    put(&iqi, i / 4, 4), put(&iqi, object, 8), put(&iqi, 4096, 4);
    csv += std::to_string(i) + "," + std::to_string(object) + ",4096\r\n";
    txt += std::to_string(object) + "\n";
  }
  const std::pair<std::string, std::string> cases[] = {{lcs, "lcs"},      {twr, "twr"},
                                                       {vscsi1, "vscsi"}, {vscsi2, "vscsi"},
                                                       {csv, "csv"},      {iqi, "standardBinIQI"},
                                                       {txt, "txt"}};
  for (const auto& [bytes, name] : cases) {
    std::ofstream(path_, std::ios::binary) << bytes;
    for (const Status& status : {LoadOracleGeneral(path_).status(), LoadRun(path_).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << name;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(path_), HasSubstr("libCacheSim's format " + name +
                                                    ", which vramspan does not read; convert it")));
    }
  }
  for (const std::string& bytes : {std::string(96, 'x'), std::string(4096, '\0'),
                                   std::string("hello\nworld\n"), std::string("5\n")}) {
    std::ofstream(path_, std::ios::binary) << bytes;
    const Status status = LoadOracleGeneral(path_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << bytes;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("libCacheSim")));
  }
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
