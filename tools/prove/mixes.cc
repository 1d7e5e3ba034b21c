#include "tools/prove/mixes.h"

#include <absl/strings/match.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <optional>

namespace vramspan::prove {
namespace {

using Kind = SassOperand::Kind;

// Of elements of 256 bytes at most. Further away are words that an address is put together of.
constexpr uint64_t kMostShift = 8, kMostScale = 1 << kMostShift;

bool IsNumberFrom(const Effect& effect, size_t source, uint64_t from, uint64_t to) {
  if (source >= effect.sources().size()) return false;
  const std::optional<uint64_t> number = effect.sources()[source]->Number();
  return number && *number >= from && *number <= to;
}

// Of the product of the first two sources, which was scaled to that.
Origin Product(const Effect& effect, Origin scaled) {
  const SassOperand& by = *effect.sources()[1];
  const std::optional<uint64_t> number = by.Number();
  const bool far = by.kind == Kind::kNumber && !(number && *number <= kMostScale);
  return far ? BitsOf(scaled) : scaled;
}

// IMAD. The product is an index times a size; the third source is what it is added to.
bool Multiply(Effect& effect) {
  if (effect.opcode() != "IMAD" && effect.opcode() != "UIMAD") return false;
  if (effect.sources().size() < 3) return false;
  if (effect.Has("WIDE")) {
    const bool pair = effect.sources()[2]->kind == Kind::kRegister;
    const Origin upper = effect.AtSource(2, pair ? 1 : 0);
    // A wide product has a lower half that may be an upper one's summand.
    const Origin factors = ProductOf(effect.AtSource(0), effect.AtSource(1));
    const Origin product = Product(effect, CarriedOf(factors));
    effect.ToPair(SumOf(factors, effect.AtSource(2)), SumOf(product, upper));
    return true;
  }
  if (effect.Has("HI")) return false;
  // .MOV, .IADD, .SHL, .X: a move, or a sum.
  const bool plain = effect.instruction().modifiers.empty();
  const bool scales = IsNumberFrom(effect, 1, 2, kMostScale);
  // An index from memory times a stride that is a parameter, or a scaled one.
  const Origin one = effect.AtSource(0), other = effect.AtSource(1), by = std::min(one, other);
  const Origin either = EitherOf(one, other);
  const bool stride =
      KindOf(either) == Origin::kMemory && (by == Origin::kParameter || by == Origin::kScaled);
  const bool known =
      effect.sources()[0]->kind == Kind::kNumber || effect.sources()[1]->kind == Kind::kNumber;
  if (plain && (scales || stride)) {
    const Origin product = Product(effect, scales ? ScaledOf(either) : OffsetOf(either));
    effect.To(1, SumOf(product, effect.AtSource(2)));
  } else if (plain && !known) {
    effect.To(1, SumOf(ProductOf(one, other), effect.AtSource(2)));
  } else {
    effect.To(1, effect.OfSum());
  }
  return true;
}

// SHF: a sign, or the upper half of a pair that is scaled.
bool Shift(Effect& effect) {
  if (effect.opcode() != "SHF" && effect.opcode() != "USHF") return false;
  if (effect.sources().size() != 3 || !effect.Has("HI") || effect.Has("W")) return false;
  if (effect.Has("R") && effect.Has("S32") && IsNumberFrom(effect, 1, 31, 31)) {
    effect.To(1, Origin::kNumber);
    return true;
  }
  if (!effect.Has("L") || !(effect.Has("U64") || effect.Has("S64"))) return false;
  if (!IsNumberFrom(effect, 1, 1, kMostShift)) return false;
  effect.To(1, EitherOf(CarriedOf(effect.AtSource(0)), ScaledOf(effect.AtSource(2))));
  return true;
}

// LEA: a sum. LEA.HI Ra, Rb, Rc: the upper half of the pair (Rc:Ra), shifted, and Rb.
bool AddShifted(Effect& effect) {
  if (effect.opcode() != "LEA" && effect.opcode() != "ULEA") return false;
  if (!effect.Has("HI")) {
    effect.To(1, effect.OfSum());
    return true;
  }
  // .SX32: Rc is the sign of Ra. Shifted further than by the size of an element, the pair may be
  // an address that leaves its upper bits: half of it is what was above the tag.
  const bool narrow = effect.Has("SX32");
  if (!IsNumberFrom(effect, narrow ? 2 : 3, 1, kMostShift) || !effect.Has("X")) {
    // LEA.HI Ra, Rb, RZ, 0x1d: Ra shifted to the right by 3, and Rb.
    const bool down = !narrow && effect.sources().size() >= 3 &&
                      effect.sources()[2]->kind == Kind::kRegister && effect.sources()[2]->reg.zero;
    if (down) effect.To(1, SumOf(BitsOf(effect.AtSource(0)), effect.AtSource(1)));
    return down;
  }
  const Origin upper = narrow ? Origin::kNumber : effect.AtSource(2);
  const Origin scaled = EitherOf(CarriedOf(effect.AtSource(0)), ScaledOf(upper));
  effect.To(1, SumOf(scaled, effect.AtSource(1)));
  return true;
}

bool IsSum(std::string_view opcode) {
  return opcode == "IADD3" || opcode == "UIADD3" || opcode == "IADD" || opcode == "VIADD" ||
         opcode == "UVIADD" || opcode == "IADD32I";
}

// What it takes as it is, from here or there.
bool IsMove(std::string_view opcode) {
  absl::ConsumePrefix(&opcode, "U");
  return opcode == "MOV" || opcode == "SEL" || opcode == "IMNMX" || opcode == "VIMNMX" ||
         opcode == "VIMNMX3" || opcode == "SHFL" || opcode == "R2UR";
}

// IADD.64, MOV.64, SEL.64: halves stay halves.
bool MixPairs(Effect& effect) {
  if (!effect.Has("64") || effect.Has("U64")) return false;
  const std::string_view opcode = effect.opcode();
  if (!absl::StrContains(opcode, "ADD") && !absl::StrContains(opcode, "MOV") &&
      !absl::StrContains(opcode, "SEL")) {
    return false;
  }
  const bool sum = absl::StrContains(opcode, "ADD");
  Origin upper{};
  for (const SassOperand* source : effect.sources()) {
    const Origin half = effect.At(*source, source->kind == Kind::kRegister ? 1 : 0);
    upper = sum ? SumOf(upper, half) : EitherOf(upper, half);
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
  const bool pair = MayBePair(effect);
  Origin all = pair ? EitherOf(effect.OfAll(), effect.OfAll(1)) : effect.OfAll();
  if (IsSum(effect.opcode()) && !pair) {
    all = effect.OfSum();
  } else if (!IsMove(effect.opcode()) || pair) {
    all = BitsOf(all);
  }
  effect.To(1, all, pair ? 2 : 1);
}

}  // namespace vramspan::prove
