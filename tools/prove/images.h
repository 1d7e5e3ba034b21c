// GPU images in a file: what a program that has the file hands to the driver.
//
// Images are known by their first bytes, wherever they lie. Libraries have them in sections of many
// names (.nv_fatbin, __nv_relfatbin, .cask_resource, .rodata, .ldata), and archives at any offset.
#ifndef VRAMSPAN_TOOLS_PROVE_IMAGES_H_
#define VRAMSPAN_TOOLS_PROVE_IMAGES_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace vramspan::prove {

struct Image {
  std::string_view bytes;  // Of the file.
  uint64_t module = 0;     // Its hash, as the runtime has it. 0: it is too large for that.
  bool fat = false;        // A fat binary; else ELF (a cubin).
};

// In the order of the file, none within another. What is none by its own header is passed over.
// REQUIRES: `file` is mapped, and stays.
std::vector<Image> FindImages(std::string_view file);

// Whether a file that begins like this may hold some: programs, libraries, archives, fat binaries.
bool MayHoldImages(std::string_view file);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_IMAGES_H_
