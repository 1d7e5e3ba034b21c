#include "tests/mover/scenario.h"

#include <chrono>
#include <thread>
#include <utility>

namespace vramspan_test {
namespace {

constexpr size_t kBuffers = 5;         // Of one chunk each.
constexpr size_t kScenarioBudget = 3;  // Chunks.
constexpr int kSmall = 5;
constexpr size_t kReadWords = 512;  // Of each buffer: that it moves whole is checked at the end.

// Stands in the list of errors for one without a text.
constexpr char kNoText[] = "(no text)";

}  // namespace

const char* ModeName(Mode mode) {
  switch (mode) {
    case Mode::kOwnContext:
      return "own context";
    case Mode::kSharedContext:
      return "shared context";
    case Mode::kPrimary:
      return "primary context";
  }
  return "";
}

const char* StageName(Stage stage) {
  switch (stage) {
    case Stage::kCreate:
      return "create";
    case Stage::kRun:
      return "run";
    case Stage::kDestroy:
      return "destroy";
  }
  return "";
}

Scenario::Scenario(World& world, Mode mode) : world_(world), mode_(mode), sums_(world) {
  for (CUstream& stream : streams_) stream = world.NewStream();
  device_before_ = world_.memory_used(0);
  host_before_ = world_.memory_used(-1);
}

Scenario::~Scenario() {
  if (runtime_ != nullptr) {
    EXPECT_SPAN(vramspanDestroy(runtime_));
  }
  for (CUstream stream : streams_) EXPECT_CU(world_.api().StreamDestroy(stream));
}

std::vector<std::string> Scenario::errors() const {
  const std::lock_guard<std::mutex> lock(mu_);
  return errors_;
}

bool Scenario::Named(const std::string& call) const {
  for (const std::string& error : errors()) {
    if (error.find(call) != std::string::npos) return true;
  }
  return false;
}

bool Scenario::Try(CUresult result) {
  if (result == CUDA_SUCCESS) return true;
  const std::string text = LastError();
  const std::lock_guard<std::mutex> lock(mu_);
  errors_.push_back(text.empty() ? kNoText : text);
  return false;
}

void Scenario::TakeBackgroundError() { Try(vramspanTakeBackgroundError(runtime_)); }

void Scenario::Before(Stage stage) {
  if (stage == Stage::kCreate) return;
  Create();
  if (stage == Stage::kRun) return;
  FillMemory();
  Round();
  Settle();
}

void Scenario::Do(Stage stage) {
  switch (stage) {
    case Stage::kCreate:
      Create();
      if (runtime_ != nullptr) TakeBackgroundError();
      return;
    case Stage::kRun:
      RunBeforeMemoryIsShort();
      FillMemory();
      Round();
      MoveExplicitly();
      FreeAndAllocate();
      return Settle();
    case Stage::kDestroy:
      return Destroy();
  }
}

void Scenario::Create() {
  RuntimeOptions options;
  options.device_memory = std::to_string(kScenarioBudget * 2) + "MiB";
  if (mode_ == Mode::kSharedContext) options.flags = VRAMSPAN_CONFIG_SHARE_CONTEXT;
  const vramspanConfig config = Config(options);
  const auto untouched = reinterpret_cast<vramspanRuntime>(this);
  runtime_ = untouched;
  CUresult result = CUDA_SUCCESS;
  const auto create = [&] { result = vramspanCreate(&runtime_, &config); };
  bool created;
  if (mode_ == Mode::kPrimary) {
    // A thread without a context.
    std::thread([&] {
      create();
      created = Try(result);
    }).join();
  } else {
    create();
    created = Try(result);
  }
  if (created) return;
  EXPECT_EQ(runtime_, untouched);
  runtime_ = nullptr;
}

// No work is recorded yet: frees wait for the whole context, and streams for what says when their
// work has ended.
void Scenario::RunBeforeMemoryIsShort() {
  if (TryAlloc(kChunk)) TryFill(buffers_.size() - 1);
  CUdeviceptr p = 0;
  if (Try(vramspanMemAlloc(runtime_, &p, kChunk))) Try(vramspanMemFree(runtime_, p));
  if (Try(vramspanMemAlloc(runtime_, &p, 512))) Try(vramspanMemFree(runtime_, p));
  if (Try(vramspanWorkBegin(runtime_, streams_[2], nullptr, 0))) {
    Try(vramspanWorkEnd(runtime_, streams_[2]));
    forget_ = !Try(vramspanStreamForget(runtime_, streams_[2]));
  }
  Try(vramspanSynchronize(runtime_));
}

void Scenario::FillMemory() {
  while (buffers_.size() < kBuffers && TryAlloc(kChunk)) TryFill(buffers_.size() - 1);
  for (int i = 0; i < kSmall; ++i) {
    CUdeviceptr p = 0;
    if (Try(vramspanMemAlloc(runtime_, &p, 256))) small_.push_back(p);
  }
}

void Scenario::MoveExplicitly() {
  Try(vramspanSetDeviceBudget(runtime_, 2 * kChunk));
  Try(vramspanSynchronize(runtime_));
  Try(vramspanSetDeviceBudget(runtime_, kScenarioBudget * kChunk));
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const auto to = i % 3 == 0 ? VRAMSPAN_LOCATION_HOST : VRAMSPAN_LOCATION_DEVICE;
    Try(vramspanMemPrefetchAsync(runtime_, buffers_[i].ptr, kChunk, to, StreamOf(i)));
  }
  if (!buffers_.empty()) {
    Try(vramspanMemAdvise(runtime_, buffers_[0].ptr, kChunk, VRAMSPAN_ADVISE_READ_MOSTLY));
    if (Try(vramspanMemPin(runtime_, buffers_[0].ptr, kChunk))) {
      Try(vramspanMemUnpin(runtime_, buffers_[0].ptr, kChunk));
    }
  }
  Try(vramspanSetHostBudget(runtime_, 512 * kMiB));
}

