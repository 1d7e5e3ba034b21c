#include "tools/vramspan/info_cache.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <limits>

#include "tests/tools/run_binary.h"

namespace vramspan::info {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kUuid[] = "GPU-0123";
constexpr int kDriver = 13000;

DeviceCosts SomeCosts() {
  DeviceCosts costs;
  double next = 0.5;
  for (ChunkCosts& chunk : costs.chunks) {
    for (auto* memory : {&chunk.device, &chunk.host}) {
      memory->emplace();
      for (double* field : {&(*memory)->create, &(*memory)->map, &(*memory)->access,
                            &(*memory)->unmap, &(*memory)->release}) {
        *field = next += 0.25;
      }
    }
  }
  costs.chunks[5].device.reset();
  costs.copy_to_device = 55.25;
  costs.copy_to_host = 54.5;
  costs.copy_both = 94;
  costs.kernel_read = 51;
  costs.hold_call = 1.75;
  costs.hold_release = 8.125;
  return costs;
}

class CacheTest : public ::testing::Test {
 protected:
  std::string File() const { return folder_.path() + "/deep/er/" + kUuid + ".json"; }
  Status Write() const { return WriteCache(File(), kUuid, kDriver, SomeCosts()); }
  StatusOr<DeviceCosts> Read() const { return ReadCache(File(), kUuid, kDriver); }
  void Put(const std::string& text) const { std::ofstream(File()) << text; }

  TemporaryFolder folder_;
};

// Runs of this user begin with what lies there.
TEST_F(CacheTest, OthersMayNotChangeTheFolderWhateverTheMaskSays) {
  const mode_t before = umask(002);
  EXPECT_TRUE(Write().ok());
  umask(before);
  struct stat s;
  ASSERT_EQ(stat((folder_.path() + "/deep/er").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0700u);
}

TEST_F(CacheTest, WhatIsWrittenIsRead) {
  ASSERT_TRUE(Write().ok());
  const auto costs = Read();
  ASSERT_TRUE(costs.ok()) << costs.status();
  EXPECT_EQ(CostsToJson(*costs), CostsToJson(SomeCosts()));
  EXPECT_FALSE(costs->chunks[5].device.has_value());
  EXPECT_FALSE(costs->kernel_write.has_value());
  // Written by rename: nothing else is left in the folder.
  int files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(File()).parent_path())) {
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(CacheTest, AMissingFileIsNotFound) { EXPECT_TRUE(absl::IsNotFound(Read().status())); }

TEST_F(CacheTest, AnotherVersionDeviceOrDriverIsStale) {
  ASSERT_TRUE(Write().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadCache(File(), kUuid, 13010).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadCache(File(), "GPU-9", kDriver).status()));
  Json json = Json::parse(ReadText(File()));
  json["schema_version"] = 2;
  Put(json.dump());
  EXPECT_TRUE(absl::IsFailedPrecondition(Read().status()));
  Put("{}");
  EXPECT_TRUE(absl::IsFailedPrecondition(Read().status()));
}

TEST_F(CacheTest, EveryFieldIsCheckedForPresenceKindAndRange) {
  ASSERT_TRUE(Write().ok());
  const Json good = Json::parse(ReadText(File()));
  int leaves = 0;
  const Json flat = good.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (pointer.rfind("/costs", 0) != 0) continue;
    ++leaves;
    const bool optional = value.is_null() || pointer == "/costs/kernel_on_host_gb_per_s/read";
    for (const Json& bad :
         {Json("text"), Json(true), Json(-1), Json(1e10), Json::array(), Json::object(),
          Json(nullptr), Json(std::numeric_limits<uint64_t>::max())}) {
      if (bad.is_null() && optional) continue;
      Json json = good;
      json[Json::json_pointer(pointer)] = bad;
      Put(json.dump());
      const auto costs = Read();
      EXPECT_TRUE(absl::IsInvalidArgument(costs.status()))
          << pointer << " = " << bad << ": " << costs.status();
    }
    Json json = good;
    const Json::json_pointer at(pointer);
    if (json[at.parent_pointer()].is_object()) {
      json[at.parent_pointer()].erase(at.back());
      Put(json.dump());
      EXPECT_FALSE(Read().ok()) << pointer << " is missing";
    }
  }
  EXPECT_GT(leaves, 60);
}

TEST_F(CacheTest, EveryTruncationIsRefused) {
  ASSERT_TRUE(Write().ok());
  const std::string good = ReadText(File());
  for (size_t size = 0; size + 2 < good.size(); size += 5) {
    Put(good.substr(0, size));
    ASSERT_FALSE(Read().ok()) << size << " of " << good.size() << " bytes";
  }
}

TEST_F(CacheTest, FilesThatAreNotOursAreRefused) {
  ASSERT_TRUE(Write().ok());
  Put(std::string(30000, '['));
  EXPECT_TRUE(absl::IsInvalidArgument(Read().status()));
  Put("{\"costs\": " + std::string(30000, '[') + std::string(30000, ']') + "}");
  EXPECT_FALSE(Read().ok());
  Put(ReadText(File()) + std::string(1 << 20, ' '));
  EXPECT_THAT(std::string(Read().status().message()), HasSubstr("larger than"));
  Put(std::string("\0\xff\xfe", 3));
  EXPECT_FALSE(Read().ok());
  std::filesystem::remove(File());
  ASSERT_EQ(symlink("/etc/hostname", File().c_str()), 0);
  EXPECT_FALSE(Read().ok()) << "a link is not followed";
  std::filesystem::remove(File());
  ASSERT_EQ(mkfifo(File().c_str(), 0600), 0);
  EXPECT_FALSE(Read().ok()) << "and nobody waits for a pipe's writer";
  std::filesystem::remove(File());
  std::filesystem::create_directory(File());
  EXPECT_FALSE(Read().ok());
  EXPECT_FALSE(Write().ok()) << "a folder is in the way";
}

TEST(CachePath, FollowsTheBaseDirectories) {
  ASSERT_EQ(setenv("XDG_CACHE_HOME", "/x/cache", 1), 0);
  ASSERT_EQ(setenv("HOME", "/home/me", 1), 0);
  EXPECT_EQ(*CachePath(kUuid), "/x/cache/vramspan/GPU-0123.json");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(*CachePath(kUuid), "/home/me/.cache/vramspan/GPU-0123.json");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(*CachePath(kUuid), "/home/me/.cache/vramspan/GPU-0123.json");
  unsetenv("HOME");
  EXPECT_FALSE(CachePath(kUuid).ok());
  setenv("HOME", "/home/me", 1);
  for (const char* uuid : {"", "../../etc/passwd", "a/b", ".", "a b", "\n"}) {
    EXPECT_FALSE(CachePath(uuid).ok()) << uuid;
  }
  EXPECT_FALSE(CachePath(std::string(65, 'a')).ok());
}

}  // namespace
}  // namespace vramspan::info
