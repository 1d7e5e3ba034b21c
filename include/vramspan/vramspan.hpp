// vramspan for C++20: ownership, types and exceptions over the C interface. Header only; links
// nothing but libvramspan, and uses no CUDA function itself.
//
//   vramspan::Runtime runtime({.device_memory = "8GiB"});
//   auto a = runtime.alloc<float>(n), b = runtime.alloc<float>(n);
//   runtime.submit(stream, {read(a), write(b)}, [&] { kernel<<<grid, block, 0, stream>>>(...); });
//   runtime.synchronize();
//
// The contract of vramspan.h holds throughout: what moves and when, threads, contexts, the meaning
// of every limit. On top of it:
//  - Failures throw vramspan::Error with the CUresult and the sentence of the C interface.
//    Destructors throw nothing. If a failure matters, call the function that the destructor stands
//    in for.
//  - Everything made by a Runtime shares it. The runtime is destroyed with the last of Runtime,
//    Buffer, Pin and MemoryResource. The order of their destructors does not matter.
//  - ~Buffer frees memory as vramspanMemFree does. Declared work that still uses the memory is
//    waited for in the background. Undeclared work must have finished.
#ifndef VRAMSPAN_VRAMSPAN_HPP_
#define VRAMSPAN_VRAMSPAN_HPP_

#include <cuda.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "vramspan/vramspan.h"

