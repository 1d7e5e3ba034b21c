#include "runtime/observe/trust_list.h"

#include <absl/container/flat_hash_set.h>
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <absl/types/span.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"

namespace vramspan {
namespace {

constexpr std::string_view kFirstLine = "vramspan-trust 1";

// A star stands for any text. Each is matched as early as it can be, so time is their product at
// most.
bool Matches(std::string_view glob, std::string_view name) {
  size_t g = 0, n = 0, star = std::string_view::npos, after = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      after = n;
    } else if (g < glob.size() && glob[g] == name[n]) {
      ++g;
      ++n;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      n = ++after;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

// The text up to the next space, which is taken away.
std::string_view TakeWord(std::string_view* text) {
  const size_t end = std::min(text->find(' '), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return word;
}

bool TakeNumber(std::string_view* text, uint64_t* number) {
  const std::string_view word = TakeWord(text);
  return !word.empty() && std::all_of(word.begin(), word.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(word, number);
}

bool TakeHash(std::string_view* text, uint64_t* hash) {
  const std::string_view word = TakeWord(text);
  return word.size() == 16 && absl::SimpleHexAtoi(word, hash) && *hash != 0;
}

bool TakeModule(std::string_view* text, uint64_t* module) {
  if (*text != "-" && !absl::StartsWith(*text, "- ")) return TakeHash(text, module);
  TakeWord(text);
  *module = 0;
  return true;
}

std::string InWords(absl::Span<const TrustVerdict::When> when) {
  std::string text;
  for (const TrustVerdict::When& proof : when) {
    absl::StrAppend(&text,
                    text.empty() ? "read, it takes no address from memory when " : "; or when ",
                    ParameterCasesInWords(proof.ranges), ": ", proof.source);
  }
  return text;
}

Status Wrong(std::string_view why) { return absl::InvalidArgumentError(why); }

}  // namespace

struct TrustList::File {
  std::vector<Pattern> patterns;
  std::vector<std::pair<std::string, Audited>> audited;
  Readings readings;
  std::vector<std::string> sources;
  uint32_t first = 0;  // Of the sources: what the list has.

  uint32_t source() const { return first + static_cast<uint32_t>(sources.size()) - 1; }
};

Status TrustList::ParseAudited(std::string_view line, bool given, File* file, Audited a) {
  if (!TakeNumber(&line, &a.kernel.launches) || !TakeNumber(&line, &a.kernel.argument_sets) ||
      !TakeNumber(&line, &a.kernel.most_sectors)) {
    return Wrong("launches, sets of arguments and sectors are three numbers");
  }
  if (given && !TakeHash(&line, &a.kernel.given)) {
    return Wrong("what launches are given is 16 hexadecimal digits, not all 0");
  }
  if (!TakeModule(&line, &a.kernel.module)) {
    return Wrong("a module is 16 hexadecimal digits, not all 0, or -");
  }
  if (line.empty() || line.size() > kMostName) return Wrong("a name has 1 to 4,096 bytes");
  file->audited.push_back({std::string(line), a});
  return absl::OkStatus();
}

Status TrustList::ParseReading(std::string_view kind, std::string_view line, File* file) {
  std::optional<ParameterCases> when;
  if (kind == "read-when") {
    when = ParseParameterCases(TakeWord(&line));
    if (!when.has_value()) {
      return Wrong(
          "a condition is AT:FIRST-LAST in hexadecimal digits, or some with , and / between");
    }
  }
  uint64_t module = 0;
  if (!TakeHash(&line, &module)) return Wrong("a module is 16 hexadecimal digits, not all 0");
  if (kind == "image") {
    uint64_t count = 0;
    if (!TakeNumber(&line, &count) || !line.empty()) return Wrong("kernels are one number");
    file->readings.AddImage(module, count, file->source());
    return absl::OkStatus();
  }
  if (line.empty() || line.size() > kMostName) return Wrong("a name has 1 to 4,096 bytes");
  if (kind == "read") {
    file->readings.Add(module, line, file->source());
  } else if (when.has_value()) {
    file->readings.AddWhen(*when, module, line, file->source());
  } else {
    file->readings.AddUnread(module, line);
  }
  return absl::OkStatus();
}

Status TrustList::ParseLine(std::string_view line, File* file) {
  std::string_view kind = TakeWord(&line);
  const bool given = absl::ConsumePrefix(&kind, "given-");
  if (kind == "kernel" || kind == "arrays") {
    return ParseAudited(line, given, file,
                        {.kernel = {.arrays = kind == "arrays"}, .source = file->source()});
  }
  if (given) return Wrong("given-kernel and given-arrays are all that is given");
  if (kind == "read" || kind == "read-when" || kind == "image" || kind == "unread") {
    return ParseReading(kind, line, file);
  }
  if (line.empty() || line.size() > kMostName) return Wrong("a text of 1 to 4,096 bytes follows");
  if (kind == "of") {
    file->sources.push_back(CleanText(line));
  } else if (kind == "name" || kind == "not") {
    file->patterns.push_back({std::string(line), file->source(), kind == "name"});
  } else {
    return Wrong(
        "a line begins with of, name, not, kernel, arrays, read, read-when, image or unread");
  }
  return absl::OkStatus();
}

Status TrustList::Add(std::string_view source, std::string_view text) {
  const auto wrong = [&](size_t line, std::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(CleanText(source), line == 0 ? "" : absl::StrCat(", line ", line), ": ", why));
  };
  if (text.size() > kMostText) return wrong(0, "a trust file has 16 MiB at most");
  File file{.first = static_cast<uint32_t>(sources_.size())};
  size_t number = 0;
  for (std::string_view line : absl::StrSplit(text, '\n')) {
    if (++number > kMostLines) return wrong(number, "a trust file has 131,072 lines at most");
    absl::ConsumeSuffix(&line, "\r");
    if (line == kFirstLine) {
      file.sources.push_back(CleanText(source));
      continue;
    }
    if (number == 1) return wrong(1, "a trust file begins with 'vramspan-trust 1'");
    if (line.empty() || line[0] == '#') continue;
    const Status status = ParseLine(line, &file);
    if (!status.ok()) return wrong(number, status.message());
  }
  std::move(file.sources.begin(), file.sources.end(), std::back_inserter(sources_));
  std::move(file.patterns.begin(), file.patterns.end(), std::back_inserter(patterns_));
  for (auto& [name, audited] : file.audited) {
    audited_[name].push_back(audited);
    arrays_ |= audited.kernel.arrays;
  }
  readings_.Add(file.readings);
  return absl::OkStatus();
}

bool TrustList::Proves(const AuditedKernel& kernel) {
  return kernel.module != 0 && kernel.launches >= kProvenLaunches &&
         (kernel.given != 0 || kernel.argument_sets >= kProvenSets) && kernel.most_sectors < kNoise;
}

uint64_t TrustList::proven() const {
  uint64_t proven = readings_.proven();
  for (const auto& [name, audited] : audited_) {
    absl::flat_hash_set<uint64_t> modules;
    for (const Audited& a : audited) {
      if (a.kernel.given == 0 && Proves(a.kernel)) modules.insert(a.kernel.module);
    }
    for (const uint64_t module : modules) {
      proven += readings_.ProofOf(module, name).has_value() ? 0 : 1;
    }
  }
  return proven;
}

TrustList::Evidence TrustList::EvidenceOf(std::string_view name, uint64_t module) const {
  Evidence e;
  e.read = readings_.ProofOf(module, name);
  e.when = readings_.ProofsWhen(module, name);
  const auto known = audited_.find(name);
  if (known == audited_.end()) return e;
  for (const Audited& a : known->second) {
    const bool same = a.kernel.module != 0 && a.kernel.module == module;
    // What shows that code stays in arrays shows all the more that it stays in allocations.
    if (a.kernel.arrays && a.kernel.most_sectors >= kNoise) {
      e.beyond_arrays = true;
    } else if (a.kernel.most_sectors >= kNoise) {
      e.missed = &a;
      e.missed_here |= same;
    } else {
      e.clean = &a;
      if (!same || !Proves(a.kernel)) continue;
      if (a.kernel.given != 0) {
        e.given.push_back({a.kernel.given, a.kernel.arrays ? Trust::kArrays : Trust::kProven});
        continue;
      }
      e.in_arrays |= a.kernel.arrays;
      e.proof = &a;
    }
  }
  for (TrustVerdict::Given& g : e.given) {
    if (e.beyond_arrays) g.trust = Trust::kProven;
  }
  if (e.missed_here) e.given.clear();
  return e;
}

std::optional<TrustVerdict> TrustList::Of(std::string_view name, uint64_t module) const {
  Evidence evidence = EvidenceOf(name, module);
  std::optional<TrustVerdict> verdict = Judge(name, evidence);
  if (!evidence.when.empty()) {
    if (!verdict.has_value()) verdict = TrustVerdict{.only_when = true};
    for (ReadWhen& proof : evidence.when) {
      verdict->when.push_back({std::move(proof.ranges), sources_[proof.source]});
    }
    if (verdict->only_when) verdict->why = InWords(verdict->when);
  }
  if (!verdict.has_value() || evidence.given.empty()) return verdict;
  verdict->given = std::move(evidence.given);
  const size_t kinds = verdict->given.size();
  absl::StrAppend(&verdict->why, "; of its launches ", kinds,
                  kinds == 1 ? " kind is" : " kinds are", " proven");
  return verdict;
}

std::optional<TrustVerdict> TrustList::Judge(std::string_view name, const Evidence& e) const {
  if (e.proof != nullptr && !e.missed_here) {
    return TrustVerdict{e.in_arrays && !e.beyond_arrays ? Trust::kArrays : Trust::kProven,
                        absl::StrCat("audited, ", e.proof->kernel.launches, " launches of ",
                                     e.proof->kernel.argument_sets,
                                     " sets of arguments: ", sources_[e.proof->source])};
  }
  // What was seen counts before what was read, and that before what was seen of other code.
  if (e.read.has_value() && !e.missed_here) {
    return TrustVerdict{
        .trust = Trust::kProven,
        .why = absl::StrCat("read, it takes no address from memory: ", sources_[*e.read]),
        .read = true};
  }
  const Pattern *plausible = nullptr, *excepts = nullptr;
  for (const Pattern& p : patterns_) {
    const Pattern*& last = p.trusts ? plausible : excepts;
    if ((p.trusts || excepts == nullptr) && Matches(p.glob, name)) last = &p;
  }
  // Other code of the same name says something as well: it is built from much the same source.
  if (e.missed != nullptr) {
    return TrustVerdict{.trust = Trust::kUntried,
                        .why = absl::StrCat("an audit saw it take ", e.missed->kernel.most_sectors,
                                            " sectors of memory that was not inferred: ",
                                            sources_[e.missed->source]),
                        .missed = e.missed_here,
                        // An exception is against it as well.
                        .namesake_missed = !e.missed_here && excepts == nullptr,
                        .excepted = excepts != nullptr};
  }
  if (excepts != nullptr) {
    return TrustVerdict{.trust = Trust::kUntried,
                        .why = absl::StrCat("excepted: ", sources_[excepts->source]),
                        .excepted = true};
  }
  if (e.clean != nullptr) {
    return TrustVerdict{Trust::kPlausible,
                        absl::StrCat("its name was audited: ", sources_[e.clean->source])};
  }
  if (plausible != nullptr) {
    return TrustVerdict{Trust::kPlausible,
                        absl::StrCat("its name is known: ", sources_[plausible->source])};
  }
  return std::nullopt;
}

TrustVerdict FirstThenSecond(std::optional<TrustVerdict> first,
                             std::optional<TrustVerdict> second) {
  if (first.has_value() && first->only_when) first.reset();
  if (second.has_value() && second->only_when) second.reset();
  if (!first.has_value() && !second.has_value()) {
    return {Trust::kUntried, "no trust file knows it"};
  }
  if (!second.has_value()) return *std::move(first);
  if (!first.has_value()) return *std::move(second);
  // The first has seen too little of the code where it is plausible, and nothing where it was read.
  // That says nothing against it. Nor does other code of its name, where the second has read it.
  if (first->trust != Trust::kPlausible && !first->read &&
      !(first->namesake_missed && second->read)) {
    return *std::move(first);
  }
  // A name says less than what was seen of this very code. What launches were given says more.
  if (!second->missed && second->trust <= first->trust) return *std::move(first);
  second->given.insert(second->given.end(), first->given.begin(), first->given.end());
  return *std::move(second);
}

namespace {

// The conditions that count, where `all` is what both say of all launches.
std::vector<TrustVerdict::When> WhenOf(const std::optional<TrustVerdict>& user,
                                       const std::optional<TrustVerdict>& built_in,
                                       const TrustVerdict& all) {
  std::vector<TrustVerdict::When> when;
  // What was read to hold always, and was seen not to, is no ground for less.
  if (all.trust >= Trust::kProven || all.user_missed || (user.has_value() && user->read)) return {};
  if (user.has_value()) when = user->when;
  if (!built_in.has_value() || all.excepted) return when;
  for (const TrustVerdict::When& proof : built_in->when) {
    const bool again = std::any_of(when.begin(), when.end(),
                                   [&](const auto& w) { return w.ranges == proof.ranges; });
    if (!again && when.size() < Readings::kMostWhen) when.push_back(proof);
  }
  return when;
}

}  // namespace

TrustVerdict OfUserThenBuiltIn(const std::optional<TrustVerdict>& user,
                               const std::optional<TrustVerdict>& built_in) {
  TrustVerdict verdict = FirstThenSecond(user, built_in);
  verdict.missed |=
      (user.has_value() && user->missed) || (built_in.has_value() && built_in->missed);
  verdict.user_missed = user.has_value() && user->missed;
  verdict.excepted = user.has_value() && user->excepted;
  verdict.when = WhenOf(user, built_in, verdict);
  if (verdict.when.empty()) return verdict;
  const bool known =
      (user.has_value() && !user->only_when) || (built_in.has_value() && !built_in->only_when);
  verdict.why = absl::StrCat(InWords(verdict.when), known ? "; else " : "",
                             known ? std::string_view(verdict.why) : "");
  return verdict;
}

const TrustList& BuiltInTrust() {
  static const TrustList* const list = [] {
    auto* const made = new TrustList;
    const std::string_view text = BuiltInTrustText();
    const Status added = text.empty() ? absl::OkStatus() : made->Add("built in", text);
    if (!added.ok()) Log(LogLevel::kError, added.message());
    return made;
  }();
  return *list;
}

std::string TrustLine(std::string_view name, const AuditedKernel& kernel) {
  const bool given = kernel.given != 0;
  return absl::StrFormat("%s%s %d %d %d %s%s %s\n", given ? "given-" : "",
                         kernel.arrays ? "arrays" : "kernel", kernel.launches, kernel.argument_sets,
                         kernel.most_sectors, given ? absl::StrFormat("%016x ", kernel.given) : "",
                         kernel.module == 0 ? "-" : absl::StrFormat("%016x", kernel.module), name);
}

}  // namespace vramspan
