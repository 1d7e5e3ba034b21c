// Files as other programs pack them, and as killed ones and copies leave them.
#include "tools/replay/text_source.h"

#include <gmock/gmock.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace vramspan::replay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string ZstdOf(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

std::string NumberLines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

class TextSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "text_source_" + std::to_string(::getpid());
  }
  void TearDown() override { std::filesystem::remove(path_); }
  void Write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string Packed(const std::string& text) const {
    const gzFile file = gzopen(path_.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    std::ostringstream bytes;
    bytes << std::ifstream(path_, std::ios::binary).rdbuf();
    return bytes.str();
  }
  // What it gives, then its status; what it lacks is in loss_.
  std::pair<std::string, Status> ReadBack(uint64_t most) {
    auto source = TextSource::Open(path_, most);
    if (!source.ok()) return {"", source.status()};
    std::string text;
    char buffer[1000];
    for (std::streamsize n; (n = (*source)->sgetn(buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(n));
    }
    loss_ = (*source)->loss();
    return {text, (*source)->status()};
  }

  std::string path_, loss_;
};

// What is packed a thousand times over is no text that anybody recorded.
TEST_F(TextSourceTest, AFewBytesDoNotUnpackToMany) {
  const size_t packed = Packed(std::string(80 << 20, ' ')).size();
  ASSERT_LT(packed, 1u << 17);
  const auto [text, status] = ReadBack(uint64_t{1} << 40);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(path_ + ": it is longer than"));
  EXPECT_LE(text.size(), (64u << 20) + 100 * packed);
}

TEST_F(TextSourceTest, ReadsPlainAndPacked) {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += std::to_string(i) + "\n";
  Write(text);
  EXPECT_EQ(ReadBack(text.size()), std::make_pair(text, absl::OkStatus()));
  Write(Packed(text));
  EXPECT_EQ(ReadBack(text.size()), std::make_pair(text, absl::OkStatus()));
  Write(ZstdOf(text));
  EXPECT_EQ(ReadBack(text.size()), std::make_pair(text, absl::OkStatus()));
  EXPECT_THAT(loss_, IsEmpty());
  Write("");
  EXPECT_EQ(ReadBack(10), std::make_pair(std::string(), absl::OkStatus()));
}

TEST_F(TextSourceTest, OneMemberBehindTheOther) {
  const std::string text = NumberLines(30'000);
  const std::string one = text.substr(0, 100'000), two = text.substr(100'000);
  const std::string skipped("\x51\x2a\x4d\x18\x04\0\0\0abcd", 12);
  for (const std::string& bytes :
       {Packed(one) + Packed(two), Packed(one) + Packed("") + Packed(two),
        ZstdOf(one) + ZstdOf(two), skipped + ZstdOf(one) + skipped + ZstdOf(two) + skipped}) {
    Write(bytes);
    EXPECT_EQ(ReadBack(1 << 30), std::make_pair(text, absl::OkStatus()));
    EXPECT_THAT(loss_, IsEmpty());
    // Zeros are what a copy by blocks leaves.
    Write(bytes + std::string(100'000, '\0'));
    EXPECT_EQ(ReadBack(1 << 30), std::make_pair(text, absl::OkStatus()));
    EXPECT_THAT(loss_, IsEmpty());
    Write(bytes + std::string(30, '\0') + "x");
    EXPECT_EQ(ReadBack(1 << 30), std::make_pair(text, absl::OkStatus()));
    EXPECT_THAT(loss_, HasSubstr("the last 31 bytes are not "));
  }
}

TEST_F(TextSourceTest, WhatIsCutIsUsedAsFarAsItGoes) {
  const std::string text = NumberLines(50'000);
  for (const std::string& packed : {Packed(text), ZstdOf(text), Packed("") + Packed(text)}) {
    for (const size_t less : {size_t{1}, size_t{5}, size_t{20}, packed.size() / 2}) {
      Write(packed.substr(0, packed.size() - less));
      const auto [got, status] = ReadBack(1 << 30);
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_EQ(got, text.substr(0, got.size()));
      EXPECT_THAT(loss_, AllOf(HasSubstr("data are cut short"), HasSubstr("is used")));
    }
  }
}

TEST_F(TextSourceTest, NamesWhatItDoesNotUnpack) {
  const struct {
    std::string bytes;
    const char* says;
  } cases[] = {
      {std::string("\xfd"
                   "7zXZ\0\0\x04",
                   8),
       "packed with xz, but only gzip and zstd are read"},
      {"BZh91AY&SY\x01\x02", "unpack it first (bzip2 -dc)"},
      {std::string("\x04\x22\x4d\x18\x64\x40", 6), "packed with lz4"},
      {std::string("PK\x03\x04\x14\0", 6), "packed with zip"},
      {"LZIP\x01\x0c", "packed with lzip"},
      {std::string("7z\xbc\xaf\x27\x1c\0\x04", 8), "packed with 7z"},
      {std::string("Rar!\x1a\x07\x01\0", 8), "packed with rar"},
  };
  for (const auto& c : cases) {
    Write(c.bytes + std::string(100, 'z'));
    const Status status = ReadBack(1 << 30).second;
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), AllOf(StartsWith(path_), HasSubstr(c.says)));
  }
  // Two bytes of a mark, or a mark's name, are none.
  for (const std::string& bytes : {std::string("\x1f\x8b\0\0 plain", 10), std::string("BZhello")}) {
    Write(bytes);
    EXPECT_EQ(ReadBack(1 << 30), std::make_pair(bytes, absl::OkStatus()));
  }
}

TEST_F(TextSourceTest, SaysWhatIsWrong) {
  const std::string text(1 << 20, 'a');
  const std::string packed = Packed(text);
  std::string damaged = packed;
  damaged[damaged.size() / 2] = static_cast<char>(~damaged[damaged.size() / 2]);
  damaged[damaged.size() - 6] = static_cast<char>(~damaged[damaged.size() - 6]);
  Write(damaged);
  EXPECT_EQ(ReadBack(1 << 30).second.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(ReadBack(1 << 30).second.message()),
              StartsWith(path_ + ": it cannot be unpacked: "));
  std::string zstd = ZstdOf(NumberLines(50'000));
  zstd[zstd.size() / 2] = static_cast<char>(~zstd[zstd.size() / 2]);
  zstd[zstd.size() / 3] = static_cast<char>(~zstd[zstd.size() / 3]);
  Write(zstd);
  EXPECT_EQ(ReadBack(1 << 30).second.code(), absl::StatusCode::kDataLoss);
  // A little that unpacks to much.
  Write(packed);
  EXPECT_EQ(ReadBack(text.size() - 1).second.code(), absl::StatusCode::kResourceExhausted);
  std::filesystem::remove(path_);
  EXPECT_EQ(ReadBack(1).second.code(), absl::StatusCode::kNotFound);
  path_ = ::testing::TempDir();
  EXPECT_FALSE(ReadBack(1).second.ok());
  path_ += "none";
}

}  // namespace
}  // namespace vramspan::replay
