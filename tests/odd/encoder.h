// Hides a number, an address mostly, among the parameters of odd_walk and elsewhere, and writes the
// steps by which the kernel finds it. Forms contain each other: what `Rest` is given is hidden in
// turn. Each function leaves one word on the kernel's stack, and returns what it did as text.
#ifndef VRAMSPAN_TESTS_ODD_ENCODER_H_
#define VRAMSPAN_TESTS_ODD_ENCODER_H_

#include <functional>
#include <string>
#include <vector>

#include "tests/odd/odd_kernels.h"
#include "tests/odd/stores.h"
#include "tests/odd/tools.h"

namespace odd {

// The block is full.
struct NoRoom {};

class Encoder {
 public:
  using Rest = std::function<std::string(Word)>;

  // Words that have to be stored first are stored by `bundle`. The block is filled with noise.
  Encoder(Tools* tools, unsigned grid_y, Block* block, Bundle* bundle);

  // As itself, in a slot of 8 bytes.
  std::string Plain(Word value);
  std::string AnyByte(Word value);
  // In pieces of so many bytes: 1, 2 or 4, anywhere, or with a few words of 4 bytes between them.
  std::string Pieces(Word value, unsigned bytes);
  std::string Halves(Word value, size_t words_between);
  std::string Signed4(Word value);  // REQUIRES: it is a number of 32 bits with a sign.
  std::string Pinned(Word value);   // In host memory whose address is plain.
  std::string Global(Word value);   // In a variable of the module.
  std::string Grid();               // Leaves gridDim.y.

  // In an array, at an address that is hidden by `rest`.
  std::string Stored(Word value, StoreWay way, const Rest& rest);
  // Behind words that nobody changes.
  std::string XorConstant(Word value, const Rest& rest, const Rest& address);
  // By a number.
  std::string Added(Word value, Word number, const Rest& rest);
  std::string Xored(Word value, Word number, const Rest& rest);
  std::string Multiplied(Word value, Word factor, const Rest& rest);  // REQUIRES: it divides.
  std::string Unary(Op op, unsigned arg, Word inner, const Rest& rest);
  // In parts that are put together again.
  std::string Masked(Word value, Word mask, const Rest& low, const Rest& high);
  // From an address in another array, in elements of so many bytes.
  std::string Apart(Word value, Word from, Word element, const Rest& base, const Rest& distance);
  std::string GridAdded(Word value, Word step, const Rest& rest);

  unsigned steps() const { return steps_; }
  const std::vector<size_t>& arrays() const { return arrays_; }  // That are read on the way.
  Tools& tools() { return tools_; }

 private:
  void Emit(Op op, unsigned arg = 0, size_t at = 0);
  size_t Take(size_t bytes, size_t alignment, size_t first, size_t end);
  void Put(size_t at, Word value, unsigned bytes);
  std::string Param(Word value, unsigned bytes, size_t alignment);

  Tools& tools_;
  const unsigned grid_y_;
  Block& block_;
  Bundle& bundle_;
  std::vector<bool> used_;
  unsigned steps_ = 0;
  std::vector<size_t> arrays_;
};

}  // namespace odd

#endif  // VRAMSPAN_TESTS_ODD_ENCODER_H_
