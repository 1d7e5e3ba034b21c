// Has code that nothing proves read while the program runs, by a process beside it that `vramspan
// run` started (docs/trust.md). VRAMSPAN_READER names the folder in which they talk:
//
//   HASH.image  an image, before the first ask of it
//   asked       `ask GPU HASH NAME`, a line for each kernel and each kind of GPU, appended
//   answers     `GPU read HASH NAME`, `GPU read-when RANGES HASH NAME` or `GPU unread HASH NAME`, a
//               line for each of these, appended
//
// Whoever may write there decides what is trusted, so the folder must be this user's alone. What
// the user's files have seen to miss, or except, is never asked for. Nor is anything where the
// driver is told to compile PTX in place of machine code. Of what is built in as missing an answer
// counts only where it is one under conditions. Nothing waits for an answer. A launch that comes
// before it runs as one of code that nobody knows.
//
// Threads: any. A thread of its own, with its own descriptors, does all that takes time; it begins
// with the first code that is wanted.
#ifndef VRAMSPAN_RUNTIME_API_CODE_READING_H_
#define VRAMSPAN_RUNTIME_API_CODE_READING_H_

#include <absl/container/flat_hash_map.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/api/reading_folder.h"
#include "runtime/base/mutex.h"
#include "runtime/base/parameter_ranges.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/driver/driver.h"
#include "runtime/observe/kept_images.h"
#include "runtime/observe/kernel_codes.h"
#include "runtime/observe/module_images.h"

namespace vramspan {

class CodeReading {
 public:
  // Codes, of a process, and bytes of the images that hold them.
  static constexpr size_t kMost = size_t{1} << 14;
  static constexpr Bytes kMostImages = MiB(512);

  // The process's own, which stays; null: nobody reads.
  static CodeReading* Get(const Driver& driver);

  // For GPUs of these kinds, as 90: code must be proven for all of them. The codes that are wanted
  // outlive this, as does `images`.
  CodeReading(std::string folder, std::vector<int> gpus, ModuleImages* images);
  // Waits for the thread.
  ~CodeReading();
  CodeReading(const CodeReading&) = delete;
  CodeReading& operator=(const CodeReading&) = delete;

  // A launch came that nothing proves. Takes a microsecond for code that is wanted for the first
  // time, and else a load.
  void Wants(const KernelCode& code) VS_EXCLUDES(mu_) {
    if (code.reading.load(std::memory_order_relaxed) == KernelCode::Reading::kNotAsked) Ask(code);
  }

 private:
  using Reading = KernelCode::Reading;
  // What a code still waits for.
  struct Pending {
    const KernelCode* code = nullptr;
    std::vector<int> gpus;
    ParameterCases when = {};  // By the answers that came.
  };
  using Key = std::pair<uint64_t, std::string_view>;  // Of a code, its module and name.

  void Ask(const KernelCode& code) VS_EXCLUDES(mu_);
  void Run() VS_EXCLUDES(mu_);
  // Codes that are wanted, once there are some or `patience` is over. False: it ends.
  bool Wait(std::chrono::milliseconds patience, std::vector<const KernelCode*>* wanted)
      VS_EXCLUDES(mu_);
  // --- the thread's ---
  Status Send(const KernelCode& code);
  // Whether any came.
  StatusOr<bool> TakeAnswers();
  void Answered(std::string_view line);
  // For all kinds of GPUs it is proven, for launches that are so.
  static void Proven(const KernelCode& code, ParameterCases when);
  // From here on nothing is read.
  void GiveUp(const Status& why);

  const std::string folder_;
  const std::vector<int> gpus_;
  ModuleImages& images_;
  ReadingFolder meet_;
  KeptImages kept_;
  absl::flat_hash_map<Key, Pending> pending_;
  size_t taken_ = 0;  // Bytes of answers.
  std::chrono::steady_clock::time_point heard_;
  bool gave_up_ = false;
  Mutex mu_;
  CondVar wake_;
  std::vector<const KernelCode*> wanted_ VS_GUARDED_BY(mu_);
  size_t asked_ VS_GUARDED_BY(mu_) = 0;
  bool started_ VS_GUARDED_BY(mu_) = false;
  bool ends_ VS_GUARDED_BY(mu_) = false;
  Thread thread_ VS_GUARDED_BY(mu_);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_CODE_READING_H_
