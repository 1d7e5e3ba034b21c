// What earlier runs have learned. What is read is what is written, with its own sum or with the
// right one behind it; and a run may begin with it.
#include <string>
#include <string_view>

#include "runtime/base/log.h"
#include "runtime/placement/learned_kernels.h"

namespace {

void Try(std::string_view text) {
  const auto learned = vramspan::ParseLearned(text);
  if (!learned.ok()) return;
  const std::string written = vramspan::LearnedText(*learned);
  VS_CHECK(written.size() <= vramspan::kMostLearnedText);
  const auto again = vramspan::ParseLearned(written);
  VS_CHECK(again.ok());
  VS_CHECK(vramspan::LearnedText(*again) == written);
  VS_CHECK(vramspan::ParseLearned(vramspan::LearnedText(again->After({}))).ok());
  vramspan::KernelHistory history{vramspan::Prices{}};
  for (uint64_t i = 0; i < again->kernels.size(); ++i) {
    const vramspan::LearnedKernel& k = again->kernels[i];
    history.Know(i, k.resident_ns, k.touched);
    for (const auto& a : k.arguments) {
      history.KnowArgument(i, a.price);
      history.For(i, a.price.slot, {vramspan::MiB(1), vramspan::MiB(64)});
    }
  }
  VS_CHECK(history.Facts().size() <= vramspan::KernelHistory::kMost);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Try(text);
  Try(text + vramspan::LearnedEnd(text));
  return 0;
}
