#include "runtime/placement/pins.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t k8MiB = 8 << 20;

using Changed = std::vector<std::pair<uint32_t, bool>>;
Changed ChangesOf(Pins* pins) {
  Changed changed;
  for (const Pins::Change& c : pins->Changes()) changed.emplace_back(c.pin, c.keep);
  return changed;
}

TEST(PinsText, ComesBackAsItWasWritten) {
  const std::vector<Pin> pins = {{Bytes(k8MiB), 3}, {Bytes(k8MiB + 1), 1}, {Pin::kMost, 1'000'000}};
  const StatusOr<std::vector<Pin>> read = ParsePins(PinsText(pins));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, pins);
  EXPECT_THAT(ParsePins("").value(), IsEmpty());
}

TEST(PinsText, WhatIsAbsurdIsRefused) {
  std::string many = "8388608:1";
  for (size_t i = 2; i <= kMostPins + 1; ++i) absl::StrAppend(&many, ",8388608:", i);
  const struct {
    std::string text;
    const char* words;
  } cases[] = {
      {"8388608:1,8388608:2,8388608:1", "keeps allocation 1 of 8388608 bytes a second time"},
      {"8388608:01,8388608:1", "a second time"},
      {"8388608:0", "from 1 to 1000000"},
      {"8388608:1000001", "from 1 to 1000000"},
      {"8388608:-1", "from 1"},
      {"8388608: 1", "from 1"},
      {"8388608:", "from 1"},
      {"8388608", "from 1"},
      {"8388608:1:2", "from 1"},
      {"1048576:1", "of 1048577 to"},
      {"0:1", "of 1048577 to"},
      {"17592186044417:1", "of 1048577 to"},
      {"99999999999999999999999:1", "of 1048577 to"},
      {"+8388608:1", "of 1048577 to"},
      {":1", "of 1048577 to"},
      {"8MiB:1", "'8MiB:1' should keep"},
      {"8388608:1,", "'' should keep"},
      {many, "one allocation too many to keep; keep at most 256"},
  };
  for (const auto& c : cases) {
    const Status status = ParsePins(c.text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.words)) << c.text;
  }
  many.resize(many.rfind(','));
  EXPECT_EQ(ParsePins(many).value().size(), kMostPins);
}

TEST(Pins, AllocationsAreKnownByTheirPlaceAmongThoseOfTheirSize) {
  Pins pins({{Bytes(k8MiB), 2}, {Bytes(k8MiB), 3}, {Bytes(k8MiB - 1), 1}}, GiB(1));
  EXPECT_EQ(pins.Made(Bytes(k8MiB)), Pins::kNone);
  EXPECT_THAT(ChangesOf(&pins), IsEmpty());
  EXPECT_EQ(pins.Made(MiB(9)), Pins::kNone);
  EXPECT_EQ(pins.Made(Bytes(k8MiB)), 0u);
  EXPECT_THAT(ChangesOf(&pins), ElementsAre(Pair(0, true)));
  EXPECT_EQ(pins.Made(Bytes(k8MiB - 1)), 2u);
  // What was freed still counts as made.
  pins.Gone(0);
  EXPECT_EQ(pins.Made(Bytes(k8MiB)), 1u);
  EXPECT_THAT(ChangesOf(&pins), ElementsAre(Pair(2, true), Pair(1, true)));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pins.Made(Bytes(k8MiB)), Pins::kNone);
  EXPECT_THAT(ChangesOf(&pins), IsEmpty());
}

TEST(Pins, KeepNoMoreThanHalfTheBudget) {
  // 7 MiB and a bit are charged as 8.
  Pins pins({{Bytes(k8MiB), 1}, {Bytes(k8MiB - 100), 1}, {MiB(4), 1}, {Bytes(k8MiB), 2}}, MiB(40));
  pins.Made(Bytes(k8MiB));
  pins.Made(Bytes(k8MiB - 100));
  EXPECT_THAT(ChangesOf(&pins), ElementsAre(Pair(0, true), Pair(1, true)));
  pins.Made(Bytes(k8MiB));
  EXPECT_THAT(ChangesOf(&pins), IsEmpty()) << "4 MiB are left";
  pins.Made(MiB(4));
  EXPECT_THAT(ChangesOf(&pins), ElementsAre(Pair(2, true)));
  // Room that is set free goes to who was made first.
  pins.Gone(1);
  EXPECT_THAT(ChangesOf(&pins), ElementsAre(Pair(3, true)));
  pins.SetBudget(MiB(24));
  EXPECT_THAT(ChangesOf(&pins), ElementsAre(Pair(3, false)));
  pins.SetBudget(MiB(14));
  EXPECT_THAT(ChangesOf(&pins), ElementsAre(Pair(0, false)));
  pins.SetBudget(MiB(4));
  EXPECT_THAT(ChangesOf(&pins), ElementsAre(Pair(2, false)));
  pins.SetBudget(MiB(40));
  EXPECT_THAT(ChangesOf(&pins), ElementsAre(Pair(0, true), Pair(3, true), Pair(2, true)));
}

}  // namespace
}  // namespace vramspan
