#include "tools/prove/image_state.h"

#include <absl/container/flat_hash_map.h>

#include <utility>

namespace vramspan::prove {

size_t ImageVerdict::proven() const {
  size_t proven = 0;
  for (const auto& [name, verdict] : kernels) {
    proven += verdict.proven && verdict.when.empty() ? 1 : 0;
  }
  return proven;
}

size_t ImageVerdict::on_condition() const {
  size_t proven = 0;
  for (const auto& [name, verdict] : kernels) {
    proven += verdict.proven && !verdict.when.empty() ? 1 : 0;
  }
  return proven;
}

void ImageState::AddProven(const std::string& kernel, const ParameterCases& when) {
  const auto [known, added] = verdict_.kernels.try_emplace(kernel);
  prove::Verdict& verdict = known->second;
  if (added) verdict.proven = true;
  if (!verdict.proven) return;
  if (std::optional<ParameterCases> both = BothHold(when, verdict.when)) {
    verdict.when = *std::move(both);
  } else {
    verdict = {false, "it depends on too much of its parameters", ""};
  }
}

void ImageState::AddDoubt(const std::string& gpu, const std::string& kernel, std::string_view why) {
  const auto [known, added] = verdict_.kernels.try_emplace(kernel);
  prove::Verdict& verdict = known->second;
  // The same, whichever is read first.
  if (added || verdict.proven || gpu < verdict.gpu) {
    verdict = {.proven = false, .why = std::string(why), .gpu = gpu};
  }
}

void ImageState::AddRead(const std::string& gpu, const std::vector<std::string>& kernels,
                         const std::vector<KernelReading>& readings) {
  absl::flat_hash_map<std::string_view, std::vector<const KernelReading*>> by_name;
  for (const KernelReading& reading : readings) by_name[reading.name].push_back(&reading);
  for (const std::string& kernel : kernels) {
    const auto read = by_name.find(kernel);
    if (read == by_name.end()) {
      AddDoubt(gpu, kernel, "nvdisasm does not show it");
      continue;
    }
    for (const KernelReading* const reading : read->second) {
      if (reading->proven) {
        AddProven(kernel, reading->when);
      } else {
        AddDoubt(gpu, kernel, reading->why);
      }
    }
  }
}

void ImageState::AddUnread(const std::string& gpu, const std::vector<std::string>& kernels,
                           std::string_view why) {
  for (const std::string& kernel : kernels) AddDoubt(gpu, kernel, why);
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