void Scenario::FreeAndAllocate() {
  Round();
  // The work on them is held or runs: the memory must outlive it.
  for (size_t n = buffers_.size() / 2; n > 0; --n) TryFree(buffers_.size() - 1);
  for (const CUdeviceptr p : std::exchange(small_, {})) {
    if (!Try(vramspanMemFree(runtime_, p))) ++failed_frees_;
  }
  FillMemory();
}

void Scenario::Destroy() {
  if (!Try(vramspanDestroy(std::exchange(runtime_, nullptr)))) {
    // What could not be given back stays with the driver.
    device_before_ = world_.memory_used(0);
    host_before_ = world_.memory_used(-1);
  }
  buffers_.clear();
  written_.clear();
  small_.clear();
}

bool Scenario::TryAlloc(size_t bytes) {
  Buffer b;
  b.words = bytes / sizeof(Word);
  CUdeviceptr p = 42;
  if (!Try(vramspanMemAlloc(runtime_, &p, bytes))) {
    EXPECT_EQ(p, 42u) << "written although the call failed";
    return false;
  }
  b.ptr = p;
  buffers_.push_back(b);
  written_.push_back(false);
  return true;
}

void Scenario::TryFree(size_t i) {
  if (!Try(vramspanMemFree(runtime_, buffers_[i].ptr))) ++failed_frees_;
  buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(i));
  written_.erase(written_.begin() + static_cast<std::ptrdiff_t>(i));
}

void Scenario::TryFill(size_t i) {
  Buffer& b = buffers_[i];
  const vramspanRange range = b.range(VRAMSPAN_WRITE);
  if (!Try(vramspanWorkBegin(runtime_, StreamOf(i), &range, 1))) return;
  b.seed = i + 1;
  b.add = 0;
  EXPECT_CU(world_.LaunchFill(b, StreamOf(i)));
  written_[i] = true;
  Try(vramspanWorkEnd(runtime_, StreamOf(i)));
}

void Scenario::TryAdd(size_t i) {
  Buffer& b = buffers_[i];
  const vramspanRange range = b.range(VRAMSPAN_READ | VRAMSPAN_WRITE | VRAMSPAN_KERNELS_ONLY);
  if (!Try(vramspanWorkBegin(runtime_, StreamOf(i), &range, 1))) return;
  EXPECT_CU(world_.LaunchAdd(b, 3, StreamOf(i)));
  b.add += 3;
  Try(vramspanWorkEnd(runtime_, StreamOf(i)));
}

