// Pages: their words, one by one.
#include "runtime/lease/pages.h"

#include <gtest/gtest.h>

namespace vramspan::lease {
namespace {

TEST(LeasePages, WordsAreAsThePageSays) {
  const ProcessPage process{.beat = 2,
                            .used_device = Bytes(3),
                            .used_host = Bytes(4),
                            .wanted_device = Bytes(5),
                            .wanted_host = Bytes(6),
                            .cached = Bytes(7),
                            .clean = Bytes(8),
                            .cold = Bytes(9),
                            .stalled = 10,
                            .works = 11,
                            .flags = ProcessPage::kRuns | ProcessPage::kWaits};
  EXPECT_EQ(ToWords(process),
            (std::array<uint64_t, ProcessPage::kWords>{1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 6}));
  const BrokerPage broker{.revision = 2,
                          .device = Bytes(3),
                          .host = Bytes(4),
                          .flags = BrokerPage::kFenced | BrokerPage::kMayFetch};
  EXPECT_EQ(ToWords(broker), (std::array<uint64_t, BrokerPage::kWords>{1, 0, 2, 3, 4, 5}));
  ProcessPage process_read;
  EXPECT_TRUE(FromWords(ToWords(process), &process_read));
  EXPECT_EQ(process_read, process);
  BrokerPage broker_read;
  EXPECT_TRUE(FromWords(ToWords(broker), &broker_read));
  EXPECT_EQ(broker_read, broker);
}

TEST(LeasePages, APageThatNobodyWroteIsNone) {
  ProcessPage process{.beat = 7};
  BrokerPage broker{.revision = 7};
  EXPECT_FALSE(FromWords(std::array<uint64_t, ProcessPage::kWords>{}, &process));
  EXPECT_FALSE(FromWords(std::array<uint64_t, BrokerPage::kWords>{}, &broker));
  EXPECT_EQ(process.beat, 7u);
  EXPECT_EQ(broker.revision, 7u);
}

}  // namespace
}  // namespace vramspan::lease
