// What a handle is worth when its object is gone.
#include <set>
#include <string>

#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

class Handles : public Conformance {
 protected:
  template <typename Function>
  Function Find(const char* name) const {
    const auto found = reinterpret_cast<Function>(world_.driver().Symbol(name));
    EXPECT_NE(found, nullptr) << name;
    return found;
  }
  // Makes one and gives it up, again and again: a few handles serve them all.
  template <typename Make, typename Destroy>
  static void ExpectReused(const std::string& kind, Make make, Destroy destroy) {
    constexpr int kObjects = 16;
    std::set<uint64_t> seen;
    for (int i = 0; i < kObjects; ++i) {
      const auto handle = make();
      seen.insert((uint64_t)handle);
      destroy(handle);
    }
    // An H200: pools and graphs by eights.
    EXPECT_LT(seen.size(), kObjects) << kind;
  }
};

TEST_F(Handles, AreGivenOutAgain) {
  ExpectReused(
      "stream",
      [&] {
        CUstream s = nullptr;
        CU_EXPECT_OK(cu_.StreamCreate(&s, CU_STREAM_NON_BLOCKING));
        return s;
      },
      [&](CUstream s) { CU_EXPECT_OK(cu_.StreamDestroy(s)); });
  ExpectReused(
      "event",
      [&] {
        CUevent e = nullptr;
        CU_EXPECT_OK(cu_.EventCreate(&e, CU_EVENT_DISABLE_TIMING));
        return e;
      },
      [&](CUevent e) { CU_EXPECT_OK(cu_.EventDestroy(e)); });
  const auto make_graph = Find<CUresult (*)(CUgraph*, unsigned)>("cuGraphCreate");
  ExpectReused(
      "graph",
      [&] {
        CUgraph g = nullptr;
        CU_EXPECT_OK(make_graph(&g, 0));
        return g;
      },
      [&](CUgraph g) { CU_EXPECT_OK(world_.GraphDestroy(g)); });
  const auto make_pool =
      Find<CUresult (*)(CUmemoryPool*, const CUmemPoolProps*)>("cuMemPoolCreate");
  const auto end_pool = Find<CUresult (*)(CUmemoryPool)>("cuMemPoolDestroy");
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, world_.device()};
  ExpectReused(
      "pool",
      [&] {
        CUmemoryPool p = nullptr;
        CU_EXPECT_OK(make_pool(&p, &props));
        return p;
      },
      [&](CUmemoryPool p) { CU_EXPECT_OK(end_pool(p)); });
  const CUmemAllocationProp properties = Properties(Where::kDevice);
  ExpectReused(
      "memory",
      [&] {
        CUmemGenericAllocationHandle h = 0;
        CU_EXPECT_OK(cu_.MemCreate(&h, kChunk, &properties, 0));
        return h;
      },
      [&](CUmemGenericAllocationHandle h) { CU_EXPECT_OK(cu_.MemRelease(h)); });
  const auto make_context = Find<CUresult (*)(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2");
  const auto end_context = Find<CUresult (*)(CUcontext)>("cuCtxDestroy_v2");
  // A real driver gives contexts out again by chance: of 16 once or never (an H100, an H200).
  if (!world_.simulated()) return;
  ExpectReused(
      "context",
      [&] {
        CUcontext c = nullptr;
        CU_EXPECT_OK(make_context(&c, 0, world_.device()));
        CU_EXPECT_OK(cu_.CtxSetCurrent(world_.primary()));
        return c;
      },
      [&](CUcontext c) { CU_EXPECT_OK(end_context(c)); });
}

}  // namespace
}  // namespace vramspan::conformance
