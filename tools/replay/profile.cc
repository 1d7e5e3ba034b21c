#include "tools/replay/profile.h"

#include <absl/algorithm/container.h>
#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "runtime/base/small_file.h"
#include "runtime/placement/policy.h"
#include "tools/replay/explain.h"
#include "tools/replay/program_name.h"

namespace vramspan::replay {
namespace {

constexpr std::string_view kTitle = "vramspan-profile ";
constexpr std::string_view kVersion = "2";
constexpr std::string_view kWithoutPins = "1";
constexpr size_t kLongestValue = 1000;
constexpr double kMostMs = 1e12;
constexpr double kMostPasses = 1e6;

constexpr size_t kLongestKernelName = 900;  // Escaped, and with figures before it.

// An escape takes up to four characters.
std::string Value(std::string_view text) {
  return absl::CEscape(text.substr(0, kLongestValue / 5));
}

// Which program it is may stand behind a long path or two.
std::string ProgramValue(std::string_view text) {
  std::string value;
  for (const char c : text) {
    const std::string escaped = absl::CEscape(std::string_view(&c, 1));
    if (value.size() + escaped.size() > kLongestValue) break;
    value += escaped;
  }
  return value;
}

// Takes the lines one after another and keeps the first thing that is wrong.
class Lines {
 public:
  explicit Lines(std::string_view text) : lines_(absl::StrSplit(text, '\n')) {}

  std::string_view Title() { return lines_[next_++]; }
  // The value of the next line, which must have this key.
  std::string_view Next(std::string_view key) {
    std::string_view line = next_ < lines_.size() ? lines_[next_] : std::string_view();
    ++next_;
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != '=') {
      Wrong(absl::StrCat("should begin with '", key, "='"));
      return {};
    }
    line.remove_prefix(key.size() + 1);
    if (line.size() > kLongestValue) Wrong("is too long");
    return line;
  }
  std::string Text(std::string_view key) { return Unescaped(Next(key)); }
  std::string Unescaped(std::string_view value) {
    std::string text;
    if (value.empty()) return text;  // abseil would reckon with a pointer to none.
    if (!absl::CUnescape(value.substr(0, kLongestValue), &text)) Wrong("has a bad escape");
    return text;
  }
  double Number(std::string_view value, double most) {
    double number = 0;
    // Not "inf", "nan" or hexadecimal, which SimpleAtod takes.
    const bool plain = value.find_first_not_of("0123456789.") == std::string_view::npos;
    if (!plain || !absl::SimpleAtod(value, &number) || !(number >= 0 && number <= most)) {
      Wrong(absl::StrCat("should be a number up to ", most));
      return 0;
    }
    return number;
  }
  bool NextIs(std::string_view key) const {
    return next_ < lines_.size() && lines_[next_].starts_with(absl::StrCat(key, "="));
  }
  // Behind the last line nothing but its own end.
  bool AtEnd() const { return next_ + 1 >= lines_.size(); }
  void End() {
    if (next_ + 1 != lines_.size() || !lines_.back().empty()) Wrong("should be the end");
  }

  void Wrong(std::string_view what) {
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(absl::StrCat("line ", next_, " ", what));
    }
  }
  const Status& status() const { return status_; }

 private:
  const std::vector<std::string_view> lines_;
  size_t next_ = 0;
  Status status_;
};

std::string ChunkText(int log2) {
  return log2 == 0 ? "auto" : absl::StrCat(ChunkBytes(log2).value >> 20, "MiB");
}

std::optional<int> ParseChunk(std::string_view text) {
  for (int log2 = kMinChunkLog2; log2 <= kMaxChunkLog2; ++log2) {
    if (text == ChunkText(log2)) return log2;
  }
  return text == ChunkText(0) ? std::optional<int>(0) : std::nullopt;
}

ProfileKernel ParseKernel(std::string_view value, Lines* lines) {
  const std::vector<std::string_view> words = absl::StrSplit(value, absl::MaxSplits(' ', 3));
  ProfileKernel kernel;
  if (words.size() != 4) {
    lines->Wrong("should be kernel=PASSES RESIDENT_US SHAPE NAME");
    return kernel;
  }
  kernel.passes = lines->Number(words[0], kMostPasses);
  kernel.resident_us = lines->Number(words[1], kMostMs);
  const bool hex = words[2].size() == 16 &&
                   words[2].find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!hex || !absl::SimpleHexAtoi(words[2], &kernel.shape)) {
    lines->Wrong("should have a shape of 16 hexadecimal digits");
  }
  kernel.name = lines->Unescaped(words[3]);
  return kernel;
}

void ParsePin(Profile* profile, Lines* lines) {
  const std::string_view value = lines->Next("keep");
  const std::pair<std::string_view, std::string_view> parts =
      absl::StrSplit(value, absl::MaxSplits(' ', 1));
  const Status status = AddPin(parts.first, parts.second, &profile->pins);
  if (!status.ok()) {
    lines->Wrong(status.message());
    return;
  }
  Bytes all;
  for (const Pin& pin : profile->pins) all += pin.charged();
  if (profile->device_memory != Bytes(0) && all > KeptShare(profile->device_memory)) {
    lines->Wrong(absl::StrCat("would keep ", all.value, " bytes on the device in all, which is ",
                              "more than half of device_memory"));
  }
}

}  // namespace

