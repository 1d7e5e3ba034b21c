// Keys out of what a terminal sends for them.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_TOP_KEYS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_TOP_KEYS_H_

#include <string>
#include <string_view>
#include <vector>

namespace vramspan::top {

enum class Key { kUp, kDown, kFirst, kLast, kEnter, kEscape, kSort, kHold, kHelp, kQuit };

class KeyReader {
 public:
  // What is not known is no key.
  std::vector<Key> Feed(std::string_view bytes);
  // Nothing followed for a while: an escape that nothing follows is a key.
  std::vector<Key> Wait();
  bool waits() const { return !begun_.empty(); }

 private:
  std::string begun_;  // An escape sequence.
};

}  // namespace vramspan::top

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_TOP_KEYS_H_
