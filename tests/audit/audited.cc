// A program for audits: linked with vramspan, declares nothing, checks its results. The first
// argument says what it does; its exit code is 0 where all is right, 3 where a result is wrong.
// With AUDITED_UNCHANGED it knows nothing of vramspan, and has the driver's memory.
#include <absl/strings/str_cat.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/driver/driver.h"
#include "tests/kernels/test_kernels.h"
#include "tests/mover/traced_test_kernels.h"
#ifndef AUDITED_UNCHANGED
#include "vramspan/vramspan.h"
#endif

namespace {

using vramspan::Driver;
using Word = unsigned long long;

constexpr size_t kBytes = 4 << 20;
constexpr size_t kWords = kBytes / sizeof(Word);

void Must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "audited: %s\n", what);
  std::exit(4);
}
void Must(CUresult result, const char* what) { Must(result == CUDA_SUCCESS, what); }

class Program {
 public:
  explicit Program(const char* device_memory) : driver_(*Driver::Load()) {
    const vramspan::DriverApi& cu = driver_->api();
    CUdevice device = 0;
    Must(cu.DeviceGet(&device, 0), "cuDeviceGet");
    Must(cu.DevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
    Must(cu.CtxSetCurrent(context_), "cuCtxSetCurrent");
    Must(simcuda::LoadKernels(test_kernels_images(), cu.ModuleLoadData, &module_), "kernels");
    Must(simcuda::LoadKernels(traced_test_kernels_images(), cu.ModuleLoadData, &traced_),
         "traced kernels");
    Must(cu.StreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
#ifdef AUDITED_UNCHANGED
    static_cast<void>(device_memory);
  }

  CUdeviceptr Allocate(size_t bytes = kBytes) {
    CUdeviceptr p = 0;
    const auto allocate = Symbol<decltype(&cuMemAlloc)>("cuMemAlloc_v2");
    Must(allocate(&p, bytes), "cuMemAlloc");
    return p;
  }
  void Destroy() {}
#else
    vramspanConfig config{};
    config.struct_size = sizeof(config);
    config.device_memory = device_memory;
    config.chunk = "2MiB";
    config.flags = VRAMSPAN_CONFIG_QUIET;
    const CUresult created = vramspanCreate(&runtime_, &config);
    if (created != CUDA_SUCCESS) {
      std::fprintf(stderr, "audited: no runtime\n");
      std::exit(5);
    }
  }

  CUdeviceptr Allocate(size_t bytes = kBytes) {
    CUdeviceptr p = 0;
    Must(vramspanMemAlloc(runtime_, &p, bytes), "vramspanMemAlloc");
    return p;
  }
  void Destroy() { Must(vramspanDestroy(runtime_), "vramspanDestroy"); }
#endif
  template <typename... Args>
  void Launch(const char* name, Args... args) {
    LaunchIn(stream_, name, args...);
  }
  template <typename... Args>
  void LaunchIn(CUstream stream, const char* name, Args... args) {
    CUfunction kernel = nullptr;
    const vramspan::DriverApi& cu = driver_->api();
    if (cu.ModuleGetFunction(&kernel, module_, name) != CUDA_SUCCESS) {
      Must(cu.ModuleGetFunction(&kernel, traced_, name), name);
    }
    void* params[] = {&args..., nullptr};
    Must(cu.LaunchKernel(kernel, 64, 1, 1, 128, 1, 1, 0, stream, params, nullptr), name);
  }
  void Expect(CUdeviceptr p, Word value) {
    std::vector<Word> words(kWords);
    const vramspan::DriverApi& cu = driver_->api();
    Must(cu.MemcpyDtoHAsync(words.data(), p, kBytes, stream_), "cuMemcpyDtoHAsync");
    Must(cu.StreamSynchronize(stream_), "cuStreamSynchronize");
    for (const Word word : words) {
      if (word == value) continue;
      std::fprintf(stderr, "audited: %llu where %llu should be\n", word, value);
      std::exit(3);
    }
  }
  CUstream NewStream() {
    CUstream stream = nullptr;
    Must(driver_->api().StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    return stream;
  }
  template <typename Function>
  Function Symbol(const char* name) {
    return reinterpret_cast<Function>(driver_->Symbol(name));
  }
  CUstream stream() const { return stream_; }
  CUcontext context() const { return context_; }
  const vramspan::DriverApi& api() const { return driver_->api(); }

 private:
  const std::shared_ptr<const Driver> driver_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr, traced_ = nullptr;
  CUstream stream_ = nullptr;
#ifndef AUDITED_UNCHANGED
  vramspanRuntime runtime_ = nullptr;
#endif
};

// Every pointer is a parameter.
std::vector<CUdeviceptr> Visible(Program& p) {
  std::vector<CUdeviceptr> buffers;
  for (int i = 0; i < 4; ++i) {
    buffers.push_back(p.Allocate());
    p.Launch("fill", buffers[i], kWords, Word{1} + i);
  }
  for (int round = 0; round < 3; ++round) {
    for (const CUdeviceptr b : buffers) p.Launch("add_constant", b, kWords, Word{10});
  }
  for (int i = 0; i < 4; ++i) p.Expect(buffers[i], 31 + i);
  return buffers;
}

// The second kernel finds its memory by pointers that the first wrote.
void Hidden(Program& p, int times = 1) {
  const std::vector<CUdeviceptr> buffers = Visible(p);
  const CUdeviceptr table = p.Allocate();
  p.Launch("fill", table, kWords, Word{0});
  for (size_t i = 0; i < 2; ++i) {
    p.Launch("store_pointer", table, i, Word{buffers[i]} ^ vramspan_test::kPointerMask);
  }
  for (int i = 0; i < times; ++i) p.Launch("add_to_table", table, size_t{2}, kWords, Word{100});
  p.Expect(buffers[0], 31 + 100 * Word(times));
  p.Expect(buffers[1], 32 + 100 * Word(times));
  p.Expect(buffers[2], 33);
}

void Graph(Program& p) {
  const std::vector<CUdeviceptr> buffers = Visible(p);
  const auto begin = p.Symbol<decltype(&cuStreamBeginCapture)>("cuStreamBeginCapture_v2");
  const auto end = p.Symbol<decltype(&cuStreamEndCapture)>("cuStreamEndCapture");
  const auto make = p.Symbol<decltype(&cuGraphInstantiateWithFlags)>("cuGraphInstantiateWithFlags");
  const auto launch = p.Symbol<decltype(&cuGraphLaunch)>("cuGraphLaunch");
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  Must(begin(p.stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
  for (const CUdeviceptr b : buffers) p.Launch("add_constant", b, kWords, Word{1000});
  Must(end(p.stream(), &graph), "cuStreamEndCapture");
  Must(make(&exec, graph, 0), "cuGraphInstantiate");
  for (int i = 0; i < 2; ++i) Must(launch(exec, p.stream()), "cuGraphLaunch");
  for (size_t i = 0; i < buffers.size(); ++i) p.Expect(buffers[i], 2031 + i);
}

void Threads(Program& p) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&p, t] {
      Must(p.api().CtxSetCurrent(p.context()), "cuCtxSetCurrent");
      const CUstream stream = p.NewStream();
      const CUdeviceptr b = p.Allocate();
      p.LaunchIn(stream, "fill", b, kWords, Word(t));
      for (int i = 0; i < 20; ++i) p.LaunchIn(stream, "add_constant", b, kWords, Word{1});
      Must(p.api().StreamSynchronize(stream), "cuStreamSynchronize");
      p.Expect(b, t + 20);
    });
  }
  for (std::thread& t : threads) t.join();
}

