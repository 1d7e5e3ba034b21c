// What the GPU's counters cost a program that goes on: to open, to start, per counted launch, to
// read, and while they are started and nothing is counted; and for how long a launch of another
// thread then stands still.
// nvcc -std=c++17 -O2 -arch=sm_90 -I../.. -o counters_beside_work counters_beside_work.cu -lcuda
// Usage: counters_beside_work LIBRARY (libvramspan_cupti_tracer.so)
#include <dlfcn.h>

#include <cstring>

#include "probe.h"
#include "runtime/observe/hardware_counters.h"

namespace {

// A thread that launches short kernels without a pause, as a program would, and notes the longest
// time that one launch took the thread, and the launches.
struct Program {
  explicit Program(CUcontext context) : context(context) {
    thread = std::thread([this] { Run(); });
  }
  ~Program() {
    stop = true;
    thread.join();
  }
  void Run() {
    CU(cuCtxSetCurrent(context));
    cudaStream_t a, b;
    CU(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CU(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    while (!stop) {
      for (int i = 0; i < 16; ++i) {
        const auto begin = Clock::now();
        Spin<<<16, 64, 0, i % 2 == 0 ? a : b>>>(40000);
        const double took = MicrosecondsSince(begin);
        if (took > longest) longest = took;
        ++launches;
      }
      const auto begin = Clock::now();
      CU(cudaStreamSynchronize(a));
      CU(cudaStreamSynchronize(b));
      const double took = MicrosecondsSince(begin);
      if (took > longest_wait) longest_wait = took;
    }
  }
  void Report(const char* what, double us) {
    std::printf(
        "%-34s %9.0f us; launches %6.1f a ms, longest launch %7.0f us, longest round of 16 %7.0f "
        "us\n",
        what, us, 1000.0 * static_cast<double>(launches.exchange(0)) / us, longest.exchange(0),
        longest_wait.exchange(0));
  }
  CUcontext context;
  std::atomic<bool> stop{false};
  std::atomic<long> launches{0};
  std::atomic<double> longest{0}, longest_wait{0};
  std::thread thread;
};

void Counted(void* sum, const vramspanCounted* range) {
  *static_cast<uint64_t*>(sum) += range->host_reads + range->host_writes;
}

}  // namespace

int main(int, char** argv) {
  void* const library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  const auto* const table =
      reinterpret_cast<vramspanCountersGet_t>(dlsym(library, VRAMSPAN_COUNTERS_GET))();
  CU(cudaFree(nullptr));
  CUcontext context;
  CU(cuCtxGetCurrent(&context));
  float4* data;
  CU(cudaMalloc(&data, 64 * kMiB));
  cudaStream_t mine;
  CU(cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking));
  Mover mover;
  char error[512] = "";
  const auto check = [&](int failed) {
    if (failed != 0) std::fprintf(stderr, "%s\n", error), std::exit(1);
  };
  const auto one = [&] {
    Touch<<<64, 256, 0, mine>>>(data, 64 * kMiB / sizeof(float4));
    CU(cudaStreamSynchronize(mine));
  };
  for (const bool copies : {false, true}) {
    std::printf("%s\n", copies ? "beside copies of another context" : "alone");
    std::atomic<bool> stop{false};
    std::thread copier;
    if (copies) copier = std::thread([&] { mover.CopyIn(stop); });
    {
      Program program(context);
      const auto rest = [&](const char* what) {
        program.Report("(between)", 1);
        const auto begin = Clock::now();
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        program.Report(what, MicrosecondsSince(begin));
      };
      const auto timed = [&](const char* what, auto call) {
        program.Report("(between)", 1);
        const auto begin = Clock::now();
        call();
        program.Report(what, MicrosecondsSince(begin));
      };
      rest("before");
      vramspanCounters* counters = nullptr;
      int denied = 0;
      uint64_t sum = 0;
      timed("open and start", [&] {
        check(table->open(context, 0, nullptr, &Counted, &sum, &counters, &denied, error,
                          sizeof(error)));
      });
      rest("started, nothing counted");
      for (int batch = 0; batch < 3; ++batch) {
        for (int i = 0; i < 4; ++i) {
          timed("begin", [&] { check(table->begin(counters, 1, error, sizeof(error))); });
          timed("a launch", one);
          timed("end", [&] { check(table->end(counters, error, sizeof(error))); });
        }
        timed("read (stop)", [&] { check(table->flush(counters, error, sizeof(error))); });
        rest("stopped");
      }
      timed("close", [&] { check(table->close(counters, error, sizeof(error))); });
      rest("closed");
    }
    stop = true;
    if (copies) copier.join();
  }
  return 0;
}
