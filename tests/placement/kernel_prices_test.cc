#include "runtime/placement/kernel_prices.h"

#include <gmock/gmock.h>

namespace vramspan {
namespace {

using ::testing::HasSubstr;

TEST(KernelPrices, ComeBackAsTheyWere) {
  const std::vector<KernelPrice> prices = {
      {KernelPrice::HashOfName("gemm"), 0xab, 1.25, 20'500},
      {KernelPrice::HashOfName(""), ~uint64_t{0}, 0, 0},
      {1, 2, KernelPrice::kMostPasses, KernelPrice::kMostResident}};
  const auto read = ParseKernelPrices(KernelPricesText(prices));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, prices);
  EXPECT_TRUE(ParseKernelPrices("")->empty());
  EXPECT_EQ(KernelPricesText({}), "");
}

// As everybody's: another build finds what this one wrote.
TEST(KernelPrices, NamesAreHashedAsFnvSays) {
  EXPECT_EQ(KernelPrice::HashOfName(""), 0xcbf29ce484222325);
  EXPECT_EQ(KernelPrice::HashOfName("a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(KernelPrice::HashOfName("foobar"), 0x85944171f73967e8);
}

TEST(KernelPrices, WhatMakesNoSenseIsNamed) {
  const std::string good = "00000000000000ab:00000000000000cd:1250:20500";
  ASSERT_TRUE(ParseKernelPrices(good).ok());
  for (const std::string& bad :
       {std::string(","), good + ",", std::string("ab:cd:1:1"), good + ":1",
        std::string("00000000000000ab:00000000000000cd:-1:1"),
        std::string("00000000000000ab:00000000000000cd: 1:1"),
        std::string("00000000000000AB:00000000000000cd:1:1"),
        std::string("00000000000000ab:00000000000000cd:1e3:1"),
        std::string("00000000000000ab:00000000000000cd:1000000001:1"),
        std::string("00000000000000ab:00000000000000cd:1:1000000000001"),
        std::string("00000000000000ab:00000000000000cd:1:99999999999999999999")}) {
    EXPECT_EQ(ParseKernelPrices(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_THAT(std::string(ParseKernelPrices("x\x1b").status().message()),
              HasSubstr("x\xEF\xBF\xBD"));
  std::string many = good;
  for (size_t i = 0; i < kMostKernelPrices; ++i) many += "," + good;
  EXPECT_THAT(std::string(ParseKernelPrices(many).status().message()), HasSubstr("more than 500"));
}

}  // namespace
}  // namespace vramspan
