#include "tools/prove/ways.h"

#include <absl/algorithm/container.h>
#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <array>

namespace vramspan::prove {
namespace {

constexpr std::string_view kNoLabel = "a label that is not here";

bool IsBranch(std::string_view opcode) {
  static constexpr std::array<std::string_view, 6> kAll = {"BRA", "JMP",  "BRX",
                                                           "JMX", "BRXU", "JMXU"};
  return absl::c_linear_search(kAll, opcode);
}

// A branch by a register goes to one of those that nvdisasm lists: "BRANCH_TARGETS .L_x_1,.L_x_2"
void Branch(const SassInstruction& i, const Blocks& blocks, Ways* ways) {
  constexpr std::string_view kList = "BRANCH_TARGETS";
  const size_t list = i.text.find(kList);
  if (list != std::string_view::npos) {
    std::string_view targets = i.text.substr(list + kList.size());
    targets = targets.substr(0, targets.find('"'));
    for (const std::string_view label : absl::StrSplit(targets, ',')) {
      const std::optional<size_t> to = blocks.Find(absl::StripAsciiWhitespace(label));
      if (!to) return void(ways->doubt = kNoLabel);
      ways->to.push_back(*to);
    }
  } else {
    const bool listed = i.opcode != "BRA" && i.opcode != "JMP";
    const std::optional<size_t> to = listed ? std::nullopt : blocks.Find(i.Label());
    if (!to) return void(ways->doubt = "it is not known where it goes");
    ways->to.push_back(*to);
  }
  // .DIV, .CONV and .ANY go there if the warp's threads are apart, or together, or as some say.
  ways->goes_on = i.Conditional() || !(i.modifiers.empty() || i.modifiers == ".U");
}

// Threads that meet at the barrier go on where BSSY said.
void Meet(const SassInstruction& i, const Blocks& blocks, size_t at, const State& state,
          Ways* ways) {
  const std::optional<size_t> barrier =
      i.operands.size() == 1 ? BarrierOf(i.operands[0]) : std::nullopt;
  if (barrier && state.GoOn(*barrier) != State::kAnywhere) {
    ways->to.push_back(state.GoOn(*barrier));
    ways->goes_on = i.guard != kNoGuard;
  } else {
    ways->to = blocks.MeetingPoints(at);
  }
}

// BMOV B6, R2 takes a barrier from a register. What ended threads do is kept by others.
void MoveBarrier(const SassInstruction& i, State* state, Ways* ways) {
  if (i.operands.empty()) return void(ways->doubt = "unknown instruction");
  if (const std::optional<size_t> barrier = BarrierOf(i.operands[0])) {
    state->SetGoOn(*barrier, State::kAnywhere);
  } else if (i.operands[0].kind != SassOperand::Kind::kRegister) {
    ways->doubt = "unknown instruction";
  }
}

}  // namespace

bool FindWays(const SassInstruction& i, const Blocks& blocks, size_t at, State* state, Ways* ways) {
  if (i.opcode == "EXIT" || i.opcode == "KILL" || i.opcode == "RTT" ||
      (i.opcode == "BPT" && i.Has("TRAP"))) {
    ways->goes_on = i.Conditional();
  } else if (IsBranch(i.opcode)) {
    Branch(i, blocks, ways);
  } else if (i.opcode == "BSYNC") {
    Meet(i, blocks, at, *state, ways);
  } else if (IsMeeting(i)) {
    const std::optional<size_t> to = blocks.Find(i.Label());
    if (!to || i.operands.empty()) return (ways->doubt = kNoLabel, true);
    // Under a guard it may be left as it was.
    const std::optional<size_t> barrier = BarrierOf(i.operands[0]);
    if (!barrier) return (ways->doubt = "unknown instruction", true);
    state->SetGoOn(*barrier, i.Conditional() ? State::kAnywhere : static_cast<uint32_t>(*to));
  } else if (i.opcode == "BMOV") {
    MoveBarrier(i, state, ways);
    // To a register: what is there is no address.
    if (ways->doubt.empty() && i.operands[0].kind == SassOperand::Kind::kRegister) {
      state->Set(i.operands[0].reg, i.guard, Origin::kNumber);
      if (const auto next = Further(i.operands[0].reg, 1)) {
        // BMOV.64 has a pair. It may be the stack pointer.
        if (i.Has("64")) state->Add(*next, Origin::kNumber);
        state->registers().MayBeANumber(*next);
      }
    }
  } else if (i.opcode == "WARPSYNC") {
    if (const std::optional<size_t> to = blocks.Find(i.Label())) ways->to.push_back(*to);
  } else {
    return false;
  }
  return true;
}

}  // namespace vramspan::prove
