#include "runtime/observe/kernel_codes.h"

#include <absl/strings/str_cat.h>

#include <string_view>
#include <utility>

#include "runtime/observe/module_images.h"

namespace vramspan {

std::string KernelCode::why() const {
  if (verdict.trust < trust()) return "read while the program runs";
  if (reading.load(std::memory_order_acquire) != Reading::kProvenWhen) return verdict.why;
  return absl::StrCat("read while the program runs, it takes no address from memory when ",
                      ParameterCasesInWords(read_when_), "; else ", verdict.why);
}

const KernelCode& KernelCodes::Learn(const void* kernel) {
  uint64_t drops = 0;
  {
    MutexLock lock(mu_);
    drops = drops_;
  }
  std::string name = KernelName(driver_, kernel);
  const uint64_t module = ModuleImages::Get().HashOf(driver_, kernel);
  MutexLock lock(mu_);
  const KernelCode* code = &others_;
  const auto known = codes_.find(std::pair(name, module));
  if (known != codes_.end()) {
    code = known->second.get();
  } else if (codes_.size() < kMost) {
    auto made = std::make_unique<KernelCode>();
    made->module = module;
    made->verdict = VerdictOf(name, made->module);
    made->name = name;
    code = codes_.emplace(std::pair(std::move(name), module), std::move(made)).first->second.get();
  }
  // Else the handle may be another's by now.
  if (kernel != nullptr && drops == drops_) {
    table_.Put(reinterpret_cast<uintptr_t>(kernel), {reinterpret_cast<uintptr_t>(code)});
  }
  return *code;
}

TrustVerdict KernelCodes::VerdictOf(std::string_view name, uint64_t module) const {
  return OfUserThenBuiltIn(trust_.Of(name, module), BuiltInTrust().Of(name, module));
}

bool KernelCodes::AnyStaysInArrays() const {
  static const bool built_in = BuiltInTrustText().find("\narrays ") != std::string_view::npos;
  return built_in || trust_.arrays();
}

void KernelCodes::Drop() {
  MutexLock lock(mu_);
  ++drops_;
  table_.Clear();
}

void KernelCodes::ForEach(absl::FunctionRef<void(const KernelCode&)> visit) {
  MutexLock lock(mu_);
  for (const auto& [key, code] : codes_) visit(*code);
  visit(others_);
}

}  // namespace vramspan
