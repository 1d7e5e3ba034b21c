// Touches that kill a context. Each is done in a process of its own, for the error stays.
#include <cstdio>

#include "tests/conformance/child.h"
#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

using Word = unsigned long long;

// Compares, and says so on stderr.
int failures = 0;
void ExpectResult(CUresult result, CUresult expected, const char* what) {
  if (result == expected) return;
  ++failures;
  fprintf(stderr, "%s: %s, not %s\n", what, Name(result).c_str(), Name(expected).c_str());
}

// The context is dead for good and the process is not. Says, too, how the other context fares, of
// which nothing is promised.
int ExpectDead(const Stream& stream) {
  const World& world = World::Get();
  const DriverApi& cu = world.cu();
  constexpr CUresult kDead = CUDA_ERROR_ILLEGAL_ADDRESS;
  ExpectResult(cu.StreamSynchronize(stream.get()), kDead, "cuStreamSynchronize");
  ExpectResult(cu.CtxSynchronize(), kDead, "cuCtxSynchronize");
  ExpectResult(cu.StreamQuery(stream.get()), kDead, "cuStreamQuery");
  ExpectResult(Launch(world.Kernel("nothing"), 1, 1, stream.get()), kDead, "cuLaunchKernel");
  CUdeviceptr at = 0;
  ExpectResult(cu.MemAlloc(&at, 4096), kDead, "cuMemAlloc");
  CUresult other = cu.CtxSetCurrent(world.second());
  if (other == CUDA_SUCCESS) other = cu.CtxSynchronize();
  fprintf(stderr, "the second context: %s\n", Name(other).c_str());
  return failures == 0 ? 0 : 1;
}

// ThreadSanitizer's build is without this one: it is a race, and is told so.
#ifndef __SANITIZE_THREAD__
int UnmapUnderAKernel() {
  const World& world = World::Get();
  const DriverApi& cu = world.cu();
  Chunks chunk({Where::kDevice});
  const Pinned words(4096);
  *words.as<volatile unsigned>() = 0;
  volatile Word& rounds = words.as<volatile Word>()[1];
  rounds = 0;
  const Stream stream;
  Must(Launch(world.Kernel("add_until"), 1, 1, stream.get(), chunk.at(0), kChunk / sizeof(Word),
              words.device(), 1u, words.device() + sizeof(Word)),
       "add_until");
  if (!Eventually([&] { return rounds > 0; })) return 1;
  ExpectResult(cu.MemUnmap(chunk.at(0), kChunk), CUDA_SUCCESS, "cuMemUnmap");
  return ExpectDead(stream);
}
const Role unmap_under_a_kernel("unmap-under-a-kernel", UnmapUnderAKernel);
#endif

int WriteToReadOnly() {
  const World& world = World::Get();
  Chunks chunk({Where::kDevice});
  FillHash(chunk.at(0), kChunk, 1);
  chunk.span().Access(0, 1, CU_MEM_ACCESS_FLAGS_PROT_READ);
  if (!KernelSeesHash(chunk.at(0), kChunk, 1)) return 1;
  const Stream stream;
  Must(Launch(world.Kernel("fill"), 1, 1, stream.get(), chunk.at(0), size_t{1}, Word{1}), "fill");
  return ExpectDead(stream);
}
const Role write_to_read_only("write-to-read-only", WriteToReadOnly);

int TouchUnmapped() {
  const World& world = World::Get();
  const Span span(2);
  const Stream stream;
  Must(Launch(world.Kernel("touch"), 1, 1, stream.get(), span.at(1)), "touch");
  return ExpectDead(stream);
}
const Role touch_unmapped("touch-unmapped", TouchUnmapped);

int TouchWithoutAccess() {
  const World& world = World::Get();
  const Handle handle(Where::kDevice);
  Span span(1);
  span.MapOnly(0, handle);
  const Stream stream;
  Must(Launch(world.Kernel("touch"), 1, 1, stream.get(), span.at(0)), "touch");
  return ExpectDead(stream);
}
const Role touch_without_access("touch-without-access", TouchWithoutAccess);

class Faults : public Conformance {
 protected:
  static void ExpectRoleSucceeds(const char* role) {
    Child child(role);
    const int code = child.Wait();
    EXPECT_EQ(code, 0);
    fputs(child.output().c_str(), stdout);
  }
};

#ifndef __SANITIZE_THREAD__
TEST_F(Faults, UnmapUnderAKernelSucceedsAndKillsItsContext) {
  ExpectRoleSucceeds("unmap-under-a-kernel");
}
#endif

TEST_F(Faults, WriteToAReadOnlyChunkKillsTheContext) { ExpectRoleSucceeds("write-to-read-only"); }

TEST_F(Faults, TouchOfAnUnmappedAddressKillsTheContext) { ExpectRoleSucceeds("touch-unmapped"); }

TEST_F(Faults, MappingWithoutAccessIsNotReachable) { ExpectRoleSucceeds("touch-without-access"); }

}  // namespace
}  // namespace vramspan::conformance
