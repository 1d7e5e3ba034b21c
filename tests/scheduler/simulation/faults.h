// What goes wrong in a world: of all faults each world has some, drawn from its seed, so that one
// does not hide another (swarm testing). And how a world is made to lie, to see that it is found.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_FAULTS_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_FAULTS_H_

#include <cstdint>

namespace vramspan::simulation {

enum class Fault : uint8_t {
  kDeviceSlot,    // No memory on the device for what comes, though there was room,
  kHostSlot,      // and none on the host for what leaves.
  kCopy,          // A copy fails.
  kRemap,         // A mapping cannot be changed, and stays as it was,
  kLost,          // or nothing is mapped afterwards.
  kMapAhead,      // Memory cannot be mapped before its contents are there,
  kUnmapAhead,    // or not unmapped again.
  kMapOnHost,     // A chunk cannot be mapped on the host.
  kLateArrival,   // What a stream has reached is seen late,
  kLateEnd,       // and so is what has ended.
  kBlockedScope,  // A thread stays inside the driver until other work has ended.
  kDriverLock,    // Meanwhile other threads that enter the driver stay there as well.
  kSpin,          // A kernel runs until a later one of another stream has ended.
  kSlowCall,      // A call of the mover's takes a second.
  kLongWork,      // Work takes longer than the deadline.
  kHoldFails,     // A launch cannot be held, and does not run.
  kContextDies,   // A kernel kills the context.
  kCount,
};

class Faults {
 public:
  Faults() = default;
  explicit Faults(uint32_t set) : set_(set) {}

  bool Has(Fault fault) const { return (set_ >> static_cast<unsigned>(fault) & 1) != 0; }
  Faults& Add(Fault fault) {
    set_ |= 1u << static_cast<unsigned>(fault);
    return *this;
  }
  uint32_t set() const { return set_; }
  static constexpr uint32_t kAll = (1u << static_cast<unsigned>(Fault::kCount)) - 1;

 private:
  uint32_t set_ = 0;
};

// One lie each, of which an invariant tells.
enum class Sabotage : uint8_t {
  kNone,
  kRemapUnasked,         // A chunk that work uses is remapped, though nobody asked for it.
  kUnmapUnasked,         // One that work needs mapped is unmapped.
  kCopyNothing,          // A copy out says that it is done, and was not made.
  kCopyNothingIn,        // The same of a copy in.
  kDropCurrentCopy,      // A host copy goes while it is the only one that is current.
  kSayEqual,             // A chunk that was written is said to equal its host copy.
  kReleaseOutOfOrder,    // Work goes before what was submitted earlier,
  kReleaseEarly,         // and while what it uses moves.
  kForgetFinished,       // Work has ended, and the scheduler is not told.
  kForgetReleased,       // Work is let go, and its account is not.
  kForgetInSubmission,   // A scope opens, and the scheduler is not told.
  kForgetSubmissionEnd,  // A scope ends, and the scheduler is not told.
  kForgetRemapped,       // A mapping has changed, and the scheduler is not told.
  kForgetMapping,        // The same of one on the host.
  kIgnoreBudget,         // More device memory is taken than was granted.
  kCountTwice,           // A count of a chunk is raised beside the scheduler.
  kIllegalState,         // A chunk takes a state that it cannot come to.
  kMoveBesideBarrier,    // A move begins while work runs that may touch anything.
  kForgetForeign,        // The scheduler is not told that foreign work has ended.
  kForgetCopied,         // A copy has ended, and the scheduler is not told.
  kTrustTooMuch,         // Work needs all memory mapped, and the scheduler is not told.
  kGiveUpUnasked,        // A chunk is said to be given up, and the program wants it.
  kEmptyTooEarly,        // One that is given up is empty before held work has been let go.
  kStaysEmpty,           // One is empty still, though work was let go that fills it.
  kCount,
};
const char* SabotageName(Sabotage sabotage);

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_FAULTS_H_
