// The rows as symbols, as functions and as data.
//
// An exported symbol such as cuMemAlloc_v2 cannot be defined in C++ by a template, so each is a
// stub of one jump to the C++ function. A pointer that is handed out leads to that directly.
#include "runtime/preload/table.h"

#include <algorithm>
#include <array>

#include "runtime/preload/hook.h"
#include "runtime/preload/hooks.h"

namespace vramspan::preload {
namespace {

enum HookId : size_t {
#define VS_HOOK(base, version, symbol, hook) kId_##symbol,
#include "runtime/preload/hooks.inc"
#undef VS_HOOK
  kHookCount
};

}  // namespace

constinit RealFunctions real_functions[kHookCount];

}  // namespace vramspan::preload

#if defined(__x86_64__)
#define VS_JUMP(symbol) "jmp *vramspan_hook_" #symbol "(%rip)\n"
#elif defined(__aarch64__)
#define VS_JUMP(symbol)              \
  "adrp x16, vramspan_hook_" #symbol \
  "\n"                               \
  "ldr x16, [x16, #:lo12:vramspan_hook_" #symbol "]\nbr x16\n"
#else
#error "the preload has no stub for this architecture"
#endif

// The pointer is hidden data with C linkage; the stub is the exported function.
#define VS_HOOK(base, version, symbol, hook)                                              \
  extern "C" {                                                                            \
  __attribute__((visibility("hidden"))) constinit auto vramspan_hook_##symbol =           \
      &vramspan::preload::HookPoint<vramspan::preload::kId_##symbol,                      \
                                    vramspan::preload::Way::kBound, decltype(&::symbol),  \
                                    &vramspan::preload::hook>::Call;                      \
  }                                                                                       \
  __asm__(".text\n.p2align 4\n.globl " #symbol "\n.type " #symbol ", %function\n" #symbol \
          ":\n" VS_JUMP(symbol) ".size " #symbol ", .-" #symbol "\n");
#include "runtime/preload/hooks.inc"
#undef VS_HOOK

namespace vramspan::preload {
namespace {

constinit const std::array<HookRow, kHookCount> kRows = {{
#define VS_HOOK(base, version, symbol, hook) \
  {#base, version, #symbol,                  \
   &HookPoint<kId_##symbol, Way::kAsked, decltype(&::symbol), &hook>::Address},
#include "runtime/preload/hooks.inc"
#undef VS_HOOK
}};

constexpr auto kNames = [] {
  struct Name {
    std::string_view symbol;
    size_t id;
  };
  std::array<Name, kHookCount> names{{
#define VS_HOOK(base, version, symbol, hook) {#symbol, kId_##symbol},
#include "runtime/preload/hooks.inc"
#undef VS_HOOK
  }};
  std::sort(names.begin(), names.end(),
            [](const Name& a, const Name& b) { return a.symbol < b.symbol; });
  return names;
}();

}  // namespace

size_t HookCount() { return kHookCount; }
const HookRow& Hook(size_t id) { return kRows[id]; }

size_t FindHook(std::string_view symbol) {
  const auto found =
      std::lower_bound(kNames.begin(), kNames.end(), symbol,
                       [](const auto& name, std::string_view s) { return name.symbol < s; });
  return found != kNames.end() && found->symbol == symbol ? found->id : kNoHook;
}

}  // namespace vramspan::preload
