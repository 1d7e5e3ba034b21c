#include "tools/prove/blocks.h"

#include <absl/algorithm/container.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/strip.h>

#include <array>

#include "tools/prove/state.h"

namespace vramspan::prove {
namespace {

// Behind which code may be reached that does not follow from before it.
bool Splits(std::string_view opcode) {
  static constexpr std::array<std::string_view, 12> kAll = {"BRA", "BRX",  "BRXU",     "JMP",
                                                            "JMX", "JMXU", "BSYNC",    "CALL",
                                                            "RET", "EXIT", "WARPSYNC", "BPT"};
  return absl::c_linear_search(kAll, opcode);
}

}  // namespace

std::optional<size_t> BarrierOf(const SassOperand& operand) {
  std::string_view text = operand.text;
  uint32_t number = 0;
  if (!absl::ConsumePrefix(&text, "B") || !absl::SimpleAtoi(text, &number) ||
      number >= State::kBarriers) {
    return std::nullopt;
  }
  return number;
}

bool IsMeeting(const SassInstruction& instruction) { return instruction.opcode == "BSSY"; }

Blocks::Blocks(const SassCode& code)
    : code_(code), head_(code.instructions.size()), labelled_(code.instructions.size()) {
  const size_t count = code.instructions.size();
  if (count > 0) head_[0] = true;
  for (const auto& [name, at] : code.labels) {
    if (at >= count) continue;
    head_[at] = labelled_[at] = true;
    if (absl::StartsWith(name, "$")) functions_.push_back(at);
  }
  absl::c_sort(functions_);
  functions_.erase(std::unique(functions_.begin(), functions_.end()), functions_.end());
  meeting_points_.resize(functions_.size() + 1);
  for (size_t k = 0; k < count; ++k) {
    const SassInstruction& i = code.instructions[k];
    const std::optional<size_t> to = IsMeeting(i) ? Find(i.Label()) : std::nullopt;
    if (to) meeting_points_[FunctionOf(k)].push_back(*to);
    if (Splits(i.opcode) && k + 1 < count) head_[k + 1] = true;
  }
  for (std::vector<size_t>& points : meeting_points_) {
    absl::c_sort(points);
    points.erase(std::unique(points.begin(), points.end()), points.end());
  }
}

size_t Blocks::FunctionOf(size_t at) const {
  return static_cast<size_t>(absl::c_upper_bound(functions_, at) - functions_.begin());
}

const std::vector<size_t>& Blocks::MeetingPoints(size_t at) const {
  return meeting_points_[FunctionOf(at)];
}

std::optional<size_t> Blocks::Find(std::string_view label) const {
  const auto found = code_.labels.find(label);
  if (label.empty() || found == code_.labels.end() || found->second >= code_.instructions.size()) {
    return std::nullopt;
  }
  return found->second;
}

}  // namespace vramspan::prove
