// What is known of a kernel's code, by the handle that is launched: its name, how far it is trusted
// and why. Asked of the driver and of the trust list once, then read without a lock.
//
// As with layouts, a handle may name another kernel when its module is gone: whoever ends modules
// calls Drop. Equal codes are one object, kept as long as this lives. Threads: any.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_KERNEL_CODES_H_
#define VRAMSPAN_RUNTIME_OBSERVE_KERNEL_CODES_H_

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/base/parameter_ranges.h"
#include "runtime/base/trust.h"
#include "runtime/driver/driver.h"
#include "runtime/observe/lookup_table.h"
#include "runtime/observe/trust_list.h"

namespace vramspan {

struct KernelCode {
  // Of its machine code, while the program runs (CodeReading).
  enum class Reading : uint8_t { kNotAsked, kAsked, kProven, kProvenWhen, kUnproven };

  std::string name;                           // As the driver has it.
  uint64_t module = 0;                        // A hash of the image that holds it; 0: not known.
  TrustVerdict verdict;                       // By files.
  mutable std::atomic<uint64_t> launches{0};  // Of their own, not in graphs.
  // Of those, whose code nothing proved for what they were given.
  mutable std::atomic<uint64_t> unproven{0};
  mutable std::atomic<Reading> reading{Reading::kNotAsked};

  // How far launches are trusted, whatever they are given; and those that are given this.
  Trust trust() const { return AtLeastRead(verdict.trust); }
  Trust TrustOf(uint64_t given) const { return AtLeastRead(verdict.Of(given)); }
  std::string why() const;

  // Whether parameters may prove a launch, and whether these do.
  bool depends() const {
    return !verdict.when.empty() || reading.load(std::memory_order_acquire) == Reading::kProvenWhen;
  }
  template <typename Parameters>
  bool ProvenBy(const Parameters& parameters) const {
    for (const TrustVerdict::When& when : verdict.when) {
      if (parameters.Hold(when.ranges)) return true;
    }
    return reading.load(std::memory_order_acquire) == Reading::kProvenWhen &&
           parameters.Hold(read_when_);
  }

  // Whether it may be asked what its code says, and whether there may still be an answer.
  bool MayBeAsked() const { return module != 0 && !verdict.user_missed && !verdict.excepted; }
  bool MayBeAnswered() const {
    const Reading now = reading.load(std::memory_order_acquire);
    return now == Reading::kAsked || (now == Reading::kNotAsked && MayBeAsked());
  }
  // It was read: launches are proven whose parameters are so. Once, and none is asked after it.
  // REQUIRES: some.
  void ReadToHold(ParameterCases when) const {
    read_when_ = std::move(when);
    reading.store(Reading::kProvenWhen, std::memory_order_release);
  }

 private:
  Trust AtLeastRead(Trust by_files) const {
    const bool read = reading.load(std::memory_order_relaxed) == Reading::kProven;
    return read ? std::max(by_files, Trust::kProven) : by_files;
  }

  mutable ParameterCases read_when_;  // Once `reading` is kProvenWhen it stays as it is.
};

class KernelCodes {
 public:
  // Beyond so many names all others are one, which is not trusted.
  static constexpr size_t kMost = size_t{1} << 16;

  explicit KernelCodes(const Driver& driver) : driver_(driver) {
    others_.name = "(other kernels)";
    others_.verdict.why = "there are too many kernels";
  }

  // What the user's files say, which counts before what is built in. Before the first Of.
  TrustList& trust() { return trust_; }

  // Whether some code may be known to stay in arrays.
  bool AnyStaysInArrays() const;

  const KernelCode& Of(const void* kernel) {
    const LookupTable::Value found = table_.Find(reinterpret_cast<uintptr_t>(kernel));
    return found ? *reinterpret_cast<const KernelCode*>(found.first) : Learn(kernel);
  }
  void Drop() VS_EXCLUDES(mu_);
  void ForEach(absl::FunctionRef<void(const KernelCode&)> visit) VS_EXCLUDES(mu_);

 private:
  const KernelCode& Learn(const void* kernel) VS_EXCLUDES(mu_);
  TrustVerdict VerdictOf(std::string_view name, uint64_t module) const;

  const Driver& driver_;
  TrustList trust_;
  LookupTable table_;  // Of addresses of codes; written under mu_.
  Mutex mu_;
  uint64_t drops_ VS_GUARDED_BY(mu_) = 0;
  // By name and module.
  std::map<std::pair<std::string, uint64_t>, std::unique_ptr<KernelCode>> codes_ VS_GUARDED_BY(mu_);
  KernelCode others_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_KERNEL_CODES_H_
