#include "tools/prove/entries.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "tests/prove/made_images.h"
#include "tools/prove/fat_format.h"
#include "tools/prove/kernel_names.h"

namespace vramspan::prove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPtx[] = ".version 9.0\n.visible .entry f(\n) { }\n.weak .entry _Z1g$1%(\n";

std::vector<MadeEntry> All() {
  return {
      {.kind = 1, .sm = 120, .code = kPtx, .flags = FatEntry::kZstd, .more_header = 16},
      {.sm = 90, .code = MadeCubin(90, {"f"}), .flags = FatEntry::kZstd | FatEntry::kForThisGpu},
      {.sm = 100,
       .code = MadeCubin(100, {"f", "_Z1g"}),
       .flags = FatEntry::kLz4 | FatEntry::kForFamily,
       .more_header = 48},
      {.sm = 75, .code = MadeCubin(75, {"h"})},
      {.kind = 8, .code = "what is this"}};
}

StatusOr<std::vector<Entry>> Entries(std::string_view fat) { return ReadEntries({fat, 1, true}); }

TEST(EntriesTest, AreReadHoweverTheyArePacked) {
  const std::string fat = MadeFat(All());
  const auto entries = Entries(fat);
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 5u);
  std::vector<std::string> gpus;
  for (size_t i = 0; i < entries->size(); ++i) {
    const Entry& entry = (*entries)[i];
    gpus.push_back(entry.gpu);
    const auto code = Unpack(entry);
    ASSERT_TRUE(code.ok()) << i << code.status();
    EXPECT_THAT(std::string(code->bytes), testing::StartsWith(All()[i].code)) << i;
  }
  EXPECT_THAT(gpus, ElementsAre("compute_120", "sm_90a", "sm_100f", "sm_75", "sm_90"));
  EXPECT_EQ((*entries)[0].kind, Entry::Kind::kPtx);
  EXPECT_EQ((*entries)[1].kind, Entry::Kind::kElf);
  EXPECT_EQ((*entries)[4].kind, Entry::Kind::kOther);
  EXPECT_EQ((*entries)[4].number, 8u);
}

TEST(EntriesTest, ACubinByItselfIsOne) {
  const std::string cubin = MadeCubin(103, {"f"});
  const auto entries = ReadEntries({cubin, 1, false});
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ((*entries)[0].gpu, "sm_103");
  EXPECT_EQ(Unpack((*entries)[0])->bytes, cubin);
}

// The image with one field of its second entry changed.
template <typename T>
Status Changed(size_t offset, T value) {
  std::string fat = MadeFat(
      {{.code = MadeCubin(90, {"f"})}, {.code = MadeCubin(90, {"f"}), .flags = FatEntry::kZstd}});
  const size_t second = 16 + 64 + (MadeCubin(90, {"f"}).size() + 7) / 8 * 8;
  std::memcpy(fat.data() + second + offset, &value, sizeof(value));
  const auto entries = Entries(fat);
  if (!entries.ok()) return entries.status();
  return Unpack(entries->back()).status();
}

