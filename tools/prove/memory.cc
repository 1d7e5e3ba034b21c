#include "tools/prove/memory.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <optional>

#include "tools/prove/addresses.h"

namespace vramspan::prove {
namespace {

using Kind = SassOperand::Kind;

// LDSM and STSM: how many 8x8 matrices, of a register each.
unsigned Matrices(const Effect& effect) {
  if (effect.opcode() != "LDSM" && effect.opcode() != "STSM") return 1;
  return effect.Has("4") ? 4 : effect.Has("2") ? 2 : 1;
}

// By a generic address it may be local or shared memory as well, where code has such addresses.
void StoreAnywhere(Effect& effect) {
  if (!effect.machine().windows) return;
  const std::string_view opcode = effect.opcode();
  if (opcode != "ST" && opcode != "ATOM" && opcode != "RED") return;
  const Origin stored = Stored(effect);
  effect.state().local().StoreSomewhere(stored);
  JoinOne(stored, &effect.shared());
}

}  // namespace

bool IsNarrow(const Effect& effect) {
  return effect.Has("U8") || effect.Has("S8") || effect.Has("U16") || effect.Has("S16");
}

Origin Stored(const Effect& effect) {
  Origin all{};
  const unsigned width = std::max(effect.Width(), Matrices(effect));
  for (const SassOperand& operand : effect.instruction().operands) {
    if (operand.kind == Kind::kAddress || operand.kind == Kind::kPredicate) continue;
    // An operand that is no register has no further ones.
    const unsigned count = operand.kind == Kind::kRegister ? width : 1;
    for (unsigned k = 0; k < count; ++k) all = EitherOf(all, effect.At(operand, k));
  }
  return all;
}

bool LoadGlobal(Effect& effect) {
  if (!CheckAddress(effect, 0)) return false;
  if (!effect.Has("ENL2")) {
    effect.To(effect.Width(), Origin::kMemory);
    return true;
  }
  // What is 256 bits wide has two registers to go to, of four each.
  for (const SassOperand& operand : effect.instruction().operands) {
    if (operand.kind == Kind::kRegister) effect.Set(operand.reg, 4, Origin::kMemory);
  }
  return true;
}

bool StoreGlobal(Effect& effect) {
  if (!CheckAddress(effect, 0)) return false;
  StoreAnywhere(effect);
  return true;
}

bool UpdateGlobal(Effect& effect) {
  if (!CheckAddress(effect, 0)) return false;
  StoreAnywhere(effect);
  // .F32x4, .F16x8: vectors of up to four registers.
  const bool vector = absl::StrContains(effect.instruction().modifiers, "x");
  effect.To(vector ? 4 : std::max(2u, effect.Width()), Origin::kMemory);
  return true;
}

bool CopyToShared(Effect& effect) {
  JoinOne(Origin::kMemory, &effect.shared());
  return CheckAddress(effect, 1);
}

bool CopyInBulk(Effect& effect) {
  JoinOne(Origin::kMemory, &effect.shared());
  // UBLKCP.S.G [shared], [global]; all others begin with the address of global memory.
  return CheckAddress(effect, absl::StrContains(effect.instruction().modifiers, ".S.G") ? 1 : 0);
}

bool CopyByTensorMap(Effect& effect) {
  JoinOne(Origin::kMemory, &effect.shared());
  return CheckTensorMap(effect);
}

void LoadConstant(Effect& effect) {
  // A part of the register may choose the bank.
  if (effect.Has("IL") || effect.Has("IS") || effect.Has("ISL")) {
    effect.To(effect.Width(), Origin::kMemory);
    return;
  }
  for (const SassOperand& operand : effect.instruction().operands) {
    if (operand.kind != Kind::kConstant || effect.destination() == nullptr) continue;
    // Behind the address of the parameters stand other addresses.
    for (unsigned k = 0; k < effect.Width(); ++k) {
      const std::optional<SassRegister> reg = Further(effect.destination()->reg, k);
      if (reg) effect.Set(*reg, 1, effect.OfConstant(operand, k));
    }
    return;
  }
  effect.To(effect.Width(), Origin::kMemory);
}

void LoadShared(Effect& effect) {
  if (effect.opcode() == "ATOMS") JoinOne(Stored(effect), &effect.shared());
  const unsigned count = std::max(effect.Width(), Matrices(effect));
  // Of other shapes a matrix may have two registers.
  const bool plain = effect.opcode() != "LDSM" || effect.Has("M88") || effect.Has("MT88");
  // Of a part of a word, and of a matrix, whose parts threads have: other bits.
  const bool parts = IsNarrow(effect) || effect.opcode() == "LDSM";
  effect.To(count, parts ? BitsOf(effect.shared()) : effect.shared(), plain ? count : 2 * count);
}

void StoreShared(Effect& effect) {
  const Origin stored = Stored(effect);
  // Of a matrix the halves of a word may go to different ones.
  JoinOne(effect.opcode() == "STSM" ? BitsOf(stored) : stored, &effect.shared());
  // SYNCS tells the state of a barrier, of which nothing is known.
  effect.To(2, Origin::kMemory);
}

}  // namespace vramspan::prove