void Scenario::TryRead(size_t i) {
  Buffer b = buffers_[i];
  const vramspanRange range = b.range(VRAMSPAN_READ);
  b.words = kReadWords;
  if (!Try(vramspanWorkBegin(runtime_, StreamOf(i), &range, 1))) return;
  EXPECT_CU(world_.LaunchChecksum(b, sums_.address(), StreamOf(i)));
  Try(vramspanWorkEnd(runtime_, StreamOf(i)));
}

void Scenario::Round() {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (written_[i] && i % 3 != 2) TryAdd(i);
  }
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (written_[i]) TryRead(i);
  }
}

// The background may fail a moment after the program's last call.
void Scenario::Settle() {
  unsigned long long failed = world_.failed_calls() + 1;
  for (int i = 0; i < 20 && failed != world_.failed_calls(); ++i) {
    failed = world_.failed_calls();
    Try(vramspanSynchronize(runtime_));
    TakeBackgroundError();
  }
}

void Scenario::CheckContents(const char* when) {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (!written_[i]) continue;
    EXPECT_EQ(world_.Wrong(buffers_[i]), "") << "buffer " << i << ", " << when;
  }
}

vramspanStatistics Scenario::CheckStatistics(const char* when) {
  SCOPED_TRACE(when);
  vramspanStatistics s{};
  s.struct_size = sizeof(s);
  EXPECT_SPAN(vramspanGetStatistics(runtime_, &s));
  EXPECT_LE(s.device_used, s.device_budget);
  EXPECT_LE(s.host_used, s.host_budget);
  EXPECT_LE(s.device_used + s.device_cached, static_cast<uint64_t>(world_.memory_used(0)));
  EXPECT_LE(s.host_used + s.host_cached, static_cast<uint64_t>(world_.memory_used(-1)));
  EXPECT_LE(s.allocations, buffers_.size() + small_.size() + failed_frees_);
  EXPECT_GE(s.allocations, buffers_.size() + small_.size());
  EXPECT_GE(s.allocated_bytes, buffers_.size() * kChunk);
  EXPECT_GE(s.peak_allocated_bytes, s.allocated_bytes);
  EXPECT_GE(s.chunks * kChunk, s.allocated_bytes);
  EXPECT_LE(s.works_held, s.works + 100) << "prefetches and pins are held as well";
  EXPECT_GE(s.remaps, s.fetches + s.evictions);
  EXPECT_EQ(s.bytes_out + s.bytes_out_clean, s.evictions * kChunk);
  return s;
}

void Scenario::Recover() {
  // What the background failed at last may be told only here.
  if (runtime_ != nullptr) Settle();
  const std::vector<std::string> gathered = std::exchange(errors_, {});
  if (runtime_ == nullptr) Create();
  ASSERT_EQ(errors(), std::vector<std::string>()) << "creating a runtime";
  CheckContents("after the failures");
  CheckStatistics("after the failures");

  if (forget_) forget_ = !Try(vramspanStreamForget(runtime_, streams_[2]));
  FillMemory();
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (!written_[i]) TryFill(i);
  }
  Settle();
  const vramspanStatistics then = CheckStatistics("before more work");
  // On a busy machine the deadline lets a round go with its memory where it is.
  vramspanStatistics s = then;
  for (int i = 0; i < 50 && s.fetches == then.fetches && errors().empty(); ++i) {
    Round();
    Try(vramspanSynchronize(runtime_));
    s = CheckStatistics("after more work");
  }
  EXPECT_GT(s.fetches, then.fetches) << "nothing moves any more";
  CheckContents("after more work");
  while (!buffers_.empty()) TryFree(buffers_.size() - 1);
  for (const CUdeviceptr p : std::exchange(small_, {})) Try(vramspanMemFree(runtime_, p));
  Try(vramspanSynchronize(runtime_));
  s = CheckStatistics("after freeing everything");
  EXPECT_LE(s.device_used + s.host_used, kChunk) << "freed memory did not come back";
  Destroy();
  EXPECT_EQ(errors(), std::vector<std::string>()) << "after the failures were switched off";
  EXPECT_EQ(world_.memory_used(0), device_before_) << "device memory leaked";
  EXPECT_EQ(world_.memory_used(-1), host_before_) << "host memory leaked";
  errors_ = gathered;
}

}  // namespace vramspan_test
