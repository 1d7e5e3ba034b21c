// From when on work is recorded.
//
// Pure.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_RECORDING_RULE_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_RECORDING_RULE_H_

namespace vramspan {

// What is traced names its memory from the first move on; what is declared must have been named
// before. `short_of_device`: host memory backs something, or more is used than the budget allows.
// `filling`: that, or four fifths of the budget are used (IsFilling).
constexpr bool MustRecord(bool traced, bool short_of_device, bool filling) {
  return traced ? short_of_device : filling;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_RECORDING_RULE_H_