// Six arrays in one allocation, each uploaded, beside another. One kernel stays in them, one goes
// beyond.
void InArrays(Program& p) {
  constexpr size_t kArrays = 6;
  constexpr int kRounds = 100;
  const CUdeviceptr all = p.Allocate(kArrays * kBytes), other = p.Allocate();
  p.Launch("fill", other, kWords, Word{9});
  for (size_t i = 0; i < kArrays; ++i) {
    const std::vector<Word> words(kWords, Word{1} + i);
    Must(p.api().MemcpyHtoDAsync(all + i * kBytes, words.data(), kBytes, p.stream()),
         "cuMemcpyHtoDAsync");
    Must(p.api().StreamSynchronize(p.stream()), "cuStreamSynchronize");
  }
  for (int round = 0; round < kRounds; ++round) {
    if (round % 10 == 0) p.Launch("fill", all, 2 * kWords, Word{5});
    for (size_t i = 0; i < kArrays; ++i) {
      p.Launch("add_constant", all + i * kBytes, kWords, Word{1});
    }
  }
  for (size_t i = 0; i < kArrays; ++i) {
    p.Expect(all + i * kBytes, i < 2 ? Word{15} : Word{1} + i + kRounds);
  }
  p.Expect(other, 9);
}

// Two uploaded arrays in each allocation of one chunk, so that none can be elsewhere than the
// other.
void Packed(Program& p) {
  constexpr int kRounds = 80;
  constexpr size_t kArray = size_t{1} << 20;
  std::vector<CUdeviceptr> arrays;
  for (int i = 0; i < 3; ++i) {
    const CUdeviceptr two = p.Allocate(2 * kArray);
    for (const CUdeviceptr array : {two, two + kArray}) {
      arrays.push_back(array);
      const std::vector<Word> words(kArray / sizeof(Word), Word{1});
      Must(p.api().MemcpyHtoDAsync(array, words.data(), kArray, p.stream()), "cuMemcpyHtoDAsync");
      Must(p.api().StreamSynchronize(p.stream()), "cuStreamSynchronize");
    }
  }
  for (int i = 0; i < kRounds; ++i) {
    for (const CUdeviceptr array : arrays) {
      p.Launch("add_constant", array, kArray / sizeof(Word), Word{1});
    }
  }
}

