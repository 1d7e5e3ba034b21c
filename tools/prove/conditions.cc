#include "tools/prove/conditions.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tools/prove/effect.h"
#include "tools/prove/flow.h"
#include "tools/prove/known_words.h"
#include "tools/prove/word_rules.h"

namespace vramspan::prove {
namespace {

// Each is a way through all the code.
constexpr size_t kMostTries = 96;
// Ranges may be needed one behind the other.
constexpr size_t kMostRounds = 3;

// How many of the numbers that programs give most lie there: sizes, counts, kinds and flags.
uint32_t Usual(const ParameterRange& range) {
  constexpr uint32_t kUsual = 1 << 12;
  uint32_t count = 0;
  for (uint32_t number = 0; number < kUsual; ++number) count += range.Has(number) ? 1 : 0;
  return count;
}

bool LeavesOneOut(const ParameterRange& range) { return range.first - range.last == 2; }

// What may be assumed of them, what most launches do first.
std::vector<ParameterRange> Choices(const std::vector<ParameterRange>& tests) {
  std::vector<std::pair<std::pair<uint32_t, uint32_t>, ParameterRange>> ranked;
  for (const ParameterRange& test : tests) {
    for (const ParameterRange& range : {test, Outside(test)}) {
      ranked.push_back({{Usual(range), range.last - range.first}, range});
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& one, const auto& other) { return one.first > other.first; });
  std::vector<ParameterRange> choices;
  for (const auto& [rank, range] : ranked) choices.push_back(range);
  return choices;
}

class Search {
 public:
  Search(const SassText& text, const SassCode& code) : text_(text), code_(code) {}

  // Ranges of which one is enough, or one beside those that leave one value out each: by such a
  // value code takes the other way.
  ParameterCases Run() {
    ParameterRanges assumed;
    for (size_t round = 0; round < kMostRounds; ++round) {
      const Followed followed = Follow(text_, code_, &assumed);
      if (followed.doubt.empty()) return {Least(std::move(assumed))};
      const std::vector<ParameterRange> choices = Choices(followed.tests);
      ParameterCases cases = Enough(assumed, choices);
      if (!cases.empty()) return cases;
      const size_t before = assumed.size();
      for (const ParameterRange& choice : choices) {
        if (LeavesOneOut(choice) && !Decided(choice, assumed)) assumed.push_back(choice);
      }
      if (assumed.size() == before) break;
    }
    return {};
  }

 private:
  // Of those choices each that proves it beside what is assumed.
  ParameterCases Enough(const ParameterRanges& assumed,
                        const std::vector<ParameterRange>& choices) {
    ParameterCases cases;
    ParameterRanges enough;
    for (const ParameterRange& choice : choices) {
      // What lies in another range that is enough adds nothing.
      const bool added = std::any_of(
          enough.begin(), enough.end(),
          [&](const ParameterRange& wider) { return Decided(wider, {choice}) == true; });
      if (added || Decided(choice, assumed)) continue;
      ParameterRanges all = assumed;
      all.push_back(choice);
      if (!Proves(all)) continue;
      enough.push_back(choice);
      cases.push_back(Least(std::move(all)));
      if (cases.size() == kMostParameterCases) break;
    }
    return cases;
  }

  bool Proves(const ParameterRanges& assumed) {
    return tries_++ < kMostTries && Follow(text_, code_, &assumed).doubt.empty();
  }

  // Without those that are not needed.
  ParameterRanges Least(ParameterRanges assumed) {
    for (size_t k = assumed.size(); k-- > 0 && assumed.size() > 1;) {
      ParameterRanges fewer = assumed;
      fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(k));
      if (Proves(fewer)) assumed = std::move(fewer);
    }
    return assumed;
  }

  const SassText& text_;
  const SassCode& code_;
  size_t tries_ = 0;
};

// Whether the cubin has the kernel's parameters where they are taken for, with these words.
bool AreParameters(const SassText& text, const SassSection& section,
                   const ParameterRanges& ranges) {
  const auto known = text.parameters.find(section.name);
  if (known == text.parameters.end() || known->second.begin != MachineOf(text.version).parameters) {
    return false;
  }
  return std::all_of(ranges.begin(), ranges.end(), [&](const ParameterRange& range) {
    return uint64_t{range.at} + range.bytes <= known->second.bytes;
  });
}

}  // namespace

ParameterCases FindConditions(const SassText& text, const SassSection& section,
                              const SassCode& code) {
  ParameterCases cases = Search(text, code).Run();
  std::erase_if(cases, [&](const ParameterRanges& ranges) {
    return ranges.empty() || ranges.size() > kMostParameterRanges ||
           !AreParameters(text, section, ranges);
  });
  return cases;
}

}  // namespace vramspan::prove