std::string ProfileText(const Profile& profile) {
  std::string text = absl::StrFormat(
      "%s%s\nprogram=%s\ndevice=%s\ndevice_uuid=%s\ndevice_memory=%d\npolicy=%s\nchunk=%s\n"
      "overlap=%s\npredicted_ms=%.3f\ndefault_ms=%.3f\nresident_ms=%.3f\n",
      kTitle, kVersion, ProgramValue(profile.program), Value(profile.device),
      Value(profile.device_uuid), profile.device_memory.value, profile.policy,
      ChunkText(profile.chunk_log2), OverlapName(profile.overlap), profile.predicted_ms,
      profile.default_ms, profile.resident_ms);
  const size_t pins = std::min(profile.pins.size(), kMostPins);
  for (size_t i = 0; i < pins; ++i) {
    absl::StrAppend(&text, "keep=", profile.pins[i].size.value, " ", profile.pins[i].nth, "\n");
  }
  size_t kernels = 0;
  for (const ProfileKernel& k : profile.kernels) {
    // Half a name would stand for other kernels as well.
    const std::string name = absl::CEscape(k.name);
    if (name.size() > kLongestKernelName) continue;
    if (++kernels > kMostProfileKernels) break;
    absl::StrAppendFormat(&text, "kernel=%.3f %.3f %016x %s\n", std::min(k.passes, kMostPasses),
                          k.resident_us, k.shape, name);
  }
  return text;
}

StatusOr<Profile> ParseProfile(std::string_view text) {
  if (text.size() > kMostProfileText) {
    return absl::InvalidArgumentError(absl::StrCat("the file is longer than ", kMostProfileText,
                                                   " bytes, so it is not a profile"));
  }
  Lines lines(text);
  const std::string_view title = lines.Title();
  if (!title.starts_with(kTitle)) {
    return absl::InvalidArgumentError("the file is not a profile; write one with `vramspan tune`");
  }
  const std::string_view version = title.substr(kTitle.size());
  if (version != kVersion && version != kWithoutPins) {
    return absl::FailedPreconditionError(
        absl::StrCat("line 1 says '", absl::CEscape(title.substr(0, 40)),
                     "', which this vramspan does not read; tune again"));
  }
  Profile profile;
  profile.program = lines.Text("program");
  profile.device = lines.Text("device");
  profile.device_uuid = lines.Text("device_uuid");
  if (!absl::SimpleAtoi(lines.Next("device_memory"), &profile.device_memory.value)) {
    lines.Wrong("should be a number of bytes");
  }
  profile.policy = std::string(lines.Next("policy"));
  if (!absl::c_linear_search(PolicyNames(), profile.policy)) lines.Wrong("names no policy");
  const std::optional<int> chunk = ParseChunk(lines.Next("chunk"));
  if (!chunk.has_value()) lines.Wrong("should be auto or a size from 2MiB to 64MiB");
  profile.chunk_log2 = chunk.value_or(0);
  const std::optional<ReplayOverlap> overlap = ReplayOverlapOf(lines.Next("overlap"));
  if (!overlap.has_value()) lines.Wrong("should be auto, off, proven, safe, all or declared");
  profile.overlap = overlap.value_or(ReplayOverlap::kOff);
  profile.predicted_ms = lines.Number(lines.Next("predicted_ms"), kMostMs);
  profile.default_ms = lines.Number(lines.Next("default_ms"), kMostMs);
  profile.resident_ms = lines.Number(lines.Next("resident_ms"), kMostMs);
  while (version == kVersion && lines.status().ok() && lines.NextIs("keep")) {
    ParsePin(&profile, &lines);
  }
  while (lines.status().ok() && !lines.AtEnd()) {
    if (profile.kernels.size() == kMostProfileKernels) lines.Wrong("is one kernel too many");
    profile.kernels.push_back(ParseKernel(lines.Next("kernel"), &lines));
  }
  lines.End();
  VS_RETURN_IF_ERROR(lines.status());
  return profile;
}

StatusOr<Profile> ReadProfile(const std::string& path) {
  VS_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMostProfileText));
  StatusOr<Profile> profile = ParseProfile(text);
  if (profile.ok()) return profile;
  return Status(profile.status().code(), absl::StrCat(path, ": ", profile.status().message()));
}

Status CheckProfile(const Profile& profile, std::string_view program,
                    std::string_view device_uuid) {
  const ProgramName mine = NameOfProgram(profile.program), yours = NameOfProgram(program);
  if (!profile.program.empty() && !program.empty() && !SameProgram(mine, yours)) {
    return absl::FailedPreconditionError(absl::StrCat("the profile is for '", mine.text(),
                                                      "', not for '", yours.text(),
                                                      "'; record and tune that program"));
  }
  if (!profile.device_uuid.empty() && !device_uuid.empty() && profile.device_uuid != device_uuid) {
    return absl::FailedPreconditionError(
        absl::StrCat("the profile is for the device ", profile.device_uuid, " (", profile.device,
                     "), not for ", device_uuid, "; tune again for it (--prices)"));
  }
  return absl::OkStatus();
}

}  // namespace vramspan::replay
