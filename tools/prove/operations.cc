#include "tools/prove/operations.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <algorithm>

#include "tools/prove/guard_rules.h"
#include "tools/prove/memory.h"
#include "tools/prove/mixes.h"
#include "tools/prove/opcodes.h"
#include "tools/prove/stack.h"

namespace vramspan::prove {
namespace {

using Kind = SassOperand::Kind;

// At least as many registers as it writes.
unsigned MatrixWidth(const Effect& effect) {
  if (effect.opcode() == "DMMA") return 8;
  if (!absl::StrContains(effect.opcode(), "GMMA")) return 4;
  // 64x128x16: a warp group has 64 rows of 128.
  for (const std::string_view one : absl::StrSplit(effect.instruction().modifiers, '.')) {
    const std::vector<std::string_view> sides = absl::StrSplit(one, 'x');
    unsigned columns = 0;
    if (sides.size() != 3 || !absl::SimpleAtoi(sides[1], &columns)) continue;
    const unsigned most = effect.Has("F16") && !effect.Has("F32") ? columns / 4 : columns / 2;
    return std::clamp(most, 1u, 128u);
  }
  return 128;
}

// What is said to write no register: of these few only, a register may stand first.
bool WritesRegister(const SassInstruction& i) {
  const bool first = !i.operands.empty() && i.operands[0].kind == Kind::kRegister;
  return first && !i.operands[0].reg.zero && i.opcode != "BAR" && i.opcode != "NANOSLEEP" &&
         i.opcode != "R2P" && i.opcode != "UR2UP";
}

// CS2R R2, SRZ clears a pair.
bool IsPairOfNumbers(const Effect& effect) {
  return (effect.opcode() == "CS2R" || effect.opcode() == "CS2UR") && !effect.Has("32");
}

// S2UR UR12, SR_SWINHI: the upper half of the addresses by which shared or local memory is reached
// as all other is.
bool IsWindow(const SassInstruction& i) {
  const std::string_view from = i.operands.empty() ? "" : i.operands.back().text;
  return from == "SR_SWINHI" || from == "SR_LWINHI";
}

// Predicates that it sets stand before its sources.
void ForgetPredicates(const SassInstruction& i, State& state) {
  if (i.opcode == "R2P" || i.opcode == "UR2UP") return state.ForgetAll();
  bool destination = false;
  for (const SassOperand& operand : i.operands) {
    if (operand.kind == Kind::kPredicate) {
      const SassGuard guard = GuardOf(operand.text);
      if (guard > kOtherGuard) state.Forget(guard);
    } else if (operand.kind == Kind::kRegister && !destination) {
      destination = true;
    } else {
      return;
    }
  }
}

bool Apply(Effect& effect) {
  switch (DoesOf(effect.opcode())) {
    case Does::kNothing:
      return !WritesRegister(effect.instruction()) || effect.Doubt("unknown instruction");
    case Does::kMixes:
      Mix(effect);
      return true;
    case Does::kNumber:
      effect.To(IsPairOfNumbers(effect) ? 2 : 1,
                IsWindow(effect.instruction()) ? Origin::kWindow : Origin::kNumber);
      return true;
    case Does::kCodeAddress:
      effect.To(2, Origin::kModule);
      return true;
    case Does::kLoads:
      return LoadGlobal(effect);
    case Does::kStores:
      return StoreGlobal(effect);
    case Does::kAtomics:
      return UpdateGlobal(effect);
    case Does::kCopies:
      return CopyToShared(effect);
    case Does::kBulk:
      return CopyInBulk(effect);
    case Does::kTensor:
      return CopyByTensorMap(effect);
    case Does::kLoadsConstant:
      LoadConstant(effect);
      return true;
    case Does::kLoadsShared:
      LoadShared(effect);
      return true;
    case Does::kStoresShared:
      StoreShared(effect);
      return true;
    case Does::kLoadsLocal:
      LoadLocal(effect);
      return true;
    case Does::kStoresLocal:
      StoreLocal(effect);
      return true;
    case Does::kMatrix:
      effect.To(MatrixWidth(effect), Origin::kMemory);
      return true;
    case Does::kUnknown:
      break;
  }
  return effect.Doubt("unknown instruction");
}

}  // namespace

bool Operate(Effect& effect) {
  // It may be what is written.
  for (const SassOperand& operand : effect.instruction().operands) {
    if (operand.kind == SassOperand::Kind::kUnknown)
      return effect.Doubt("an operand that is not understood");
  }
  const GuardRule saved(effect.instruction(), effect.state().registers());
  if (!Apply(effect)) return false;
  ForgetPredicates(effect.instruction(), effect.state());
  saved.ApplyTo(&effect.state().registers());
  return true;
}

}  // namespace vramspan::prove