namespace vramspan {
// Keeps these names apart from those of other major versions. If the library is linked statically,
// it also keeps them apart from the library's internals.
inline namespace v0 {

// A vramspan call that failed, or a driver call made on the caller's behalf.
class Error : public std::runtime_error {
 public:
  Error(CUresult code, const std::string& message) : std::runtime_error(message), code_(code) {}
  CUresult code() const noexcept { return code_; }

 private:
  CUresult code_;
};

// Throws Error, with the calling thread's last message, unless `result` is CUDA_SUCCESS.
inline void check(CUresult result) {
  if (result == CUDA_SUCCESS) [[likely]]
    return;
  std::string message = vramspanLastErrorMessage();
  if (message.empty()) message = "vramspan: CUDA error " + std::to_string(result);
  throw Error(result, message);
}

// The fields of vramspanConfig. An empty string is the default, and lets the environment variable
// count. Designated initializers make a Config readable: Config{.chunk = "16MiB"}.
struct Config {
  int device = 0;
  std::string driver = {};
  std::string device_memory = {};
  std::string host_memory = {};
  std::string chunk = {};
  std::string policy = {};
  std::string arena = {};
  std::string tracer = {};
  std::string overlap = {};
  std::string record = {};
  std::chrono::microseconds deadline{0};  // 0: the default
  bool quiet = false;
  bool no_host = false;
  bool share_context = false;
};

template <typename T>
class Buffer;

// Some bytes of the runtime's memory. Converts from a whole Buffer; owns nothing.
struct Region {
  CUdeviceptr ptr = 0;
  std::size_t bytes = 0;

  Region() = default;
  Region(CUdeviceptr start, std::size_t size) : ptr(start), bytes(size) {}
  // `count` elements, not bytes.
  template <typename T>
  requires(!std::is_void_v<T>) Region(const T* data, std::size_t count)
      : ptr(reinterpret_cast<CUdeviceptr>(data)), bytes(count * sizeof(T)) {}
  template <typename T>
  Region(
      const Buffer<T>& buffer)  // NOLINT(google-explicit-constructor): reads as the buffer itself
      : ptr(buffer.ptr()), bytes(buffer.size_bytes()) {}
};

// These declare what work does with a region, for Runtime::submit and Work.
inline vramspanRange read(const Region& region) {
  return {region.ptr, region.bytes, VRAMSPAN_READ, 0};
}
inline vramspanRange write(const Region& region) {
  return {region.ptr, region.bytes, VRAMSPAN_WRITE, 0};
}
inline vramspanRange readwrite(const Region& region) {
  return {region.ptr, region.bytes, VRAMSPAN_READ | VRAMSPAN_WRITE, 0};
}

// Marks a range: each byte is touched at most once, so the range is served in place.
inline vramspanRange once(vramspanRange range) {
  range.access |= VRAMSPAN_ONCE;
  return range;
}
// Marks a range: only kernels touch it, and no copy, fill or address query names it while the scope
// is open. The mark matters for scopes that stay open for long.
inline vramspanRange kernels_only(vramspanRange range) {
  range.access |= VRAMSPAN_KERNELS_ONLY;
  return range;
}

// Takes the place of the ranges if the memory of the work is unknown. Nothing moves while such work
// runs.
struct Unknown {
  explicit constexpr Unknown() = default;
};
inline constexpr Unknown unknown{};

enum class Advice {
  none = VRAMSPAN_ADVISE_NONE,
  keep_on_device = VRAMSPAN_ADVISE_KEEP_ON_DEVICE,
  prefer_host = VRAMSPAN_ADVISE_PREFER_HOST,
  read_mostly = VRAMSPAN_ADVISE_READ_MOSTLY,
  streamed_once = VRAMSPAN_ADVISE_STREAMED_ONCE,
};

enum class Location { device = VRAMSPAN_LOCATION_DEVICE, host = VRAMSPAN_LOCATION_HOST };

using Statistics = vramspanStatistics;
using Residency = vramspanResidency;

namespace detail {

// Shared by everything made from a runtime; the deleter is vramspanDestroy.
using Handle = std::shared_ptr<vramspanRuntime_st>;

inline const char* c_string(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

inline Handle create(const Config& config) {
  const auto deadline = config.deadline.count();
  if (deadline < 0 || deadline > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(CUDA_ERROR_INVALID_VALUE, "vramspan: the deadline of " + std::to_string(deadline) +
                                              " us is not within 0 and 4294967295");
  }
  vramspanConfig c = {};
  c.struct_size = sizeof(c);
  c.device = config.device;
  c.flags = (config.quiet ? VRAMSPAN_CONFIG_QUIET : 0u) |
            (config.no_host ? VRAMSPAN_CONFIG_NO_HOST : 0u) |
            (config.share_context ? VRAMSPAN_CONFIG_SHARE_CONTEXT : 0u);
  c.driver = c_string(config.driver);
  c.device_memory = c_string(config.device_memory);
  c.host_memory = c_string(config.host_memory);
  c.chunk = c_string(config.chunk);
  c.policy = c_string(config.policy);
  c.tracer = c_string(config.tracer);
  c.overlap = c_string(config.overlap);
  c.record = c_string(config.record);
  c.arena = c_string(config.arena);
  c.deadline_us = static_cast<std::uint32_t>(deadline);
  vramspanRuntime runtime = nullptr;
  check(vramspanCreate(&runtime, &c));
  return Handle(runtime, [](vramspanRuntime last) { vramspanDestroy(last); });
}

// `what` names the caller's copy function. `result` is what it returned: a CUresult or a
// cudaError_t.
template <typename Result>
void check_copy(const char* what, Result result) {
  const auto code = static_cast<CUresult>(result);
  if (code == CUDA_SUCCESS) [[likely]]
    return;
  throw Error(code, std::string("vramspan: the copy function of ") + what +
                        " returned CUDA error " + std::to_string(code));
}

}  // namespace detail

// An array on the device that may be larger than the device. Movable, not copyable. Its pointer
// never changes. The elements are not constructed: the contents of a new buffer are undefined.
template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory holds plain bytes");

 public:
  using value_type = T;

  Buffer() = default;
  // `count` elements; 0 makes an empty buffer.
  Buffer(detail::Handle runtime, std::size_t count) : runtime_(std::move(runtime)), size_(count) {
    if (count == 0) return;
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      throw Error(CUDA_ERROR_INVALID_VALUE, "vramspan: " + std::to_string(count) + " elements of " +
                                                std::to_string(sizeof(T)) +
                                                " bytes are more than an address can name");
    }
    check(vramspanMemAlloc(runtime_.get(), &ptr_, count * sizeof(T)));
  }
  ~Buffer() {
    if (ptr_ != 0) vramspanMemFree(runtime_.get(), ptr_);
  }
  Buffer(Buffer&& other) noexcept
      : runtime_(std::move(other.runtime_)),
        ptr_(std::exchange(other.ptr_, 0)),
        size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }

  // Frees the memory; the buffer is empty afterwards, even if the call throws.
  void reset() {
    const CUdeviceptr ptr = std::exchange(ptr_, 0);
    size_ = 0;
    if (ptr != 0) check(vramspanMemFree(runtime_.get(), ptr));
  }
  void swap(Buffer& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(ptr_, other.ptr_);
    std::swap(size_, other.size_);
  }

