#include "runtime/observe/kept_parameters.h"

#include <absl/types/span.h>

#include <algorithm>
#include <atomic>

namespace vramspan {
namespace {

std::atomic<size_t> bytes_of_all{0};

size_t SizeOf(size_t block) { return sizeof(KeptParameters) + block; }

}  // namespace

std::shared_ptr<const KeptParameters> KeptParameters::Of(const Parameters& parameters) {
  std::vector<char> block;
  const absl::Span<const char> bytes = parameters.Block(&block);
  // What is missing is 0 in the block, and that may be what is asked for.
  if (bytes.empty() || bytes.size() > kMost || !parameters.Equal(bytes)) return nullptr;
  const size_t size = SizeOf(bytes.size());
  if (bytes_of_all.fetch_add(size, std::memory_order_relaxed) + size > kMostOfAll) {
    bytes_of_all.fetch_sub(size, std::memory_order_relaxed);
    return nullptr;
  }
  return std::shared_ptr<const KeptParameters>(
      new KeptParameters(parameters.layout, {bytes.begin(), bytes.end()}));
}

KeptParameters::~KeptParameters() {
  bytes_of_all.fetch_sub(SizeOf(block_.size()), std::memory_order_relaxed);
}

bool KeptParameters::Hold(const ParameterCases& cases) const {
  const Parameters block{.buffer = block_};
  return AnyHolds(cases, [&](const ParameterRange& range) {
    // The block has 0 where no parameter lies.
    const bool within =
        layout_ == nullptr || layout_->ParameterWith(range.at, range.bytes).has_value();
    return within && block.Has(range);
  });
}

size_t KeptParameters::bytes() { return bytes_of_all.load(std::memory_order_relaxed); }

}  // namespace vramspan
