// The fatbin of hopper_kernels.cu; empty where the build found no nvcc.
#include "tests/conformance/hopper_image.h"

#ifdef VRAMSPAN_HOPPER_FATBIN
asm(".pushsection .rodata.hopper_image, \"a\", @progbits\n"
    ".balign 64\n"
    "hopper_fatbin:\n"
    ".incbin \"" VRAMSPAN_HOPPER_FATBIN
    "\"\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) const char hopper_fatbin[];
#endif

namespace vramspan::conformance {

const void* HopperImage() {
#ifdef VRAMSPAN_HOPPER_FATBIN
  return hopper_fatbin;
#else
  return nullptr;
#endif
}

}  // namespace vramspan::conformance
