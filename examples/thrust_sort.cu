// Sorts more than the device holds with Thrust: the keys are a thrust::device_vector in the
// runtime's memory, and Thrust's own scratch comes from there too (as large as the keys again).
//
//   thrust_sort [--keys 64M] [--device-memory 512MiB] [--seed N] [--no-declare]
//
// Prints one line and exits with 0 only if the result is sorted and holds the keys that went in.
// --no-declare tells the runtime of no work: everything then stays where it was placed at first.
#include <cuda_runtime_api.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/sort.h>
#include <thrust/tabulate.h>
#include <thrust/transform_reduce.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "vramspan/memory_resource.hpp"

namespace {

using Key = std::uint64_t;
using Keys = thrust::device_vector<Key, vramspan::Allocator<Key, thrust::device_ptr<Key>>>;

struct Options {
  std::size_t keys = std::size_t{64} << 20;
  std::string device_memory = "512MiB";
  std::uint64_t seed = 1;
  bool declare = true;
};

// The finalizer of splitmix64: a bijection, so every index gives another key.
__host__ __device__ inline Key Scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

struct MakeKey {
  std::uint64_t seed;
  __host__ __device__ Key operator()(std::uint64_t index) const { return Scramble(index ^ seed); }
};

// Two sums that do not depend on the order: equal for equal multisets of keys.
struct Checksum {
  std::uint64_t sum = 0;
  std::uint64_t scrambled = 0;
  bool operator==(const Checksum&) const = default;
};
struct ChecksumOfKey {
  __host__ __device__ Checksum operator()(Key key) const { return {key, Scramble(~key)}; }
};
struct ChecksumOfIndex {
  MakeKey make;
  __host__ __device__ Checksum operator()(std::uint64_t index) const {
    return ChecksumOfKey()(make(index));
  }
};
struct Add {
  __host__ __device__ Checksum operator()(const Checksum& a, const Checksum& b) const {
    return {a.sum + b.sum, a.scrambled + b.scrambled};
  }
};

void Check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + " failed: " + cudaGetErrorString(result));
}

struct Stream {
  Stream() {
    Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~Stream() { cudaStreamDestroy(stream); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t stream = nullptr;
};

bool Run(const Options& options) {
  // Makes the device's primary context current: the runtime then belongs to it.
  Check(cudaSetDevice(0), "cudaSetDevice");
  Check(cudaFree(nullptr), "cudaFree");
  const Stream owned_stream;
  const cudaStream_t stream = owned_stream.stream;

  const vramspan::Runtime runtime({.device_memory = options.device_memory});
  const vramspan::MemoryResource resource(runtime);
  vramspan::Allocator<char> scratch(resource, stream);
  const auto policy = thrust::cuda::par(scratch).on(stream);

  Keys keys(options.keys, vramspan::Allocator<Key, thrust::device_ptr<Key>>(resource, stream));
  const vramspan::Region region(thrust::raw_pointer_cast(keys.data()), keys.size());
  const auto submit = [&](const vramspanRange& range, auto&& work) {
    if (options.declare) {
      runtime.submit(stream, {range}, work);
    } else {
      work();
    }
  };

  const MakeKey make{options.seed};
  const thrust::counting_iterator<std::uint64_t> index(0);
  Checksum expected;
  submit(write(region), [&] {
    thrust::tabulate(policy, keys.begin(), keys.end(), make);
    // From the generator, not from what it wrote.
    expected = thrust::transform_reduce(policy, index, index + keys.size(), ChecksumOfIndex{make},
                                        Checksum(), Add());
  });

  const auto start = std::chrono::steady_clock::now();
  submit(readwrite(region), [&] { thrust::sort(policy, keys.begin(), keys.end()); });
  Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  bool sorted = false;
  Checksum found;
  submit(read(region), [&] {
    sorted = thrust::is_sorted(policy, keys.begin(), keys.end());
    found = thrust::transform_reduce(policy, keys.begin(), keys.end(), ChecksumOfKey(), Checksum(),
                                     Add());
  });
  runtime.synchronize();

  const bool right = sorted && found == expected;
  const vramspan::Statistics s = runtime.statistics();
  std::printf(
      "%s: %zu keys, %s, checksum %s; %.2f times the device budget of %llu MiB; sorted in "
      "%.3f s; %llu MiB moved in, %llu MiB out; %s\n",
      right ? "right" : "WRONG", keys.size(), sorted ? "sorted" : "not sorted",
      found == expected ? "equal" : "different",
      static_cast<double>(s.peak_allocated_bytes) / static_cast<double>(s.device_budget),
      static_cast<unsigned long long>(s.device_budget >> 20), seconds.count(),
      static_cast<unsigned long long>(s.bytes_in >> 20),
      static_cast<unsigned long long>(s.bytes_out >> 20),
      options.declare ? "declared" : "not declared");
  return right;
}

// "64M": a count with K, M or G for 2^10, 2^20, 2^30.
std::size_t ParseCount(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
  const std::string suffix = end;
  const int shift = suffix.empty()  ? 0
                    : suffix == "K" ? 10
                    : suffix == "M" ? 20
                    : suffix == "G" ? 30
                                    : -1;
  if (text.empty() || text[0] < '0' || text[0] > '9' || shift < 0 || errno != 0 || value == 0 ||
      value > (std::size_t{1} << 50) >> shift) {
    throw std::invalid_argument("'" + text + "' is not a count, such as 1000000, 64M or 2G");
  }
  return static_cast<std::size_t>(value) << shift;
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--no-declare") {
      options.declare = false;
      continue;
    }
    if (flag != "--keys" && flag != "--device-memory" && flag != "--seed") {
      throw std::invalid_argument("unknown argument '" + flag + "'");
    }
    if (++i == argc) throw std::invalid_argument(flag + " needs a value");
    if (flag == "--keys") options.keys = ParseCount(argv[i]);
    if (flag == "--device-memory") options.device_memory = argv[i];
    if (flag == "--seed") options.seed = ParseCount(argv[i]);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  try {
    options = ParseOptions(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr,
                 "thrust_sort: %s\nusage: thrust_sort [--keys 64M] [--device-memory 512MiB] "
                 "[--seed N] [--no-declare]\n",
                 error.what());
    return 2;
  }
  try {
    return Run(options) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thrust_sort: %s\n", error.what());
    return 1;
  }
}