  // For kernels and library calls; the host must not dereference it.
  T* data() const noexcept { return reinterpret_cast<T*>(ptr_); }
  CUdeviceptr ptr() const noexcept { return ptr_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  bool empty() const noexcept { return size_ == 0; }

  // Elements [first, first + count). std::out_of_range if the buffer does not have them all.
  Region region(std::size_t first, std::size_t count) const {
    if (first > size_ || count > size_ - first) {
      throw std::out_of_range("vramspan: elements " + std::to_string(first) + " + " +
                              std::to_string(count) + " of a buffer of " + std::to_string(size_));
    }
    return Region(data() + first, count);
  }

 private:
  detail::Handle runtime_;
  CUdeviceptr ptr_ = 0;
  std::size_t size_ = 0;
};

// Keeps a region on the device while the Pin lives. Made by Runtime::pin.
class [[nodiscard]] Pin {
 public:
  Pin(detail::Handle runtime, Region region) : runtime_(std::move(runtime)), region_(region) {
    check(vramspanMemPin(runtime_.get(), region_.ptr, region_.bytes));
  }
  ~Pin() {
    if (runtime_) vramspanMemUnpin(runtime_.get(), region_.ptr, region_.bytes);
  }
  Pin(Pin&& other) noexcept : runtime_(std::move(other.runtime_)), region_(other.region_) {}
  Pin& operator=(Pin&& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(region_, other.region_);
    return *this;
  }

 private:
  detail::Handle runtime_;
  Region region_;
};

class Runtime;

// A scope of declared work, from the constructor to end() or the destructor. In between, the thread
// submits work to `stream` that touches these ranges and no others. Runtime::submit is the shorter
// way. Work is for what does not fit into one function call. A Work stays on the thread that made
// it.
class [[nodiscard]] Work {
 public:
  Work(const Runtime& runtime, CUstream stream, std::span<const vramspanRange> ranges);
  Work(const Runtime& runtime, CUstream stream, std::initializer_list<vramspanRange> ranges)
      : Work(runtime, stream, std::span<const vramspanRange>(ranges.begin(), ranges.size())) {}
  Work(const Runtime& runtime, CUstream stream, Unknown);
  ~Work() {
    if (runtime_ != nullptr) vramspanWorkEnd(runtime_, stream_);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Ends the scope. Later calls and the destructor do nothing.
  void end() {
    vramspanRuntime runtime = std::exchange(runtime_, nullptr);
    if (runtime != nullptr) check(vramspanWorkEnd(runtime, stream_));
  }

 private:
  vramspanRuntime runtime_ = nullptr;
  CUstream stream_ = nullptr;
};

// A runtime on one device. Copies are further references to the same runtime. Thread safe, except
// for assignment to and destruction of the object itself.
class Runtime {
 public:
  explicit Runtime(const Config& config = {}) : handle_(detail::create(config)) {}

  // Uses a runtime made by the C interface. The caller still owns that runtime. It must outlive
  // everything made from the borrowed Runtime.
  static Runtime borrow(vramspanRuntime runtime) {
    return Runtime(detail::Handle(detail::Handle(), runtime));
  }

  // For calls of the C interface. Null in a moved-from object.
  vramspanRuntime get() const noexcept { return handle_.get(); }
  const detail::Handle& handle() const noexcept { return handle_; }

  template <typename T>
  [[nodiscard]] Buffer<T> alloc(std::size_t count) const {
    return Buffer<T>(handle_, count);
  }

  // Declares `ranges`, calls `launch`, ends the declaration, and returns what `launch` returned.
  // The scope ends even if `launch` throws. `ranges`: {read(a), write(b)}, a span of
  // vramspanRange, or `unknown`. An empty list says that the work touches none of the runtime's
  // memory.
  template <std::invocable Launch>
  decltype(auto) submit(CUstream stream, std::initializer_list<vramspanRange> ranges,
                        Launch&& launch) const {
    return run(Work(*this, stream, ranges), launch);
  }
  template <std::invocable Launch>
  decltype(auto) submit(CUstream stream, std::span<const vramspanRange> ranges,
                        Launch&& launch) const {
    return run(Work(*this, stream, ranges), launch);
  }
  template <std::invocable Launch>
  decltype(auto) submit(CUstream stream, Unknown, Launch&& launch) const {
    return run(Work(*this, stream, unknown), launch);
  }

