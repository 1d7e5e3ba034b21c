#include "tests/report/sample_replay.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace vramspan::replay {
namespace {

using nlohmann::json;

// How much a policy loses for every part of the memory that is missing.
double Weakness(const std::string& policy) {
  static const std::map<std::string, double> weakness = {
      {"min", 0.9}, {"cost", 1.2}, {"cycle", 1.35}, {"arc", 2.4},  {"s3fifo", 2.2}, {"sieve", 2.0},
      {"lfu", 3.1}, {"lru", 7.5},  {"clock", 6.4},  {"fifo", 8.2}, {"random", 3.6}};
  return weakness.at(policy);
}

// 16 MiB are best, 2 MiB pay for calls, 64 MiB move too much; by size is close to the best.
double ChunkFactor(double chunk) {
  if (chunk == 0) return 1.06;
  const double away = std::log2(chunk / (16 * kSampleMiB));
  return 1 + 0.11 * away * away;
}

double Slowdown(const std::string& policy, double part, double chunk) {
  // With little memory the loop breaker wins, as it does over real loops.
  const double weakness = policy == "cycle" && part < 0.3 ? 1.05 : Weakness(policy);
  return 1 + weakness * std::pow(1 - part, 1.7) * ChunkFactor(chunk);
}

json Kernel(const std::string& name, double share, double added_ms, const std::string& why) {
  const double resident = share * kSampleResidentMs;
  return {{"name", name},
          {"launches", std::round(share * 4'000)},
          {"resident_ms", resident},
          {"predicted_ms", resident + share * added_ms},
          {"stall_ms", 0.7 * share * added_ms},
          {"bytes_in_place", share * 3 * kSampleGiB},
          {"fetches", std::round(share * 5'000)},
          {"why", why}};
}

json Kernels(double added_ms) {
  return {
      Kernel("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_"
             "align8>(cutlass_80_tensorop_bf16_s16816gemm::Params)",
             0.48, added_ms,
             "its weights (6.1 GiB a step) do not stay: 4.2 of 6.1 GiB fetched again"),
      Kernel("flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>", 0.21, added_ms,
             "waits for activations that were evicted one step ago"),
      Kernel("vectorized_elementwise_kernel<4, AdamFunctor>", 0.16, added_ms,
             "touches the optimizer's state once a step: read in place"),
      Kernel("layer_norm_backward", 0.08, added_ms, "behind the fetches of the GEMM"),
      Kernel("softmax_warp_forward", 0.05, added_ms, ""),
      Kernel("memcpy HtoD", 0.02, added_ms, "")};
}

// Allocation k of 44: weights in a loop, state that is seldom there, a few that come and go.
double Resident(size_t k, size_t bin, size_t bins) {
  const double time = static_cast<double>(bin) / static_cast<double>(bins);
  if (k % 11 == 7) return bin / 6 % 2 == 0 ? 1 : 0;
  if (k % 4 == 0) return 1;
  if (k % 4 == 1)
    return std::clamp(1.5 * std::sin(12.6 * time + 0.4 * static_cast<double>(k)), 0., 1.);
  if (k % 4 == 2) return time < 0.1 ? 10 * time : 0.35;
  return time > 0.2 && time < 0.8 ? 0.625 : 0;
}

json Timeline(double budget, double stall_ms, double predicted_ms) {
  constexpr size_t kBins = 300, kAllocations = 44;
  json allocations = json::array();
  for (size_t k = 0; k < kAllocations; ++k) {
    json resident = json::array();
    for (size_t bin = 0; bin < kBins; ++bin) resident.push_back(Resident(k, bin, kBins));
    allocations.push_back({{"name", k % 5 == 4 ? "" : absl::StrCat("layer.", k, ".weight")},
                           {"bytes", (46 - static_cast<double>(k)) * 22 * kSampleMiB},
                           {"resident", resident}});
  }
  json device = json::array(), fetches = json::array(), stalls = json::array();
  for (size_t bin = 0; bin < kBins; ++bin) {
    device.push_back(budget * (bin < 30 ? static_cast<double>(bin) / 30 : 0.97));
    fetches.push_back(bin < 30 ? 0 : 3 + bin % 13);
    stalls.push_back(bin < 30 ? 0 : stall_ms / 270);
  }
  return {{"bins", kBins},
          {"bin_ms", predicted_ms / kBins},
          {"allocations", allocations},
          {"device_bytes", device},
          {"fetches", fetches},
          {"stall_ms", stalls}};
}

json Run(const std::string& policy, double percent, double chunk) {
  const double part = percent / 100;
  const double slowdown = Slowdown(policy, part, chunk);
  const double added = (slowdown - 1) * kSampleResidentMs;
  const double stall = 0.8 * added;
  const double fetches = std::round(40'000 * (slowdown - 1));
  json run = {{"trace", "train.vramspan"},
              {"policy", policy},
              {"device_memory_bytes", part * kSamplePeak},
              {"device_memory_percent", percent},
              {"chunk_bytes", chunk},
              {"predicted_ms", slowdown * kSampleResidentMs},
              {"resident_ms", kSampleResidentMs},
              {"slowdown", slowdown},
              {"round_ms", slowdown * kSampleResidentMs / 40},
              {"resident_round_ms", kSampleResidentMs / 40},
              {"stall_ms", stall},
              {"stall_copy_ms", 0.75 * stall},
              {"stall_vmm_ms", 0.15 * stall},
              {"stall_drain_ms", 0.1 * stall},
              {"fetches", fetches},
              {"bound_fetches", std::round(40'000 * (Slowdown("min", part, chunk) - 1))},
              {"moves_in", fetches},
              {"moves_out", std::round(0.9 * fetches)},
              {"served_in_place", std::round(0.1 * fetches)},
              {"bytes_in", fetches * 4 * kSampleMiB},
              {"bytes_out", fetches * 3 * kSampleMiB},
              {"bytes_in_place", fetches * 0.2 * kSampleMiB},
              {"kernels", added > 0 ? Kernels(added) : json::array()}};
  if (percent == 50 && chunk == 16 * kSampleMiB && policy != "min") {
    run["timeline"] = Timeline(part * kSamplePeak, stall, slowdown * kSampleResidentMs);
  }
  return run;
}

json Curve(const std::string& policy, double chunk) {
  constexpr int kPoints = 400;
  constexpr double kAccesses = 2.4e6;
  json points = json::array();
  for (int i = 1; i <= kPoints; ++i) {
    const double part = static_cast<double>(i) / kPoints;
    const double ratio = std::min(0.95, 0.11 * Weakness(policy) * std::pow(1 - part, 1.4) + 0.01);
    points.push_back({{"device_memory_bytes", part * kSamplePeak},
                      {"misses", std::round(ratio * kAccesses)},
                      {"miss_ratio", ratio}});
  }
  return {{"trace", "train.vramspan"},
          {"policy", policy},
          {"chunk_bytes", chunk},
          {"accesses", kAccesses},
          {"distinct_bytes", kSamplePeak},
          {"sampled", policy == "lru"},
          {"error", policy == "lru" ? 0.02 : 0},
          {"points", points}};
}

json Trace() {
  return {{"file", "train.vramspan"},
          {"program", "python train.py --model gpt2-xl --batch 8"},
          {"device", "NVIDIA H100 PCIe"},
          {"works", 48'211},
          {"kernels", 47'002},
          {"allocations", 1'244},
          {"peak_bytes", kSamplePeak},
          {"recorded_ms", 8'612},
          {"rounds", 39},
          {"round_works", 1'204},
          {"estimated_times", false},
          {"waits", 120},
          {"waited_ms", 3'400},
          {"notes",
           {"3 mentions of tensors were left out, because they are not on cuda:0, which has most"}},
          {"problems",
           {"the file ends in the middle of block 812 at byte 7340032: what follows is lost"}}};
}

json Prices() {
  return {{"copy_in_gb_per_s", 51.2},
          {"copy_out_gb_per_s", 50.1},
          {"serve_gb_per_s", 48.8},
          {"device_gb_per_s", 1'820},
          {"copy_gb_per_s", {{"both", 44.5}}},
          {"remap_us",
           {{{"bytes", 2'097'152}, {"device", {{"map", 14}, {"unmap", 9}}}},
            {{"bytes", 67'108'864}, {"device", {{"map", 21}, {"unmap", 12}}}}}},
          {"drain_us", 25},
          {"source", "vramspan info, NVIDIA H100 PCIe"}};
}

}  // namespace

json SampleReplay() {
  json runs = json::array();
  for (const std::string& policy : kSamplePolicies) {
    for (const double percent : kSamplePercents) {
      for (const double chunk : kSampleChunks) runs.push_back(Run(policy, percent, chunk));
    }
  }
  json curves = json::array();
  for (const std::string& policy : kSamplePolicies) {
    for (const double chunk : {8 * kSampleMiB, 16 * kSampleMiB}) {
      curves.push_back(Curve(policy, chunk));
    }
  }
  return {{"tool", "vramspan replay"}, {"version", 1}, {"trace", Trace()},
          {"prices", Prices()},        {"runs", runs}, {"curves", curves}};
}

json SmallReplay() {
  json replay = {{"tool", "vramspan replay"}, {"version", 1}, {"trace", Trace()},
                 {"prices", Prices()},        {"runs", {}},   {"curves", {}}};
  for (const char* policy : {"cost", "lru", "min"}) {
    for (const double percent : {25., 50., 100.}) {
      for (const double chunk : {0., 16 * kSampleMiB}) {
        replay["runs"].push_back(Run(policy, percent, chunk));
      }
    }
    replay["curves"].push_back(Curve(policy, 16 * kSampleMiB));
  }
  return replay;
}

json HostileReplay() {
  const std::string evil =
      "</script><script>document.title='broken'</script><img src=x "
      "onerror=\"document.title='bad'\">"
      "<!--\"'`${document.title='worse'}\\\r\n\x01\x7f\xe2\x80\xae{{data}}&lt;\xe2\x80\xa8]]>";
  json replay = SmallReplay();
  for (const char* field : {"file", "program", "device"}) replay["trace"][field] = evil;
  replay["trace"]["problems"] = {evil, evil};
  replay["trace"]["estimated_times"] = true;
  replay["prices"][evil] = {{evil, evil}};
  for (json& run : replay["runs"]) {
    run["trace"] = evil;
    for (json& kernel : run["kernels"]) kernel["name"] = kernel["why"] = evil;
    if (run.contains("timeline")) {
      for (json& allocation : run["timeline"]["allocations"]) allocation["name"] = evil;
    }
    if (run["policy"] == "lru") run["policy"] = evil;
  }
  for (json& curve : replay["curves"]) {
    curve["trace"] = evil;
    if (curve["policy"] == "lru") curve["policy"] = evil;
  }
  // So large that a double does not tell the next size apart.
  json huge = replay["curves"][0];
  json points = json::array();
  for (const double less : {128., 0.}) {
    json point = huge["points"][0];
    point["device_memory_bytes"] = std::pow(2., 60) - less;
    points.push_back(point);
  }
  huge["points"] = points;
  huge["policy"] = "sieve";
  replay["curves"].push_back(huge);
  json& first = replay["runs"][0];
  first["predicted_ms"] = 1e15;
  first["slowdown"] = 1e15;
  first["fetches"] = 1e18;
  first["bytes_in"] = std::pow(2., 60);
  replay["runs"][2]["slowdown"] = 0;
  replay["runs"][4]["device_memory_bytes"] = 0;
  replay["runs"][4]["device_memory_percent"] = nullptr;
  return replay;
}

json SharedSample() {
  constexpr double kHalf = 1.5 * kSampleGiB, kMost = 2.4 * kSampleGiB, kLeast = 0.6 * kSampleGiB;
  const auto tenant = [&](const char* name, double weight) {
    return json{{"name", name},          {"weight", weight}, {"start_ms", 0},
                {"end_ms", 60e3},        {"alone_ms", 20e3}, {"in_share_ms", 90e3},
                {"together_ms", 60e3},   {"slowdown", 3},    {"mean_share_bytes", kHalf},
                {"last_share_bytes", 0}, {"bytes_in", 1},    {"bytes_out_own", 1},
                {"bytes_out_recall", 1}, {"recalls", 1},     {"recall_ms", 1},
                {"fetch_turns", 1},      {"gpu_turns", 2},   {"gpu_turn_ms", 20e3}};
  };
  json shares = json::array(), turns = json::array();
  shares.push_back({{"ms", 0}, {"bytes", {3 * kSampleGiB, 0}}});
  shares.push_back({{"ms", 10e3}, {"bytes", {kHalf, kHalf}}});
  for (int turn = 0; turn < 4; ++turn) {
    const int who = turn % 2;
    const double from = 20e3 + 10e3 * turn;
    shares.push_back(
        {{"ms", from}, {"bytes", {who == 0 ? kMost : kLeast, who == 0 ? kLeast : kMost}}});
    turns.push_back({{"tenant", who}, {"ms", from}, {"to_ms", from + 10e3}});
  }
  return {{"tool", "vramspan replay --broker"},
          {"version", 1},
          {"prices", "an H100's"},
          {"runs",
           {{{"device_memory_bytes", 3 * kSampleGiB},
             {"makespan_ms", 60e3},
             {"one_by_one_ms", 40e3},
             {"ratio", 1.5},
             {"fairness_jain", 0.99},
             {"tenants", {tenant("first", 100), tenant("</script><b>second", 200)}},
             {"shares", std::move(shares)},
             {"turns", std::move(turns)}}}}};
}

}  // namespace vramspan::replay
