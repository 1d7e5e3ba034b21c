// Prices on disk: written, read back, and refused where they are not what was written.
#include "runtime/api/price_file.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace vramspan {
namespace {

using testing::HasSubstr;

constexpr int kDriver = 13000;

DeviceCosts Measured() {
  DeviceCosts costs;
  costs.copy_to_device = 55;
  costs.copy_both = 95;
  costs.kernel_read = 51.5;
  const HandleCosts device{.create = 8, .map = 1, .access = 30, .unmap = 20, .release = 25};
  const HandleCosts host{.create = 8000, .map = 6, .access = 600, .unmap = 300, .release = 1000};
  costs.chunks.back() = {device, host};
  return costs;
}

TEST(PricesOf, AreThoseOfTheSlowerOfCopiesAndRemaps) {
  DeviceCosts costs = Measured();
  EXPECT_DOUBLE_EQ(PricesOf(costs).serve_gb_per_s, 51.5);
  EXPECT_DOUBLE_EQ(PricesOf(costs).move_gb_per_s, 47.5);  // Copies.
  costs.chunks.back().host->access = 2000;
  // 64 MiB in 1 + 30 + 20 + 6 + 2000 + 300 microseconds.
  EXPECT_NEAR(PricesOf(costs).move_gb_per_s, 67108864 / 2357e3, 1e-6);
}

TEST(PricesOf, KeepsTheDefaultsForWhatWasNotMeasured) {
  const Prices none = PricesOf(DeviceCosts{});
  EXPECT_EQ(none.serve_gb_per_s, Prices{}.serve_gb_per_s);
  EXPECT_EQ(none.move_gb_per_s, Prices{}.move_gb_per_s);
  DeviceCosts costs;
  costs.copy_to_device = 20;  // No kernels were at hand.
  EXPECT_EQ(PricesOf(costs).serve_gb_per_s, 20);
}

TEST(ParsePrices, ReadsWhatWasWritten) {
  const Prices written{.serve_gb_per_s = 12.5, .move_gb_per_s = 8.25};
  const StatusOr<Prices> read = ParsePrices(PricesText(written, kDriver), kDriver);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->serve_gb_per_s, 12.5);
  EXPECT_EQ(read->move_gb_per_s, 8.25);
}

TEST(ParsePrices, RefusesWhatIsNotOurs) {
  const std::string good = PricesText({}, kDriver);
  EXPECT_TRUE(absl::IsFailedPrecondition(ParsePrices(good, 13010).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(ParsePrices("", kDriver).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      ParsePrices("vramspan-prices 2" + good.substr(17), kDriver).status()));
  const std::string head = "vramspan-prices 1\ndriver 13000\n";
  for (const char* rest :
       {"serve_gb_per_s 0\nmove_gb_per_s 1\n", "serve_gb_per_s 1\n",
        "serve_gb_per_s -3\nmove_gb_per_s 1\n", "move_gb_per_s 1\n\n",
        "serve_gb_per_s nan\nmove_gb_per_s 1\n", "serve_gb_per_s 1\nmove_gb_per_s 1e300\n",
        "serve_gb_per_s 1\nmove_gb_per_s 1\nmore\n", "serve_gb_per_s 1\nmove_gb_per_s 1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParsePrices(head + rest, kDriver).status())) << rest;
  }
  EXPECT_TRUE(
      absl::IsInvalidArgument(ParsePrices(good + std::string(2000, 'x'), kDriver).status()));
  // Cut anywhere, it is never taken for whole.
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_FALSE(ParsePrices(good.substr(0, n), kDriver).ok()) << n;
  }
}

TEST(ReadPrices, NamesTheFile) {
  const std::string path = testing::TempDir() + "vramspan-" + std::to_string(getpid()) + ".prices";
  EXPECT_TRUE(absl::IsNotFound(ReadPrices(path, kDriver).status()));
  std::ofstream(path) << PricesText({.serve_gb_per_s = 9, .move_gb_per_s = 3}, kDriver);
  EXPECT_EQ(ReadPrices(path, kDriver)->move_gb_per_s, 3);
  std::ofstream(path) << "rubbish";
  EXPECT_THAT(ReadPrices(path, kDriver).status().message(), HasSubstr(path));
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_FALSE(ReadPrices(path, kDriver).ok());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace vramspan
