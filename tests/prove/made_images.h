// GPU images as compilers make them, with kernels that are names alone.
#ifndef VRAMSPAN_TESTS_PROVE_MADE_IMAGES_H_
#define VRAMSPAN_TESTS_PROVE_MADE_IMAGES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramspan::prove {

// ELF for sm_`sm` with these kernels, and a function that is none.
std::string MadeCubin(uint32_t sm, const std::vector<std::string>& kernels);

struct MadeEntry {
  uint16_t kind = 2;
  uint32_t sm = 90;
  std::string code;
  uint64_t flags = 0;        // Packs the code, where they say so.
  uint32_t more_header = 0;  // Beside 64 bytes.
};
std::string MadeFat(const std::vector<MadeEntry>& entries);

// An image that the simulated driver takes, `host`, with one for a GPU in it that `prove` finds.
std::string WithHostCode(std::string host, const std::string& gpu);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TESTS_PROVE_MADE_IMAGES_H_