// More than the device holds in one launch.
void Over(Program& p) {
  vramspan_test::Arrays arrays{};
  const CUdeviceptr out = p.Allocate(), left = p.Allocate(), right = p.Allocate();
  p.Launch("fill", left, kWords, Word{3});
  p.Launch("fill", right, kWords, Word{4});
  arrays.out = reinterpret_cast<Word*>(out);
  arrays.left = reinterpret_cast<Word*>(left);
  arrays.right = reinterpret_cast<Word*>(right);
  arrays.count = kWords;
  p.Launch("add_arrays", arrays);
  p.Expect(out, 7);
}

// A kernel that is always given the same but for the pointer; at last it may be given another
// number.
void Same(Program& p, int used, bool other) {
  std::vector<CUdeviceptr> buffers;
  for (int i = 0; i < 4; ++i) {
    buffers.push_back(p.Allocate());
    p.Launch("fill", buffers[i], kWords, Word{1});
  }
  for (int i = 0; i < 12; ++i) p.Launch("add_constant", buffers[i % used], kWords, Word{1});
  if (other) p.Launch("add_constant", buffers[0], kWords, Word{2});
  p.Expect(buffers[0], (other ? 3 : 1) + 12 / used);
  p.Expect(buffers[1], used == 1 ? 1 : 7);
}

// Each launch comes twice in a row, and never again.
void Twins(Program& p) {
  const std::vector<CUdeviceptr> buffers = Visible(p);
  for (Word i = 0; i < 20; ++i) {
    for (int twin = 0; twin < 2; ++twin) p.Launch("add_constant", buffers[0], kWords, i);
  }
  p.Expect(buffers[0], 31 + 19 * 20);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "nothing") return 9;
  Program p(what == "over" ? "8MiB" : "64MiB");
  if (what == "visible" || what == "exit") {
    Visible(p);
  } else if (what == "hidden") {
    Hidden(p);
  } else if (what == "twice") {
    Hidden(p, 2);
  } else if (what == "same" || what == "same_and_other") {
    Same(p, 2, what != "same");
  } else if (what == "equal") {
    Same(p, 1, false);
  } else if (what == "twins") {
    Twins(p);
  } else if (what == "graph") {
    Graph(p);
  } else if (what == "threads") {
    Threads(p);
  } else if (what == "arrays") {
    InArrays(p);
  } else if (what == "packed") {
    Packed(p);
  } else if (what == "over") {
    Over(p);
  } else if (what == "many") {
    const CUdeviceptr b = p.Allocate();
    p.Launch("fill", b, kWords, Word{0});
    for (int i = 0; i < 400; ++i) p.Launch("add_constant", b, kWords, Word{1});
    p.Expect(b, 400);
  } else if (what == "leave") {
    Visible(p);
    return 0;  // Without vramspanDestroy.
  } else if (what == "die") {
    Visible(p);
    _exit(6);
  } else {
    std::fprintf(stderr, "audited: what is \"%s\"?\n", argc > 1 ? argv[1] : "");
    return 2;
  }
  std::printf("all right\n");
  p.Destroy();
  return what == "exit" ? 7 : 0;
}
