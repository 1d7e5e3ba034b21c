// How a section's code is divided: blocks, functions, and where threads go on together.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_BLOCKS_H_
#define VRAMSPAN_TOOLS_PROVE_BLOCKS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "tools/prove/sass_text.h"

namespace vramspan::prove {

class Blocks {
 public:
  explicit Blocks(const SassCode& code);

  // The instruction that follows the label.
  std::optional<size_t> Find(std::string_view label) const;
  // A block begins there: what is known is kept before it.
  bool IsHead(size_t at) const { return head_[at]; }
  bool IsLabelled(size_t at) const { return labelled_[at]; }
  // Where threads may go on that meet at a barrier in the same function as `at`.
  const std::vector<size_t>& MeetingPoints(size_t at) const;

 private:
  // A function inside the section begins with a label $KERNEL$FUNCTION: the number of it.
  size_t FunctionOf(size_t at) const;

  const SassCode& code_;
  std::vector<bool> head_, labelled_;
  std::vector<size_t> functions_;                    // Where they begin, in order.
  std::vector<std::vector<size_t>> meeting_points_;  // By function; without repetitions.
};

// B0 to B15.
std::optional<size_t> BarrierOf(const SassOperand& operand);
// BSSY names a barrier, and where threads go on that meet there.
bool IsMeeting(const SassInstruction& instruction);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_BLOCKS_H_
