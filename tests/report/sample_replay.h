// What `vramspan replay --format json --timeline` could print for a training program on a card with
// 24 GiB: made by formulas, so that every number is known, with the shapes that real ones have.
#ifndef VRAMSPAN_TESTS_REPORT_SAMPLE_REPLAY_H_
#define VRAMSPAN_TESTS_REPORT_SAMPLE_REPLAY_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace vramspan::replay {

inline constexpr double kSampleMiB = 1 << 20;
inline constexpr double kSampleGiB = 1 << 30;
inline constexpr double kSamplePeak = 24 * kSampleGiB;
inline constexpr double kSampleResidentMs = 8'400;

inline const std::vector<std::string> kSamplePolicies = {
    "arc", "clock", "cost", "cycle", "fifo", "lfu", "lru", "min", "random", "s3fifo", "sieve"};
inline const std::vector<double> kSamplePercents = {25, 37.5, 50, 62.5, 75, 100};
inline const std::vector<double> kSampleChunks = {0, 2 * kSampleMiB, 8 * kSampleMiB,
                                                  16 * kSampleMiB, 64 * kSampleMiB};

// All policies, budgets and chunk sizes; curves of two chunk sizes; timelines for 50 %.
nlohmann::json SampleReplay();

// The same kinds of things, few of them: what tests change one field of.
nlohmann::json SmallReplay();

// What `vramspan replay --broker --format json` could print of two programs on 3 GiB in 60 s: all
// of it for the first, half of it each, and two turns of each from the 20th second on.
nlohmann::json SharedSample();

// A little of everything, with texts that would break out of scripts, attributes and lines, and
// with the largest and smallest numbers that are allowed.
nlohmann::json HostileReplay();

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TESTS_REPORT_SAMPLE_REPLAY_H_
