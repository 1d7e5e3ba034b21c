// A remap inside a CUPTI launch callback, which is where a tracer would make it. In a process of
// its own, so that the subscriber is not there for the other rules.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/conformance/child.h"
#include "tests/conformance/fixture.h"
#include "tests/conformance/gpu_only.h"

namespace vramspan::conformance {
namespace {

using Word = unsigned long long;

// VRAMSPAN_CUPTI names the library where it is not in a usual place.
void* OpenCupti() {
  const char* const named = std::getenv("VRAMSPAN_CUPTI");
  if (named != nullptr) return dlopen(named, RTLD_NOW);
  for (const char* path : {"libcupti.so.13", "/usr/local/cuda/lib64/libcupti.so.13",
                           "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"}) {
    if (void* const library = dlopen(path, RTLD_NOW)) return library;
  }
  return nullptr;
}

// What the callback works on.
struct Flipper {
  Chunks chunk{{Where::kDevice}};
  Handle host{Where::kHostNuma};
  Span aliases{2};
  Stream stream;
  int on = 0;  // which alias shows the mapped handle
  int flips = 0;
  int depth = 0;
  int deepest = 0;
  CUresult error = CUDA_SUCCESS;

  Flipper() {
    aliases.Map(0, chunk.handle(0));
    aliases.Map(1, host);
  }

  void Flip() {
    const World& world = World::Get();
    const DriverApi& cu = world.cu();
    const auto note = [&](CUresult result) {
      if (error == CUDA_SUCCESS) error = result;
    };
    const int to = 1 - on;
    const CUmemAccessDesc access = DeviceAccess();
    note(cu.StreamSynchronize(stream.get()));
    note(world.MemcpyDtoD(aliases.at(to), aliases.at(on), kChunk));
    note(cu.MemUnmap(chunk.at(0), kChunk));
    note(cu.MemMap(chunk.at(0), kChunk, 0, to == 0 ? chunk.handle(0).get() : host.get(), 0));
    note(cu.MemSetAccess(chunk.at(0), kChunk, &access, 1));
    on = to;
    ++flips;
  }
};

void CUPTIAPI OnLaunch(void* data, CUpti_CallbackDomain, CUpti_CallbackId, const void* raw) {
  if (static_cast<const CUpti_CallbackData*>(raw)->callbackSite != CUPTI_API_ENTER) return;
  auto* const flipper = static_cast<Flipper*>(data);
  flipper->deepest = std::max(flipper->deepest, ++flipper->depth);
  flipper->Flip();
  --flipper->depth;
}

int RemapInCallback() {
  const World& world = World::Get();
  void* const cupti = OpenCupti();
  if (cupti == nullptr) return fprintf(stderr, "%s\n", dlerror()), 1;
  const auto subscribe =
      reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(cupti, "cuptiSubscribe"));
  const auto unsubscribe =
      reinterpret_cast<decltype(&cuptiUnsubscribe)>(dlsym(cupti, "cuptiUnsubscribe"));
  const auto enable =
      reinterpret_cast<decltype(&cuptiEnableCallback)>(dlsym(cupti, "cuptiEnableCallback"));
  if (subscribe == nullptr || unsubscribe == nullptr || enable == nullptr) return 1;

  Flipper flipper;
  Must(world.MemsetD8(flipper.chunk.at(0), 0, kChunk), "cuMemsetD8");
  Must(world.cu().CtxSynchronize(), "cuCtxSynchronize");
  CUpti_SubscriberHandle subscriber = nullptr;
  if (subscribe(&subscriber, OnLaunch, &flipper) != CUPTI_SUCCESS ||
      enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) !=
          CUPTI_SUCCESS) {
    return fprintf(stderr, "CUPTI takes no subscriber\n"), 1;
  }
  constexpr int kLaunches = 200;
  const size_t count = kChunk / sizeof(Word);
  for (int i = 0; i < kLaunches; ++i) {
    Must(Launch(world.Kernel("add_constant"), 64, 256, flipper.stream.get(), flipper.chunk.at(0),
                count, Word{1}),
         "cuLaunchKernel");
  }
  Must(world.cu().StreamSynchronize(flipper.stream.get()), "cuStreamSynchronize");
  unsubscribe(subscriber);
  std::vector<Word> words(count);
  Must(world.MemcpyDtoH(words.data(), flipper.chunk.at(0), kChunk), "cuMemcpyDtoH");
  fprintf(stderr, "flips %d, deepest %d, first error %s, first word %llu\n", flipper.flips,
          flipper.deepest, Name(flipper.error).c_str(), words[0]);
  const bool right = flipper.flips == kLaunches && flipper.deepest == 1 &&
                     flipper.error == CUDA_SUCCESS && words == std::vector<Word>(count, kLaunches);
  return right ? 0 : 1;
}
const Role remap_in_callback("remap-in-cupti-callback", RemapInCallback);

class Cupti : public Conformance {
 public:
  void TestBody() override {
    Child child("remap-in-cupti-callback");
    const int code = child.Wait();
    EXPECT_EQ(code, 0) << child.output();
  }
};

}  // namespace

void RegisterCuptiTests() {
  if (World::Get().simulated()) return;
  void* const library = OpenCupti();
  if (library == nullptr) return;
  dlclose(library);
  ::testing::RegisterTest("Cupti", "RemapInsideALaunchCallback", nullptr, nullptr, __FILE__,
                          __LINE__, []() -> Cupti* { return new Cupti(); });
}

}  // namespace vramspan::conformance
