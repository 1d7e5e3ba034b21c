// Fourier transforms by cuFFT in a runtime's memory, nothing declared: there and back, compared
// with what went in. A program to audit (docs/audit.md): its kernels are a library's, with pointers
// in structs of the library's own.
//
//   fft_bench [--mib 256] [--device-memory 4GiB]
//
// Exit code 0 only if all came back. cuFFT is opened at run time.
#include <absl/strings/str_cat.h>
#include <cufft.h>
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "bench/workloads/arguments.h"
#include "bench/workloads/machine.h"

namespace vramspan::bench {
namespace {

using Complex = cufftComplex;

struct Shape {
  const char* what;
  int rank;
  int sizes[3];

  size_t elements() const {
    size_t n = 1;
    for (int i = 0; i < rank; ++i) n *= static_cast<size_t>(sizes[i]);
    return n;
  }
};
constexpr Shape kShapes[] = {
    {"2^20", 1, {1 << 20}},
    {"10^6", 1, {1000000}},
    {"999,983 (a prime)", 1, {999983}},
    {"256 x 256 x 256", 3, {256, 256, 256}},
};

struct Cufft {
  decltype(&cufftPlanMany) plan = nullptr;
  decltype(&cufftSetStream) set_stream = nullptr;
  decltype(&cufftExecC2C) exec = nullptr;
  decltype(&cufftDestroy) destroy = nullptr;

  Cufft() {
    void* const library = dlopen("libcufft.so.12", RTLD_NOW);
    if (library == nullptr) {
      throw std::runtime_error(absl::StrCat("cuFFT cannot be opened (", dlerror(),
                                            "): set LD_LIBRARY_PATH to its folder"));
    }
    plan = Find<decltype(plan)>(library, "cufftPlanMany");
    set_stream = Find<decltype(set_stream)>(library, "cufftSetStream");
    exec = Find<decltype(exec)>(library, "cufftExecC2C");
    destroy = Find<decltype(destroy)>(library, "cufftDestroy");
  }
  template <typename Function>
  static Function Find(void* library, const char* name) {
    void* const function = dlsym(library, name);
    if (function == nullptr) throw std::runtime_error(absl::StrCat("cuFFT has no ", name));
    return reinterpret_cast<Function>(function);
  }
};

void Check(cufftResult result, const char* call) {
  if (result == CUFFT_SUCCESS) return;
  throw std::runtime_error(absl::StrCat(call, ": cufftResult ", static_cast<int>(result)));
}

// The largest error of what came back, of values in [-1, 1).
double Transform(Machine& machine, const Runtime& runtime, const Cufft& cufft, const Shape& shape,
                 size_t mib) {
  const size_t n = shape.elements();
  const size_t batch = std::max<size_t>(1, (mib << 20) / (n * sizeof(Complex)));
  const CUstream stream = machine.MakeStream();
  std::vector<Complex> in(n * batch), back(n * batch);
  uint32_t state = 1;
  const auto next = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(static_cast<int32_t>(state)) / 2147483648.0f;
  };
  for (Complex& c : in) c = {next(), next()};
  const auto there = runtime.alloc<Complex>(in.size());
  const auto spectrum = runtime.alloc<Complex>(in.size());
  const auto returned = runtime.alloc<Complex>(in.size());
  const size_t bytes = in.size() * sizeof(Complex);
  machine.Check(machine.api().MemcpyHtoDAsync(there.ptr(), in.data(), bytes, stream),
                "cuMemcpyHtoDAsync");
  cufftHandle plan = 0;
  int sizes[3] = {shape.sizes[0], shape.sizes[1], shape.sizes[2]};
  const int distance = static_cast<int>(n);
  Check(cufft.plan(&plan, shape.rank, sizes, nullptr, 1, distance, nullptr, 1, distance, CUFFT_C2C,
                   static_cast<int>(batch)),
        "cufftPlanMany");
  Check(cufft.set_stream(plan, stream), "cufftSetStream");
  const auto at = [](const Buffer<Complex>& b) { return reinterpret_cast<Complex*>(b.ptr()); };
  Check(cufft.exec(plan, at(there), at(spectrum), CUFFT_FORWARD), "cufftExecC2C");
  Check(cufft.exec(plan, at(spectrum), at(returned), CUFFT_INVERSE), "cufftExecC2C");
  machine.Check(machine.api().MemcpyDtoHAsync(back.data(), returned.ptr(), bytes, stream),
                "cuMemcpyDtoHAsync");
  machine.Synchronize(stream);
  Check(cufft.destroy(plan), "cufftDestroy");
  double worst = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    worst = std::max<double>(worst, std::abs(back[i].x / static_cast<double>(n) - in[i].x));
    worst = std::max<double>(worst, std::abs(back[i].y / static_cast<double>(n) - in[i].y));
  }
  return worst;
}

int Measure(size_t mib, const std::string& device_memory) {
  constexpr double kTolerance = 1e-4;
  Machine machine;
  const Cufft cufft;
  const Runtime runtime({.driver = machine.driver()->path(), .device_memory = device_memory});
  std::printf("%s: transforms of %zu MiB there and back\n", machine.name().c_str(), mib);
  bool right = true;
  for (const Shape& shape : kShapes) {
    const auto start = std::chrono::steady_clock::now();
    const double error = Transform(machine, runtime, cufft, shape, mib);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%-20s error %.1e, %.2f s with everything%s\n", shape.what, error, took.count(),
                error < kTolerance ? "" : ": WRONG");
    right = right && error < kTolerance;
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace vramspan::bench

int main(int argc, char** argv) {
  CLI::App app("Fourier transforms by cuFFT in a runtime's memory.");
  size_t mib = 256;
  std::string device_memory = "4GiB";
  app.add_option("--mib", mib, "How much is transformed at once")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--device-memory", device_memory)->capture_default_str();
  if (const auto code = vramspan::bench::ParseArguments(app, argc, argv)) return *code;
  return vramspan::bench::RunMain("fft_bench",
                                  [&] { return vramspan::bench::Measure(mib, device_memory); });
}
