#include "tools/prove/addresses.h"

#include <algorithm>

namespace vramspan::prove {

using Kind = SassOperand::Kind;

const SassOperand* AddressOperand(const Effect& effect, size_t number) {
  for (const SassOperand& operand : effect.instruction().operands) {
    if (operand.kind == Kind::kAddress && number-- == 0) return &operand;
  }
  return nullptr;
}

bool CheckAddress(Effect& effect, size_t number) {
  const SassOperand* const at = AddressOperand(effect, number);
  if (at == nullptr) {
    // CCTL.IVALL is for all that is cached.
    const bool all = effect.opcode() == "CCTL" && effect.instruction().operands.empty();
    return all || effect.Doubt("no address");
  }
  Origin all{};
  // What is 32 bits wide is an offset.
  for (const SassOperand::Part& part : at->parts) {
    if (!part.narrow) all = SumOf(all, effect.Upper(part.reg));
  }
  if (all == Origin::kScaled) return effect.Doubt("an address that is a scaled parameter");
  if (all >= Origin::kIndex) return effect.Doubt("an address from memory");
  // Before all is found, a number may yet turn out to be a parameter on another way.
  if (all == Origin::kNumber && effect.settled()) return effect.Doubt("an address of no parameter");
  return true;
}

bool CheckTensorMap(Effect& effect) {
  const SassOperand* at = nullptr;
  for (size_t k = 0; const SassOperand* next = AddressOperand(effect, k); ++k) at = next;
  // UTMACCTL.IVALL is for all that is cached.
  if (effect.opcode() == "UTMACCTL" && effect.instruction().operands.empty()) return true;
  if (at == nullptr || at->parts.size() != 1) return effect.Doubt("no address");
  // A map in global memory, or in the program's constants, others may write.
  const Origin upper = effect.Upper(at->parts[0].reg);
  if (upper == Origin::kOwnParameters || (upper == Origin::kNumber && !effect.settled()))
    return true;
  return effect.Doubt("a tensor map that is no parameter");
}

}  // namespace vramspan::prove
