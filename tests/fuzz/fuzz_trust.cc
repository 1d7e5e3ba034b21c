// Trust files. Nothing is trusted further than a line of the file says, and what is wrong adds
// nothing.
#include <absl/strings/str_split.h>

#include <string>
#include <string_view>

#include "runtime/base/log.h"
#include "runtime/observe/trust_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vramspan::AuditedKernel, vramspan::Trust, vramspan::TrustList;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  TrustList list;
  const vramspan::Status added = list.Add("fuzz", text);
  if (!added.ok()) {
    VS_CHECK(list.size() == 0 && !added.message().empty());
    VS_CHECK(added.message().find('\n') == std::string_view::npos);
    return 0;
  }
  constexpr uint64_t kModule = 0x0123456789ABCDEF;
  for (std::string_view name : absl::StrSplit(text, '\n')) {
    // The words of a line, from each of them on, as names: of a kernel and of patterns.
    for (int word = 0; word < 6; ++word) {
      for (const uint64_t module : {uint64_t{0}, kModule}) {
        const auto verdict = list.Of(name, module);
        if (!verdict.has_value()) continue;
        VS_CHECK(verdict->why.find('\n') == std::string::npos);
        VS_CHECK(verdict->trust != Trust::kProven || module == kModule);
        VS_CHECK(!verdict->only_when ||
                 (verdict->trust == Trust::kUntried && !verdict->when.empty()));
        VS_CHECK(verdict->when.size() <= vramspan::Readings::kMostWhen);
        for (const auto& when : verdict->when) {
          VS_CHECK(module == kModule && !when.ranges.empty());
          VS_CHECK(vramspan::ParseParameterCases(vramspan::ParameterCasesText(when.ranges)) ==
                   when.ranges);
        }
        VS_CHECK(!verdict->read || (verdict->trust == Trust::kProven && !verdict->missed));
        for (const auto& g : verdict->given) {
          VS_CHECK(module == kModule && g.given != 0 && g.trust >= Trust::kProven);
          VS_CHECK(verdict->Of(g.given) >= g.trust);
        }
      }
      const size_t space = name.find(' ');
      if (space == std::string_view::npos) break;
      name.remove_prefix(space + 1);
    }
    if (name.empty() || name.size() > TrustList::kMostName || name.back() == '\r') continue;
    // What is written is read.
    const AuditedKernel missed{
        .launches = 9, .argument_sets = 4, .most_sectors = ~uint64_t{0}, .module = kModule};
    TrustList again;
    VS_CHECK(again.Add("fuzz", "vramspan-trust 1\n" + TrustLine(name, missed)).ok());
    VS_CHECK(again.Of(name, kModule)->trust == Trust::kUntried);
    VS_CHECK(again.Add("fuzz", "vramspan-trust 1\n" + vramspan::ReadLine(1, name)).ok());
    VS_CHECK(again.Of(name, 1)->read);
    const vramspan::ParameterCases when = {{{0x1c, 4, 2}}};
    VS_CHECK(again.Add("fuzz", "vramspan-trust 1\n" + vramspan::ReadLine(2, name, when)).ok());
    VS_CHECK(again.Of(name, 2)->when.size() == 1);
    VS_CHECK(!again.Of(name, kModule)->read && again.Of(name, 2)->trust == Trust::kUntried);
  }
  return 0;
}
