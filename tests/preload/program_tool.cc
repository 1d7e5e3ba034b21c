// A tool in the program that wants CUPTI for itself, while launches go on in another thread.
#include <cupti.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/preload/program_scenarios.h"

namespace {

constexpr size_t kBytes = size_t{4} << 20;
constexpr size_t kWords = kBytes / sizeof(unsigned long long);

std::atomic<unsigned long long> seen_by_the_tool{0};

void CUPTIAPI OnCall(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {
  seen_by_the_tool.fetch_add(1);
}

void Subscribe(void* library, void* tool = nullptr) {
  const auto subscribe =
      reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library, "cuptiSubscribe"));
  const auto enable =
      reinterpret_cast<decltype(&cuptiEnableCallback)>(dlsym(library, "cuptiEnableCallback"));
  CHECK(subscribe != nullptr && enable != nullptr);
  CUpti_SubscriberHandle subscriber = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  if (tool == nullptr) {
    result = subscribe(&subscriber, &OnCall, nullptr);
  } else {
    using Function = CUptiResult (*)(CUpti_SubscriberHandle*, CUpti_CallbackFunc);
    const auto bound = reinterpret_cast<Function>(dlsym(tool, "LinkedToolSubscribes"));
    CHECK(bound != nullptr);
    result = bound(&subscriber, &OnCall);
  }
  if (result != CUPTI_SUCCESS) Fail("cuptiSubscribe is " + std::to_string(result));
  for (const auto call :
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz}) {
    CHECK(enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call) == CUPTI_SUCCESS);
  }
}

}  // namespace

void ToolAsksForCupti(Program* p, const std::string& how) {
  p->Start();
  // Where no library of the program has it, it has none of ours.
  CHECK(!HasGlobal("cuptiSubscribe"));
  size_t free = 0, total = 0;
  CHECK_OK(p->api.MemGetInfo(&free, &total));
  std::vector<CUdeviceptr> buffers(2 * total / kBytes);
  for (CUdeviceptr& b : buffers) CHECK_OK(p->api.MemAlloc(&b, kBytes));
  for (size_t i = 0; i < buffers.size(); ++i) p->Launch(p->fill_hash, buffers[i], kWords, i);

  std::atomic<unsigned long long> rounds{0};
  std::atomic<bool> stop{false};
  std::thread launching([&] {
    CHECK_OK(p->api.CtxSetCurrent(p->context));
    while (!stop.load()) {
      for (const CUdeviceptr b : buffers) p->Launch(p->add_constant, b, kWords, 1);
      rounds.fetch_add(1);
    }
  });
  const auto rounds_more = [&] {
    const unsigned long long before = rounds.load();
    while (rounds.load() < before + 2) std::this_thread::yield();
  };
  rounds_more();
  if (how == "binds") {
    // As a tool does that the loader binds to CUPTI.
    CHECK(dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL) != nullptr);
    Subscribe(RTLD_DEFAULT);
  } else if (how == "linked") {
    const char* const path = std::getenv("LINKED_TOOL");
    CHECK(path != nullptr);
    void* const tool = dlopen(path, RTLD_NOW);
    if (tool == nullptr) Fail(dlerror());
    Subscribe(dlopen("libcupti.so.13", RTLD_NOW), tool);
  } else {
    void* const library = dlopen("libcupti.so.13", RTLD_NOW);
    CHECK(library != nullptr);
    if (how == "finalizes") {
      const auto finalize =
          reinterpret_cast<decltype(&cuptiFinalize)>(dlsym(library, "cuptiFinalize"));
      CHECK(finalize() == CUPTI_SUCCESS);
    }
    Subscribe(library);
  }
  rounds_more();
  stop.store(true);
  launching.join();
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  CHECK(seen_by_the_tool.load() != 0);

  std::vector<unsigned long long> back(kWords);
  for (size_t i = 0; i < buffers.size(); ++i) {
    CHECK_OK(p->api.MemcpyDtoH(back.data(), buffers[i], kBytes));
    for (size_t w = 0; w < kWords; ++w) CHECK(back[w] == Program::Word(w, i) + rounds.load());
  }
  for (const CUdeviceptr b : buffers) CHECK_OK(p->api.MemFree(b));
  std::fprintf(stderr, "program: launched %llu times\n",
               static_cast<unsigned long long>(buffers.size() * (rounds.load() + 1)));
}
