#include "tools/prove/image_state.h"

#include <absl/container/flat_hash_map.h>

#include <utility>

namespace vramspan::prove {

size_t ImageVerdict::proven() const {
  size_t proven = 0;
  for (const auto& [name, verdict] : kernels) proven += verdict.proven ? 1 : 0;
  return proven;
}

void ImageState::Add(const std::string& gpu, const std::string& kernel, bool proven,
                     std::string_view why) {
  const auto [known, added] = verdict_.kernels.try_emplace(kernel);
  prove::Verdict& verdict = known->second;
  if (added || (verdict.proven && !proven)) {
    verdict = {proven, proven ? "" : std::string(why), proven ? "" : gpu};
  } else if (!proven && gpu < verdict.gpu) {
    // The same, whichever is read first.
    verdict.why = why;
    verdict.gpu = gpu;
  }
}

void ImageState::AddRead(const std::string& gpu, const std::vector<std::string>& kernels,
                         const std::vector<KernelReading>& readings) {
  absl::flat_hash_map<std::string_view, const KernelReading*> by_name;
  for (const KernelReading& reading : readings) {
    const KernelReading*& known = by_name[reading.name];
    if (known == nullptr || known->proven) known = &reading;
  }
  for (const std::string& kernel : kernels) {
    const auto reading = by_name.find(kernel);
    if (reading == by_name.end()) {
      Add(gpu, kernel, false, "nvdisasm does not show it");
    } else {
      Add(gpu, kernel, reading->second->proven, reading->second->why);
    }
  }
}

void ImageState::AddUnread(const std::string& gpu, const std::vector<std::string>& kernels,
                           std::string_view why) {
  for (const std::string& kernel : kernels) Add(gpu, kernel, false, why);
}

void ImageState::AddPtx(const std::vector<std::string>& kernels) {
  ptx_.insert(ptx_.end(), kernels.begin(), kernels.end());
}

void ImageState::Fail(std::string_view why) {
  if (verdict_.why.empty() || why < verdict_.why) verdict_.why = why;
}

ImageVerdict ImageState::Verdict() && {
  for (const std::string& kernel : ptx_) {
    verdict_.kernels.try_emplace(kernel, prove::Verdict{false, "there is PTX of it alone", ""});
  }
  if (!verdict_.why.empty()) {
    for (auto& [name, verdict] : verdict_.kernels) {
      if (verdict.proven) verdict = {false, verdict_.why, ""};
    }
  }
  return std::move(verdict_);
}

}  // namespace vramspan::prove