  // Declared copies between host memory and elements [first, first + size of the span) of a buffer.
  // `copy` is the driver's asynchronous copy, cuMemcpyHtoDAsync or cuMemcpyDtoHAsync, or a function
  // that does the same with the runtime API. The result of `copy` is checked. Both functions return
  // when the copy is submitted. The host memory must stay until the stream has done the copy.
  template <typename T, typename Copy>
  void upload(CUstream stream, const Buffer<T>& to, std::span<const std::type_identity_t<T>> from,
              Copy&& copy, std::size_t first = 0) const {
    const Region region = to.region(first, from.size());
    submit(stream, {once(write(region))}, [&] {
      detail::check_copy("upload", copy(region.ptr, from.data(), region.bytes, stream));
    });
  }
  template <typename T, typename Copy>
  void download(CUstream stream, std::span<std::type_identity_t<T>> to, const Buffer<T>& from,
                Copy&& copy, std::size_t first = 0) const {
    const Region region = from.region(first, to.size());
    submit(stream, {once(read(region))}, [&] {
      detail::check_copy("download", copy(to.data(), region.ptr, region.bytes, stream));
    });
  }

  void stream_forget(CUstream stream) const { check(vramspanStreamForget(get(), stream)); }

  void advise(const Region& region, Advice advice) const {
    check(vramspanMemAdvise(get(), region.ptr, region.bytes, static_cast<vramspanAdvice>(advice)));
  }
  void prefetch(const Region& region, Location to, CUstream stream) const {
    check(vramspanMemPrefetchAsync(get(), region.ptr, region.bytes,
                                   static_cast<vramspanLocation>(to), stream));
  }
  // The contents are undefined from here on in the stream, until they are written.
  void discard(const Region& region, CUstream stream) const {
    check(vramspanMemDiscard(get(), region.ptr, region.bytes, stream));
  }
  Pin pin(const Region& region) const { return Pin(handle_, region); }

  void set_device_budget(std::size_t bytes) const { check(vramspanSetDeviceBudget(get(), bytes)); }
  void set_host_budget(std::size_t bytes) const { check(vramspanSetHostBudget(get(), bytes)); }
  void set_peer_access(CUdevice peer, bool allowed) const {
    check(vramspanSetPeerAccess(get(), peer, allowed ? 1 : 0));
  }

  // Waits for declared work and moves. Throws the first error of a move since errors were last
  // taken.
  void synchronize() const { check(vramspanSynchronize(get())); }
  // Throws the same error, if there is one, without waiting.
  void check_background() const { check(vramspanTakeBackgroundError(get())); }

  Residency residency(const Region& region) const {
    Residency out = {};
    check(vramspanMemResidency(get(), region.ptr, region.bytes, &out));
    return out;
  }
  Statistics statistics() const {
    Statistics out = {};
    out.struct_size = sizeof(out);
    check(vramspanGetStatistics(get(), &out));
    return out;
  }
  // The live allocation that holds `ptr`; nothing for foreign pointers.
  std::optional<Region> allocation_of(CUdeviceptr ptr) const {
    Region out;
    const CUresult result = vramspanMemGetAddressRange(get(), &out.ptr, &out.bytes, ptr);
    if (result == CUDA_ERROR_NOT_FOUND) return std::nullopt;
    check(result);
    return out;
  }

 private:
  explicit Runtime(detail::Handle handle) : handle_(std::move(handle)) {}

  template <typename Launch>
  static decltype(auto) run(Work&& work, Launch& launch) {
    if constexpr (std::is_void_v<std::invoke_result_t<Launch&>>) {
      launch();
      work.end();
    } else {
      decltype(auto) result = launch();
      work.end();
      return static_cast<std::invoke_result_t<Launch&>>(
          std::forward<std::invoke_result_t<Launch&>>(result));
    }
  }

  detail::Handle handle_;
};

inline Work::Work(const Runtime& runtime, CUstream stream, std::span<const vramspanRange> ranges)
    : stream_(stream) {
  // An empty list is a declaration too. A null pointer would declare unknown ranges.
  static constexpr vramspanRange kNone = {};
  check(vramspanWorkBegin(runtime.get(), stream, ranges.empty() ? &kNone : ranges.data(),
                          ranges.size()));
  runtime_ = runtime.get();
}

inline Work::Work(const Runtime& runtime, CUstream stream, Unknown) : stream_(stream) {
  check(vramspanWorkBegin(runtime.get(), stream, nullptr, 0));
  runtime_ = runtime.get();
}

// vramspanReleaseCupti, to be called before a profiler starts in the process.
inline void release_cupti() { check(vramspanReleaseCupti()); }

// The library's version, "0.1.0". VRAMSPAN_VERSION_* have the header's version.
inline const char* version() { return vramspanVersion(); }

}  // namespace v0
}  // namespace vramspan

#endif  // VRAMSPAN_VRAMSPAN_HPP_
