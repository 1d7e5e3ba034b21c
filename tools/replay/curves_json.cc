#include "tools/replay/curves_json.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>

#include <cmath>

namespace vramspan::replay {
namespace {

uint64_t ChunkSize(const Curve& curve) {
  return curve.chunk_log2 == 0 ? 0 : ChunkBytes(curve.chunk_log2).value;
}

uint64_t Misses(const CurvePoint& point) {
  return static_cast<uint64_t>(std::llround(point.misses));
}

}  // namespace

nlohmann::json CurveToJson(const Curve& curve) {
  nlohmann::json points = nlohmann::json::array();
  for (const CurvePoint& point : curve.points) {
    points.push_back({{"device_memory_bytes", point.device_memory.value},
                      {"misses", Misses(point)},
                      {"miss_ratio", point.miss_ratio}});
  }
  return {{"trace", curve.trace},
          {"policy", curve.policy},
          {"chunk_bytes", ChunkSize(curve)},
          {"accesses", curve.accesses},
          {"distinct_bytes", curve.distinct.value},
          {"sampled", curve.sampled},
          {"error", curve.error},
          {"points", std::move(points)}};
}

std::string CurvesToCsv(absl::Span<const Curve> curves) {
  std::string text =
      "trace,policy,chunk_bytes,accesses,distinct_bytes,sampled,error,device_memory_bytes,misses,"
      "miss_ratio\n";
  for (const Curve& curve : curves) {
    const std::string trace = absl::StrReplaceAll(curve.trace, {{"\"", "\"\""}});
    for (const CurvePoint& point : curve.points) {
      absl::StrAppend(&text, "\"", trace, "\",", curve.policy, ",", ChunkSize(curve), ",",
                      curve.accesses, ",", curve.distinct.value, ",", curve.sampled ? 1 : 0, ",",
                      curve.error, ",", point.device_memory.value, ",", Misses(point), ",",
                      point.miss_ratio, "\n");
    }
  }
  return text;
}

}  // namespace vramspan::replay
