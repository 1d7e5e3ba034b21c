#include "tools/prove/images.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include "runtime/observe/image_hash.h"
#include "tests/prove/made_images.h"
#include "tools/prove/mapped_file.h"

namespace vramspan::prove {
namespace {

using ::testing::IsEmpty;

const std::string& Fat() {
  static const std::string fat = MadeFat({{.code = MadeCubin(90, {"f"})}});
  return fat;
}

TEST(FindImagesTest, FindsThemWhereverTheyLie) {
  const std::string other = MadeFat({{.code = MadeCubin(80, {"g"})}, {.kind = 1, .code = "//"}});
  const std::string cubin = MadeCubin(75, {"h"});
  const std::string file = absl::StrCat("!<arch>\nname", Fat(), std::string(4, '\0'), other, "x",
                                        cubin, "\x50\xed", Fat());
  const std::vector<Image> images = FindImages(file);
  ASSERT_EQ(images.size(), 4u);
  EXPECT_EQ(images[0].bytes, Fat());
  EXPECT_EQ(images[1].bytes, other);
  EXPECT_TRUE(images[1].fat);
  EXPECT_EQ(images[2].bytes, cubin);
  EXPECT_FALSE(images[2].fat);
  EXPECT_EQ(images[3].bytes, Fat());
  EXPECT_EQ(images[0].module, images[3].module);
  EXPECT_NE(images[0].module, images[1].module);
}

TEST(FindImagesTest, HashesThemAsTheRuntimeDoes) {
  const std::string file = "program" + Fat() + MadeCubin(90, {"f"});
  const std::vector<Image> images = FindImages(file);
  ASSERT_EQ(images.size(), 2u);
  // As a program hands it over: by itself, with other memory behind it, or in a wrapper.
  const std::string alone = Fat() + "behind", cubin = MadeCubin(90, {"f"});
  const struct {
    uint32_t magic, version;
    const void* data;
  } wrapper = {0x466243b1, 1, alone.data()};
  EXPECT_NE(images[0].module, 0u);
  EXPECT_EQ(images[0].module, HashOfImage(alone.data()));
  EXPECT_EQ(images[0].module, HashOfImage(&wrapper));
  EXPECT_EQ(images[1].module, HashOfImage(cubin.data()));
}

TEST(FindImagesTest, WhatIsNoneIsPassedOver) {
  EXPECT_THAT(FindImages(""), IsEmpty());
  EXPECT_THAT(FindImages(std::string(1000, '\x50')), IsEmpty());
  const std::string cubin = MadeCubin(90, {"f"});
  for (size_t size = 0; size < cubin.size(); ++size) {
    EXPECT_THAT(FindImages(cubin.substr(0, size)), IsEmpty()) << size;
  }
  // The cubin of one that is cut short is whole.
  const size_t head = Fat().size() - cubin.size();
  for (size_t size = 0; size < head; ++size) {
    EXPECT_THAT(FindImages(Fat().substr(0, size)), IsEmpty()) << size;
  }
  std::string host = cubin;
  host[18] = 62;
  EXPECT_THAT(FindImages(host), IsEmpty()) << "of another machine";
}

TEST(FindImagesTest, FilesAreKnownByTheirFirstBytes) {
  EXPECT_TRUE(MayHoldImages(Fat()));
  EXPECT_TRUE(MayHoldImages(MadeCubin(90, {"f"})));
  EXPECT_TRUE(MayHoldImages("!<arch>\n"));
  EXPECT_FALSE(MayHoldImages(""));
  EXPECT_FALSE(MayHoldImages("#!/bin/sh"));
}

TEST(MappedFileTest, SaysWhatCannotBeMapped) {
  EXPECT_TRUE(absl::IsNotFound(MappedFile::Open("/no/such/file").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(MappedFile::Open("/").status()));
  const StatusOr<MappedFile> self = MappedFile::Open("/proc/self/exe");
  ASSERT_TRUE(self.ok()) << self.status();
  EXPECT_TRUE(MayHoldImages(self->bytes()));
}

}  // namespace
}  // namespace vramspan::prove
