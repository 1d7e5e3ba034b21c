#include "runtime/backing/budget.h"

#include <gmock/gmock.h>

#include "runtime/base/clean_text.h"

namespace vramspan {
namespace {

using ::testing::HasSubstr;

constexpr Bytes kWhole = GiB(80);

TEST(ParseSize, TakesBytesAndBothKindsOfUnits) {
  const struct {
    const char* text;
    Bytes bytes;
  } cases[] = {
      {"1", Bytes(1)},
      {"4096", Bytes(4096)},
      {"4096B", Bytes(4096)},
      {"64KiB", KiB(64)},
      {"512MiB", MiB(512)},
      {"8GiB", GiB(8)},
      {"2TiB", GiB(2048)},
      {"64KB", Bytes(64000)},
      {"512MB", Bytes(512000000)},
      {"1.5GB", Bytes(1500000000)},
      {"0.1TB", Bytes(100000000000)},
      {"0.5GiB", MiB(512)},
      {"1.000000001GB", Bytes(1000000001)},
      {"007MiB", MiB(7)},
      {"9223372036854775807", Bytes(9223372036854775807)},
  };
  for (const auto& c : cases) {
    const auto size = ParseSize(c.text);
    ASSERT_TRUE(size.ok()) << c.text << ": " << size.status();
    EXPECT_EQ(*size, c.bytes) << c.text;
  }
}

TEST(ParseSize, RefusesAndNamesTheTextAndWhatIsAllowed) {
  for (const char* text : {"",
                           " ",
                           "-1",
                           "+1",
                           "0",
                           "0GiB",
                           "0.0000001KiB",
                           "8Gib",
                           "8gib",
                           "8G",
                           "8 GiB",
                           " 8GiB",
                           "8GiB ",
                           "8GiBx",
                           "GiB",
                           "1e99",
                           "1e9",
                           "0x10",
                           ".5GiB",
                           "5.GiB",
                           "1.5",
                           "1.5B",
                           "1..5GiB",
                           "1.2.3GiB",
                           "50%",
                           "nan",
                           "inf",
                           "8GiB\n",
                           "8,5GiB",
                           "9223372036854775808",
                           "18446744073709551616",
                           "99999999999999999999999999",
                           "8388608TiB",
                           "1.0000000001GiB"}) {
    const auto size = ParseSize(text);
    ASSERT_FALSE(size.ok()) << "'" << text << "' became " << size->value;
    EXPECT_EQ(size.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(size.status().message()), HasSubstr("'" + CleanText(text) + "'"));
    EXPECT_THAT(std::string(size.status().message()),
                HasSubstr("as 8GiB (also B, KiB, MiB, TiB) or 1.5GB"));
  }
}

TEST(ParseSize, RefusesAnEmbeddedZeroByte) {
  EXPECT_FALSE(ParseSize(std::string_view("8GiB\0", 5)).ok());
}

TEST(ParseBudget, TakesSizesAndPercentages) {
  EXPECT_EQ(*ParseBudget("8GiB", kWhole), GiB(8));
  EXPECT_EQ(*ParseBudget("100%", kWhole), kWhole);
  EXPECT_EQ(*ParseBudget("100.0%", kWhole), kWhole);
  EXPECT_EQ(*ParseBudget("50%", kWhole), GiB(40));
  EXPECT_EQ(*ParseBudget("12.5%", kWhole), GiB(10));
  EXPECT_EQ(*ParseBudget("0.1%", Bytes(1000)), Bytes(1));
  EXPECT_EQ(*ParseBudget("100%", Bytes(~uint64_t{0})), Bytes(~uint64_t{0}));
}

TEST(ParseBudget, RefusesAndNamesTheTextAndWhatIsAllowed) {
  for (const char* text : {"", "%", "0%", "0.0%", "120%", "100.1%", "-1%", "-1", "1e1%", "50 %",
                           "50%%", "50%x", "5.%", "8Gib", "8GiB%", "99999999999999999999999999%"}) {
    const auto budget = ParseBudget(text, kWhole);
    ASSERT_FALSE(budget.ok()) << "'" << text << "' became " << budget->value;
    EXPECT_EQ(budget.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(budget.status().message()), HasSubstr("'" + std::string(text) + "'"));
    EXPECT_THAT(std::string(budget.status().message()), HasSubstr("up to 100%"));
  }
  EXPECT_FALSE(ParseBudget("1%", Bytes(99)).ok()) << "that is no bytes at all";
}

TEST(DeviceHeadroom, IsBoundedBothWays) {
  EXPECT_EQ(DeviceHeadroom(GiB(80), GiB(79)), GiB(2));
  EXPECT_EQ(DeviceHeadroom(GiB(16), GiB(15)), GiB(1));
  // At most a tenth of what is free.
  EXPECT_EQ(DeviceHeadroom(GiB(80), GiB(10)), GiB(1));
  EXPECT_EQ(DeviceHeadroom(MiB(256), MiB(200)), MiB(20));
  EXPECT_EQ(DeviceHeadroom(GiB(80), Bytes(0)), Bytes(0));
}

TEST(DefaultDeviceBudget, IsWholeGranules) {
  EXPECT_EQ(DefaultDeviceBudget(GiB(80), GiB(79)), GiB(77));
  EXPECT_EQ(DefaultDeviceBudget(MiB(256), MiB(201)).value % kGranularity.value, 0u);
  EXPECT_EQ(DefaultDeviceBudget(MiB(256), MiB(201)), MiB(180));
  EXPECT_EQ(DefaultDeviceBudget(GiB(80), Bytes(0)), Bytes(0));
}

}  // namespace
}  // namespace vramspan
