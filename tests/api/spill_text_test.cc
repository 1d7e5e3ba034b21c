#include "runtime/api/spill_text.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

using std::chrono::milliseconds;

TEST(SpillTextTest, SaysWhatCameWhatLeftAndWhatWaited) {
  vramspanStatistics s{};
  s.fetches = 10;
  s.bytes_in = uint64_t{3} << 29;
  s.bytes_out = uint64_t{300} << 20;
  s.bytes_out_clean = uint64_t{200} << 20;
  s.stall_copy_ns = 1'000'000'000;
  s.stall_vmm_ns = 500'000'000;
  s.stall_drain_ns = 9'000'000'000;
  EXPECT_EQ(
      SpillText(s, {.short_for = milliseconds(6000)}, {}),
      "device memory first ran short 6.0 s ago: 1536.0 MiB came to the device and 500.0 MiB left "
      "it, and launches waited 1.5 s for that (25 % of the time since)")
      << "the device is busy while work runs";
  s.works_in_place = 7;
  EXPECT_TRUE(SpillText(s, {.short_for = milliseconds(6000)}, {})
                  .ends_with("since); 7 pieces of work used host memory in place"));
}

TEST(SpillTextTest, SaysWhatUseInPlaceCostsAndHowMuchLayOnTheHost) {
  vramspanStatistics s{};
  s.works_in_place = 3;
  s.bytes_in_place = uint64_t{24} << 30;
  const auto text = [&] {
    return SpillText(s, {.short_for = milliseconds(9000), .most_on_host = MiB(1536)},
                     {.serve_gb_per_s = 10});
  };
  EXPECT_TRUE(
      text().ends_with("since); 3 pieces of work used 24.0 GiB of host memory in place, "
                       "2.6 s by the model; at most 1536.0 MiB lay in host memory"))
      << text();
  s.works_in_place = 1;
  s.bytes_in_place = uint64_t{1} << 20;
  EXPECT_NE(text().find("; 1 piece of work used 1.0 MiB of host memory in place, less than 0.1 s "
                        "by the model;"),
            std::string::npos)
      << text();
}

TEST(SpillTextTest, SaysWhichLaunchesHeldMovesUp) {
  vramspanStatistics s{};
  s.fetches = 1;
  EXPECT_TRUE(SpillText(s, {.held_up = 1200}, {})
                  .ends_with("; nothing proves what the kernels of 1200 launches touch, so memory "
                             "moved only between them: `vramspan run --stats` names them, `--read "
                             "on` has their code read, and `vramspan audit --trust FILE -- "
                             "program` may prove it"));
  EXPECT_EQ(SpillText(s, {.held_up = 1200, .read = true}, {}).find("--read"), std::string::npos);
  EXPECT_EQ(SpillText(s, {}, {}).find("proves"), std::string::npos);
}

TEST(SpillTextTest, SaysNothingWhereNothingMoved) {
  EXPECT_EQ(SpillText({}, {.short_for = milliseconds(6000), .most_on_host = MiB(4)}, {}), "");
  vramspanStatistics s{};
  s.evictions = 1;
  s.stall_copy_ns = 5'000'000;
  EXPECT_TRUE(
      SpillText(s, {.short_for = milliseconds(1)}, {}).ends_with("(100 % of the time since)"));
  EXPECT_NE(SpillText(s, {}, {}), "");
}

TEST(ShortageNoteTest, SaysWhatItCostsByWhoseFigures) {
  EXPECT_EQ(
      ShortageNote({}, {}),
      "; each GiB takes about 29 ms to come while as much leaves (an H100's figure; `vramspan "
      "info` measures this device's); a smaller batch avoids that, or a GPU that others use "
      "less");
  EXPECT_TRUE(ShortageNote({.move_gb_per_s = 5}, {.measured = true})
                  .starts_with("; each GiB takes about 215 ms to come while as much leaves "
                               "(measured here); "));
}

TEST(ShortageNoteTest, SaysWhatHelps) {
  EXPECT_TRUE(ShortageNote({}, {.spare = MiB(300)})
                  .ends_with("a larger device budget (--device-memory) avoids that: 300.0 MiB more "
                             "were free"));
  EXPECT_TRUE(ShortageNote({}, {.spare = MiB(8)}).ends_with("that others use less"));
  EXPECT_TRUE(ShortageNote({}, {.brokered = true, .spare = GiB(9)})
                  .ends_with("more of the broker's memory avoids that"));
}

}  // namespace
}  // namespace vramspan
