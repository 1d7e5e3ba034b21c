// A library that writes into the functions that allocate, as ComfyUI's dynamic VRAM does: into the
// driver's own, or into what dlsym and cuGetProcAddress answer. stderr says what came by.
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/preload/inline_patch.h"
#include "tests/preload/program_scenarios.h"

namespace {

constexpr size_t kBytes = size_t{4} << 20;
constexpr size_t kBuffers = 16;

// Not only the program may call the driver.
class Patches {
 public:
  static Patches& Get() {
    static Patches* const patches = new Patches;
    return *patches;
  }
  void Write(void* alloc, void* free) {
    alloc_ = std::make_unique<InlinePatch>(alloc, reinterpret_cast<void*>(&Alloc));
    free_ = std::make_unique<InlinePatch>(free, reinterpret_cast<void*>(&Free));
    alloc_function_ = alloc;
    free_function_ = free;
  }
  bool moved() const { return alloc_->moved() != nullptr && free_->moved() != nullptr; }
  // What is as large as the program's buffers; `questions` are allocations of nothing.
  void Say() {
    const std::lock_guard<std::mutex> lock(mu_);
    std::fprintf(stderr, "patch: %zu large allocations, %zu large frees, %zu questions\n", large_,
                 large_frees_, questions_);
    CHECK(given_twice_ == 0);
  }

 private:
  static CUresult Alloc(CUdeviceptr* p, size_t size) {
    Patches& patches = Get();
    const CUresult result =
        patches.Call<decltype(&::cuMemAlloc_v2)>(*patches.alloc_, patches.alloc_function_, p, size);
    const std::lock_guard<std::mutex> lock(patches.mu_);
    if (size == 0) ++patches.questions_;
    if (result != CUDA_SUCCESS || size < kBytes) return result;
    ++patches.large_;
    patches.given_twice_ += patches.given_.insert(*p).second ? 0 : 1;
    return result;
  }
  static CUresult Free(CUdeviceptr p) {
    Patches& patches = Get();
    {
      const std::lock_guard<std::mutex> lock(patches.mu_);
      patches.large_frees_ += patches.given_.erase(p);
    }
    return patches.Call<decltype(&::cuMemFree_v2)>(*patches.free_, patches.free_function_, p);
  }
  template <typename Function, typename... Args>
  CUresult Call(InlinePatch& patch, void* function, Args... args) {
    if (patch.moved() != nullptr) return reinterpret_cast<Function>(patch.moved())(args...);
    return patch.Lifted([&] { return reinterpret_cast<Function>(function)(args...); });
  }

  std::unique_ptr<InlinePatch> alloc_, free_;
  void *alloc_function_ = nullptr, *free_function_ = nullptr;
  std::mutex mu_;
  std::set<CUdeviceptr> given_;
  size_t large_ = 0, large_frees_ = 0, questions_ = 0, given_twice_ = 0;
};

void WritePatches(Program* p, bool drivers) {
  if (drivers) {
    Patches::Get().Write(DriversOwn("cuMemAlloc_v2"), DriversOwn("cuMemFree_v2"));
    CHECK(Patches::Get().moved());
  } else {
    Patches::Get().Write(reinterpret_cast<void*>(p->api.MemAlloc),
                         reinterpret_cast<void*>(p->api.MemFree));
  }
}

// Memory of a device's second context is the driver's, with vramspan and without.
void UseOtherContext(Program* p) {
  CUcontext other = nullptr;
  CHECK_OK(p->api.CtxCreate(&other, nullptr, 0, p->device));
  CUdeviceptr memory = 0;
  CHECK_OK(p->api.MemAlloc(&memory, kBytes));
  const std::vector<unsigned> in(kBytes / sizeof(unsigned), 42);
  std::vector<unsigned> out(in.size());
  CHECK_OK(p->api.MemcpyHtoD(memory, in.data(), kBytes));
  CHECK_OK(p->api.MemcpyDtoH(out.data(), memory, kBytes));
  CHECK(in == out);
  CHECK_OK(p->api.MemFree(memory));
  CHECK_OK(p->api.CtxDestroy(other));
  CHECK_OK(p->api.CtxSetCurrent(p->context));
}

}  // namespace

void PatchAllocation(Program* p, const std::string& how) {
  const bool drivers = how.starts_with("driver");
  const bool before = how.ends_with("before");
  CHECK(drivers || how.starts_with("answered"));
  CHECK(before || how.ends_with("after"));
  if (before) WritePatches(p, drivers);
  p->Start();
  // What was given before is freed after.
  CUdeviceptr early = 0;
  CHECK_OK(p->api.MemAlloc(&early, kBytes));
  std::vector<CUdeviceptr> buffers(kBuffers);
  for (CUdeviceptr& b : buffers) CHECK_OK(p->api.MemAlloc(&b, kBytes));
  p->Work(buffers, kBytes, 2);
  if (!before) WritePatches(p, drivers);
  CHECK_OK(p->api.MemFree(early));
  CHECK(p->api.MemFree(early) == CUDA_ERROR_INVALID_VALUE);
  for (size_t i = 0; i < kBuffers; i += 2) CHECK_OK(p->api.MemFree(buffers[i]));
  for (size_t i = 0; i < kBuffers; i += 2) CHECK_OK(p->api.MemAlloc(&buffers[i], kBytes));
  p->Work(buffers, kBytes, 2);
  for (const CUdeviceptr b : buffers) CHECK_OK(p->api.MemFree(b));
  for (const CUdeviceptr b : buffers) CHECK(p->api.MemFree(b) == CUDA_ERROR_INVALID_VALUE);
  UseOtherContext(p);
  Patches::Get().Say();
}
