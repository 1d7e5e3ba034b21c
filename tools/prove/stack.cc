#include "tools/prove/stack.h"

#include <absl/strings/match.h>

#include "tools/prove/addresses.h"
#include "tools/prove/memory.h"

namespace vramspan::prove {
namespace {

// At a known distance from the stack pointer as it is, and in whole words; null else.
const SassOperand* OnStack(const Effect& effect) {
  const SassOperand* const at = AddressOperand(effect, 0);
  if (at == nullptr || at->parts.size() != 1 || !IsStackPointer(at->parts[0].reg)) return nullptr;
  // [R1.X4] is another place.
  return at->offset % 4 == 0 && !absl::StrContains(at->text, '.') ? at : nullptr;
}

}  // namespace

void LoadLocal(Effect& effect) {
  const SassOperand* const at = OnStack(effect);
  const SassOperand* const to = effect.destination();
  // Of a part of a word, as of other bits that are taken out.
  const auto loaded = [&effect](Origin origin) {
    return IsNarrow(effect) ? BitsOf(origin) : origin;
  };
  if (at == nullptr || to == nullptr) {
    return effect.To(effect.Width(), loaded(effect.state().local().LoadAny()));
  }
  for (unsigned k = 0; k < effect.Width(); ++k) {
    const std::optional<SassRegister> reg = Further(to->reg, k);
    const Origin origin = effect.state().local().Load(at->offset + uint64_t{4} * k);
    if (reg) effect.Set(*reg, 1, loaded(origin));
  }
}

void StoreLocal(Effect& effect) {
  const SassInstruction& i = effect.instruction();
  const SassOperand* const at = OnStack(effect);
  if (at == nullptr || i.operands.back().kind != SassOperand::Kind::kRegister) {
    return effect.state().local().StoreSomewhere(Stored(effect));
  }
  const bool whole = i.guard == kNoGuard && !IsNarrow(effect);
  for (unsigned k = 0; k < effect.Width(); ++k) {
    const Origin stored = effect.At(i.operands.back(), k);
    effect.state().local().Store(at->offset + uint64_t{4} * k, stored, whole);
  }
}

}  // namespace vramspan::prove