TEST(EntriesTest, WhatIsWrongIsSaid) {
  EXPECT_TRUE(Changed(offsetof(FatEntry, sm), 80u).ok());
  const auto wrong = [](const Status& status, absl::StatusCode code, const char* why) {
    EXPECT_EQ(status.code(), code) << why;
    EXPECT_THAT(status.message(), HasSubstr(why));
  };
  using absl::StatusCode;
  for (const uint64_t size :
       {uint64_t{0}, uint64_t{8}, uint64_t{1} << 20, ~uint64_t{0}, ~uint64_t{7} - 63}) {
    wrong(Changed(offsetof(FatEntry, size), size), StatusCode::kDataLoss, "");
  }
  wrong(Changed(offsetof(FatEntry, header_size), 0u), StatusCode::kDataLoss, "beyond");
  wrong(Changed(offsetof(FatEntry, header_size), ~0u), StatusCode::kDataLoss, "beyond");
  wrong(Changed(offsetof(FatEntry, packed_size), ~0u), StatusCode::kDataLoss, "more than it has");
  // By one byte more than is there.
  const std::string packed = MadeFat({{.code = MadeCubin(90, {"f"}), .flags = FatEntry::kZstd}});
  wrong(
      Changed(offsetof(FatEntry, packed_size), static_cast<uint32_t>(packed.size() - 16 - 64 + 1)),
      StatusCode::kDataLoss, "more than it has");
  wrong(Changed(offsetof(FatEntry, packed_size), 5u), StatusCode::kDataLoss, "unpacked");
  wrong(Changed(offsetof(FatEntry, unpacked_size), uint64_t{100}), StatusCode::kDataLoss,
        "unpacked");
  wrong(Changed(offsetof(FatEntry, unpacked_size), kMostUnpacked.value - 1000),
        StatusCode::kDataLoss, "unpacked");
  wrong(Changed(offsetof(FatEntry, unpacked_size), kMostUnpacked.value),
        StatusCode::kResourceExhausted, "1 GiB");
  wrong(Changed(offsetof(FatEntry, unpacked_size), ~uint64_t{0}), StatusCode::kResourceExhausted,
        "1 GiB");
  wrong(Changed(offsetof(FatEntry, flags), uint64_t{0xa011}), StatusCode::kDataLoss, "two ways");
  wrong(Changed(offsetof(FatEntry, flags), uint64_t{0x2011}), StatusCode::kDataLoss, "unpacked");
}

TEST(EntriesTest, ThereIsABoundOnHowManyThereAre) {
  const std::vector<MadeEntry> many(kMostEntries + 1, {.code = "12345678"});
  EXPECT_TRUE(absl::IsResourceExhausted(Entries(MadeFat(many)).status()));
}

TEST(KernelNamesTest, AreThoseOfTheSymbolsAndOfThePtx) {
  EXPECT_THAT(*KernelsOfCubin(MadeCubin(90, {"f", "_Z1g", "f"})), ElementsAre("_Z1g", "f"));
  EXPECT_THAT(*KernelsOfCubin(MadeCubin(90, {})), IsEmpty());
  EXPECT_THAT(KernelsOfPtx(kPtx), ElementsAre("_Z1g$1%", "f"));
  EXPECT_THAT(KernelsOfPtx(".entry"), IsEmpty());
  EXPECT_FALSE(KernelsOfCubin("").ok());
  EXPECT_FALSE(KernelsOfCubin(MadeCubin(90, {""})).ok());
  EXPECT_FALSE(KernelsOfCubin(MadeCubin(90, {std::string(kMostNameBytes + 1, 'x')})).ok());
  const std::string cubin = MadeCubin(90, {"f"});
  for (size_t size = 0; size < cubin.size(); ++size) {
    EXPECT_FALSE(KernelsOfCubin(cubin.substr(0, size)).ok()) << size;
  }
}

TEST(EntriesTest, NoDamageDoesHarm) {
  const std::string whole =
      absl::StrCat(MadeFat(All()), "between", MadeCubin(90, {"f", "_Z1g"}), MadeFat(All()));
  std::mt19937 random(11);
  size_t read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string file = whole;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      const size_t at = random() % file.size();
      switch (random() % 3) {
        case 0:
          file[at] = static_cast<char>(random());
          break;
        case 1:
          file[at] ^= static_cast<char>(1 << random() % 8);
          break;
        default:
          file.resize(std::max<size_t>(at, 1));
      }
    }
    for (const Image& image : FindImages(file)) {
      ASSERT_GE(image.bytes.data(), file.data());
      ASSERT_LE(image.bytes.data() + image.bytes.size(), file.data() + file.size());
      const auto entries = ReadEntries(image);
      if (!entries.ok()) continue;
      for (const Entry& entry : *entries) {
        const auto code = Unpack(entry);
        if (!code.ok()) continue;
        read += KernelsOfCubin(code->bytes).ok() ? 1 : 0;
        KernelsOfPtx(code->bytes);
      }
    }
  }
  EXPECT_GT(read, 1000u);
}

}  // namespace
}  // namespace vramspan::prove
