#include "tools/prove/mixes.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <optional>

namespace vramspan::prove {
namespace {

using Kind = SassOperand::Kind;

bool IsNumberFrom(const Effect& effect, size_t source, uint64_t from, uint64_t to) {
  if (source >= effect.sources().size()) return false;
  const std::optional<uint64_t> number = effect.sources()[source]->Number();
  return number && *number >= from && *number <= to;
}

// IMAD. The product is an index times a size; the third source is what it is added to.
bool Multiply(Effect& effect) {
  if (effect.opcode() != "IMAD" && effect.opcode() != "UIMAD") return false;
  if (effect.sources().size() < 3) return false;
  if (effect.Has("WIDE")) {
    const bool pair = effect.sources()[2]->kind == Kind::kRegister;
    effect.ToPair(effect.OfAll(), effect.AtSource(2, pair ? 1 : 0));
    return true;
  }
  if (effect.Has("HI")) {
    effect.To(1, effect.AtSource(2));
    return true;
  }
  // .MOV, .IADD, .SHL, .X: by a number it is a move or a sum, of which nothing is known.
  if (!effect.instruction().modifiers.empty()) return false;
  const bool scales = IsNumberFrom(effect, 1, 2, (1 << 16) - 1);
  // An index from memory times a stride that is a parameter.
  const Origin one = effect.AtSource(0), other = effect.AtSource(1);
  const bool stride =
      std::max(one, other) == Origin::kMemory && std::min(one, other) == Origin::kParameter;
  if (!scales && !stride) return false;
  effect.To(1, effect.AtSource(2));
  return true;
}

// SHF: a sign, or the upper half of a pair that is scaled.
bool Shift(Effect& effect) {
  if (effect.opcode() != "SHF" && effect.opcode() != "USHF") return false;
  if (effect.sources().size() != 3 || !effect.Has("HI")) return false;
  if (effect.Has("R") && effect.Has("S32") && IsNumberFrom(effect, 1, 31, 31)) {
    effect.To(1, Origin::kNumber);
    return true;
  }
  if (!effect.Has("L") || !(effect.Has("U64") || effect.Has("S64"))) return false;
  // Scaled by a number it is no address. By 32 and more the lower half would get there.
  if (!IsNumberFrom(effect, 1, 1, 31)) return false;
  effect.To(1, Origin::kNumber);
  return true;
}

// LEA.HI Ra, Rb, Rc: the upper half of the pair (Rc:Ra), shifted, and Rb.
bool AddShifted(Effect& effect) {
  if (effect.opcode() != "LEA" && effect.opcode() != "ULEA") return false;
  if (!effect.Has("HI")) return false;
  // .SX32: Rc is the sign of Ra. With .X there is a carry: that is the upper half of an index.
  const bool scaled = effect.Has("SX32") || (effect.Has("X") && IsNumberFrom(effect, 3, 1, 31));
  if (!scaled) return false;
  effect.To(1, effect.AtSource(1));
  return true;
}

// IADD.64, MOV.64, SEL.64: halves stay halves.
bool MixPairs(Effect& effect) {
  if (!effect.Has("64") || effect.Has("U64")) return false;
  const std::string_view opcode = effect.opcode();
  if (!absl::StrContains(opcode, "ADD") && !absl::StrContains(opcode, "MOV") &&
      !absl::StrContains(opcode, "SEL")) {
    return false;
  }
  Origin upper{};
  for (const SassOperand* source : effect.sources()) {
    upper = std::max(upper, effect.At(*source, source->kind == Kind::kRegister ? 1 : 0));
  }
  effect.ToPair(effect.OfAll(), upper);
  return true;
}

// Whether its result has a second register depends on more than that.
bool MayBePair(const Effect& effect) {
  const std::string_view opcode = effect.opcode();
  if (opcode == "SHF" || opcode == "USHF") return false;
  return opcode[0] == 'D' || effect.Width() > 1 || opcode == "FADD2" || opcode == "FMUL2" ||
         opcode == "FFMA2" || opcode == "IDP";
}

}  // namespace

void Mix(Effect& effect) {
  if (Multiply(effect) || Shift(effect) || AddShifted(effect) || MixPairs(effect)) return;
  effect.To(1, effect.OfAll(), MayBePair(effect) ? 2 : 1);
}

}  // namespace vramspan::prove
