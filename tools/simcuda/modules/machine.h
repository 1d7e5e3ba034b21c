// The machine whose images this driver loads, which is the one it runs on, and its relocations.
#ifndef VRAMSPAN_TOOLS_SIMCUDA_MODULES_MACHINE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MODULES_MACHINE_H_

#include <elf.h>

namespace simcuda {

#if defined(__x86_64__)
#define SIMCUDA_RELOCATION(x86, arm) R_X86_64_##x86
inline constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
#define SIMCUDA_RELOCATION(x86, arm) R_AARCH64_##arm
inline constexpr unsigned kMachine = EM_AARCH64;
#endif
inline constexpr unsigned kNothing = SIMCUDA_RELOCATION(NONE, NONE);
inline constexpr unsigned kRelative = SIMCUDA_RELOCATION(RELATIVE, RELATIVE);
inline constexpr unsigned kAddress = SIMCUDA_RELOCATION(64, ABS64);
inline constexpr unsigned kDataAddress = SIMCUDA_RELOCATION(GLOB_DAT, GLOB_DAT);
inline constexpr unsigned kCodeAddress = SIMCUDA_RELOCATION(JUMP_SLOT, JUMP_SLOT);
inline constexpr unsigned kTlsModule = SIMCUDA_RELOCATION(DTPMOD64, TLS_DTPMOD);
inline constexpr unsigned kTlsOffset = SIMCUDA_RELOCATION(DTPOFF64, TLS_DTPREL);
inline constexpr unsigned kTlsThread = SIMCUDA_RELOCATION(TPOFF64, TLS_TPREL);
inline constexpr unsigned kTlsDescriptor = SIMCUDA_RELOCATION(TLSDESC, TLSDESC);
#undef SIMCUDA_RELOCATION

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MODULES_MACHINE_H_
