#include "runtime/api/code_reading.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/private_descriptors.h"
#include "runtime/observe/image_hash.h"
#include "runtime/observe/readings.h"

namespace vramspan {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSoon{10}, kLate{1000};
// Long code takes minutes to read. Whoever says nothing for longer has ended.
constexpr std::chrono::minutes kPatience{10};

std::vector<int> KindsOfGpus(const Driver& driver) {
  int count = 0;
  std::vector<int> kinds;
  if (driver->DeviceGetCount(&count) != CUDA_SUCCESS) return {};
  for (int i = 0; i < count; ++i) {
    const StatusOr<Capabilities> gpu = ReadCapabilities(driver, i);
    if (!gpu.ok()) return {};
    kinds.push_back(gpu->compute_major * 10 + gpu->compute_minor);
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

// Whether the driver is told to compile PTX where there is machine code, which is what is read.
bool CompilesPtx() {
  for (const char* const variable : {"CUDA_FORCE_PTX_JIT", "CUDA_FORCE_JIT"}) {
    const char* const value = std::getenv(variable);
    if (value != nullptr && *value != '\0' && std::string_view(value) != "0") return true;
  }
  return false;
}

}  // namespace

CodeReading* CodeReading::Get(const Driver& driver) {
  // Not where the program has more rights than who started it.
  static const char* const folder = secure_getenv(kReaderVariable);
  if (folder == nullptr || *folder != '/' || CompilesPtx()) return nullptr;
  static CodeReading* const reading = [&]() -> CodeReading* {
    std::vector<int> gpus = KindsOfGpus(driver);
    if (gpus.empty()) return nullptr;
    return new CodeReading(folder, std::move(gpus), &ModuleImages::Get());  // Launches come late.
  }();
  return reading;
}

CodeReading::CodeReading(std::string folder, std::vector<int> gpus, ModuleImages* images)
    : folder_(std::move(folder)),
      gpus_(std::move(gpus)),
      images_(*images),
      kept_(folder_, kMostImages) {}

CodeReading::~CodeReading() {
  Thread thread;
  {
    MutexLock lock(mu_);
    ends_ = true;
    thread = std::move(thread_);
  }
  wake_.NotifyOne();
  thread.Join();
}

void CodeReading::Ask(const KernelCode& code) {
  Reading none = Reading::kNotAsked;
  if (!code.reading.compare_exchange_strong(none, Reading::kAsked)) return;
  // Nobody answers of a name that is no name.
  bool can = code.MayBeAsked() && code.name == CleanText(code.name, TrustList::kMostName);
  if (can) {
    MutexLock lock(mu_);
    can = asked_ < kMost;
    if (can && !started_) {
      StatusOr<Thread> thread = StartThread("vramspan-read", [this] { Run(); });
      started_ = can = thread.ok();
      if (can) {
        thread_ = *std::move(thread);
      } else {
        Log(LogLevel::kInfo, absl::StrCat("code is not read: ", thread.status().message()));
      }
    }
    if (can) {
      ++asked_;
      wanted_.push_back(&code);
      wake_.NotifyOne();
    }
  }
  if (!can) code.reading.store(Reading::kUnproven);
}

bool CodeReading::Wait(milliseconds patience, std::vector<const KernelCode*>* wanted) {
  MutexLock lock(mu_);
  if (patience == milliseconds(0)) {
    while (!ends_ && wanted_.empty()) wake_.Wait(mu_);
  } else if (!ends_ && wanted_.empty()) {
    wake_.WaitFor(mu_, patience);
  }
  wanted->swap(wanted_);
  return !ends_;
}

void CodeReading::Run() {
  constexpr std::array kKept = {STDERR_FILENO};
  LeaveDescriptors(kKept);
  const Status opened = meet_.Open(folder_);
  if (!opened.ok()) GiveUp(opened);
  milliseconds patience{0};
  std::vector<const KernelCode*> wanted;
  while (Wait(patience, &wanted)) {
    for (const KernelCode* const code : wanted) {
      const Status sent = gave_up_ ? absl::CancelledError() : Send(*code);
      if (!sent.ok()) code->reading.store(Reading::kUnproven);
    }
    StatusOr<bool> heard = TakeAnswers();
    const auto now = std::chrono::steady_clock::now();
    if (!wanted.empty() || heard.value_or(false)) {
      heard_ = now;
      patience = kSoon;
    } else {
      patience = std::min(patience * 2, kLate);
    }
    if (heard.ok() && now - heard_ > kPatience) {
      heard = absl::DeadlineExceededError("nobody answers");
    }
    if (!heard.ok()) GiveUp(heard.status());
    if (pending_.empty()) patience = milliseconds(0);
    wanted.clear();
  }
}

Status CodeReading::Send(const KernelCode& code) {
  const std::shared_ptr<const void> image = images_.Find(code.module);
  if (image == nullptr || SizeOfImage(UnwrappedImage(image.get())) == 0) {
    return absl::NotFoundError("its image is not to be had");
  }
  if (!meet_.HasRoom()) return absl::ResourceExhaustedError("there is no room for it");
  VS_RETURN_IF_ERROR(kept_.TryToKeep(image.get(), code.module));
  std::string lines;
  for (const int gpu : gpus_) {
    absl::StrAppend(&lines, "ask ", gpu, " ", absl::Hex(code.module, absl::kZeroPad16), " ",
                    code.name, "\n");
  }
  VS_RETURN_IF_ERROR(meet_.Append("asked", lines));
  pending_[Key(code.module, code.name)] = {.code = &code, .gpus = gpus_, .when = {}};
  return absl::OkStatus();
}

StatusOr<bool> CodeReading::TakeAnswers() {
  if (pending_.empty()) return false;
  VS_ASSIGN_OR_RETURN(const std::string text, meet_.Read("answers", taken_));
  size_t begin = 0;
  // What is still being written has no end yet.
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    Answered(std::string_view(text).substr(begin, end - begin));
  }
  taken_ += begin;
  return begin != 0;
}

void CodeReading::Answered(std::string_view line) {
  const size_t space = std::min(line.find(' '), line.size());
  int gpu = 0;
  if (space == line.size() || !absl::SimpleAtoi(line.substr(0, space), &gpu)) return;
  const std::optional<ReadingOfKernel> answer = ParseReadingOfKernel(line.substr(space + 1));
  if (!answer.has_value()) return;
  // Other processes ask as well.
  const auto found = pending_.find(Key(answer->module, answer->name));
  if (found == pending_.end() || std::erase(found->second.gpus, gpu) == 0) return;
  Pending& pending = found->second;
  std::optional<ParameterCases> when = BothHold(answer->when, pending.when);
  const bool proven = answer->proven && when.has_value();
  if (proven) pending.when = *std::move(when);
  if (proven && !pending.gpus.empty()) return;
  if (proven) {
    Proven(*pending.code, std::move(pending.when));
  } else {
    pending.code->reading.store(Reading::kUnproven);
  }
  pending_.erase(found);
}

void CodeReading::Proven(const KernelCode& code, ParameterCases when) {
  // What was seen of this very code counts before a reading that says otherwise.
  if (!when.empty()) {
    code.ReadToHold(std::move(when));
  } else {
    code.reading.store(code.verdict.missed ? Reading::kUnproven : Reading::kProven);
  }
}

void CodeReading::GiveUp(const Status& why) {
  for (const auto& [key, pending] : pending_) pending.code->reading.store(Reading::kUnproven);
  pending_.clear();
  if (gave_up_) return;
  gave_up_ = true;
  Log(LogLevel::kInfo,
      absl::StrCat("code is read no more: ", CleanText(folder_), ": ", CleanText(why.message())));
}

}  // namespace vramspan
