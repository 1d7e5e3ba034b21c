#include "tools/replay/curves.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/replay/random_run.h"
#include "tools/replay/cache_model.h"
#include "tools/replay/chunked_run.h"
#include "tools/replay/curves_json.h"

namespace vramspan::replay {
namespace {

using ::testing::HasSubstr;

// With packed memory that comes and goes: at most kPacked of it at once.
constexpr Bytes kPacked = KiB(3000);
RecordedRun SomeRun() {
  RunBuilder builder;
  for (uint32_t i = 0; i < 3; ++i) builder.Allocate(KiB(1000));
  for (uint32_t i = 0; i < 3; ++i) builder.Free(i);
  const uint32_t small = builder.Allocate(KiB(700));
  std::vector<uint32_t> layers;
  for (int i = 0; i < 12; ++i) layers.push_back(builder.Allocate(MiB(4)));
  const uint32_t other = builder.Allocate(KiB(900));
  for (int pass = 0; pass < 6; ++pass) {
    for (const uint32_t layer : layers) builder.Work({small, other, layer, layers[pass]});
  }
  builder.Free(small);
  builder.Work(layers);
  return builder.Take();
}

std::vector<Curve> Make(const RecordedRun& run, const CurveOptions& options) {
  auto curves = MakeCurves(run, options);
  EXPECT_TRUE(curves.ok()) << curves.status();
  return curves.ok() ? *std::move(curves) : std::vector<Curve>();
}

TEST(Curves, EachPointIsACache) {
  const RecordedRun run = SomeRun();
  const std::vector<Curve> curves =
      Make(run, {.trace = "t", .chunk_log2 = {21, 22}, .points = 7, .threads = 3});
  const std::vector<std::string_view> names = CachePolicyNames();
  ASSERT_EQ(curves.size(), 2 * names.size());
  for (size_t i = 0; i < curves.size(); ++i) {
    const Curve& curve = curves[i];
    EXPECT_EQ(curve.trace, "t");
    EXPECT_EQ(curve.policy, names[i % names.size()]);
    EXPECT_EQ(curve.chunk_log2, i < names.size() ? 21 : 22);
    EXPECT_EQ(curve.distinct, MiB(48));
    const ChunkedRun chunked(&run, curve.chunk_log2, GiB(1));
    ASSERT_EQ(curve.points.size(), 7u);
    EXPECT_EQ(curve.points.front().device_memory, kPacked + chunked.size(ChunkIndex(1)));
    EXPECT_EQ(curve.points.back().device_memory, kPacked + MiB(48));
    EXPECT_EQ(curve.points.back().misses, 0);
    for (const CurvePoint& point : curve.points) {
      const CacheCounts counts =
          RunCache(chunked, curve.policy, point.device_memory - kPacked).value();
      EXPECT_EQ(point.misses, static_cast<double>(counts.misses)) << curve.policy;
      EXPECT_DOUBLE_EQ(point.miss_ratio, counts.miss_ratio());
      EXPECT_EQ(curve.accesses, counts.accesses);
    }
    EXPECT_FALSE(curve.sampled);
    EXPECT_EQ(curve.error, 0);
  }
  EXPECT_EQ(MemoryForAll(run, 22), kPacked + MiB(48));
}

TEST(Curves, TheThreadsChangeNothing) {
  const RecordedRun run = RandomRun(4, {.varied = true, .frees = true});
  double seen = 0;
  CurveOptions options{.points = 9, .threads = 1, .progress = [&](double done) {
                         EXPECT_GT(done, seen);
                         seen = done;
                       }};
  const std::vector<Curve> one = Make(run, options);
  EXPECT_EQ(seen, 1);
  options.threads = 4;
  options.progress = nullptr;
  const std::vector<Curve> four = Make(run, options);
  ASSERT_EQ(one.size(), four.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(CurveToJson(one[i]), CurveToJson(four[i]));
}

TEST(Curves, NoneIsBelowTheFloor) {
  const std::vector<Curve> curves =
      Make(RandomRun(9, {.varied = true, .frees = true}), {.chunk_log2 = {0, 24}, .points = 12});
  const size_t policies = CachePolicyNames().size();
  for (size_t i = 0; i < curves.size(); ++i) {
    const Curve& floor = curves[i / policies * policies + policies - 1];
    ASSERT_EQ(floor.policy, "min");
    for (size_t p = 0; p < floor.points.size(); ++p) {
      EXPECT_GE(curves[i].points[p].misses, floor.points[p].misses) << curves[i].policy;
    }
  }
}

TEST(Curves, SizesAsAskedFor) {
  const std::vector<Curve> curves =
      Make(SomeRun(), {.policies = {"lru", "fifo"},
                       .chunk_log2 = {21},
                       .device_memory = {MiB(40), MiB(1), MiB(20), MiB(40)}});
  ASSERT_EQ(curves.size(), 2u);
  for (const Curve& curve : curves) {
    ASSERT_EQ(curve.points.size(), 3u);
    EXPECT_EQ(curve.points[0].device_memory, MiB(1));
    EXPECT_EQ(curve.points[2].device_memory, MiB(40));
    // No room at all: all but the first touches are missed.
    EXPECT_EQ(curve.points[0].misses, static_cast<double>(curve.accesses) - 24);
  }
}

TEST(Curves, ALongRunIsSampled) {
  const RecordedRun run = LoopRun(400, 10);
  const std::vector<Curve> curves =
      Make(run, {.policies = {"lru"}, .most_exact = 100, .sampled_chunks = 100});
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_TRUE(curves[0].sampled);
  EXPECT_GT(curves[0].error, 0);
  EXPECT_EQ(curves[0].accesses, 4000u);
  // What does not fit is all missed, but for the first lap.
  EXPECT_NEAR(curves[0].points[0].miss_ratio, 0.9, 0.1);
}

TEST(Curves, RefuseWhatThereIsNot) {
  const RecordedRun run = SomeRun();
  EXPECT_EQ(MakeCurves(run, {.policies = {"mru"}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const Status size = MakeCurves(run, {.chunk_log2 = {20}}).status();
  EXPECT_EQ(size.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(size.message()), HasSubstr("2^20"));
}

TEST(Curves, OfNothingAreEmpty) {
  const std::vector<Curve> curves = Make(RecordedRun(), {.policies = {"lru", "min"}});
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_TRUE(curves[0].points.empty());
  EXPECT_EQ(curves[0].accesses, 0u);
}

TEST(CurvesText, HasWhatTheCurveHas) {
  const Curve curve{.trace = "a \"b\", c",
                    .policy = "lru",
                    .chunk_log2 = 24,
                    .accesses = 8,
                    .distinct = MiB(32),
                    .sampled = true,
                    .error = 0.25,
                    .points = {{MiB(16), 4.4, 0.55}, {MiB(32), 0, 0}}};
  const nlohmann::json json = CurveToJson(curve);
  EXPECT_EQ(json, nlohmann::json::parse(R"({
    "trace": "a \"b\", c", "policy": "lru", "chunk_bytes": 16777216, "accesses": 8,
    "distinct_bytes": 33554432, "sampled": true, "error": 0.25, "points": [
      {"device_memory_bytes": 16777216, "misses": 4, "miss_ratio": 0.55},
      {"device_memory_bytes": 33554432, "misses": 0, "miss_ratio": 0.0}]})"));
  EXPECT_EQ(CurvesToCsv({curve}),
            "trace,policy,chunk_bytes,accesses,distinct_bytes,sampled,error,device_memory_bytes,"
            "misses,miss_ratio\n"
            "\"a \"\"b\"\", c\",lru,16777216,8,33554432,1,0.25,16777216,4,0.55\n"
            "\"a \"\"b\"\", c\",lru,16777216,8,33554432,1,0.25,33554432,0,0\n");
}

}  // namespace
}  // namespace vramspan::replay
