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
#include "runtime/base/trust.h"
#include "runtime/driver/driver.h"
#include "runtime/observe/lookup_table.h"
#include "runtime/observe/trust_list.h"

namespace vramspan {

struct KernelCode {
  // Of its machine code, while the program runs (CodeReading).
  enum class Reading : uint8_t { kNotAsked, kAsked, kProven, kUnproven };

  std::string name;                           // As the driver has it.
  uint64_t module = 0;                        // A hash of the image that holds it; 0: not known.
  TrustVerdict verdict;                       // By files.
  mutable std::atomic<uint64_t> launches{0};  // Of their own, not in graphs.
  mutable std::atomic<Reading> reading{Reading::kNotAsked};

  // How far launches are trusted, whatever they are given; and those that are given this.
  Trust trust() const { return AtLeastRead(verdict.trust); }
  Trust TrustOf(uint64_t given) const { return AtLeastRead(verdict.Of(given)); }
  std::string why() const {
    return verdict.trust < trust() ? "read while the program runs" : verdict.why;
  }

 private:
  Trust AtLeastRead(Trust by_files) const {
    const bool read = reading.load(std::memory_order_relaxed) == Reading::kProven;
    return read ? std::max(by_files, Trust::kProven) : by_files;
  }
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
