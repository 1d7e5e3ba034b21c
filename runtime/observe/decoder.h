// From a driver call to what it submits: reads launch parameters, copy descriptors and graphs.
//
// Calls come as a launch source has them: CUPTI's number of the call (cupti_driver_cbid.h) and its
// struct of parameters (both in call_params.h); sources that are not CUPTI fill the same structs.
// One Decoder serves the process, for handles of kernels and graphs are the process's.
//
// What it remembers: parameter layouts by kernel handle, until the module or library goes; the
// contents of executable graphs, from their instantiation and every update until they are
// destroyed; the memory behind texture objects and tensor maps that lies in an arena. The first two
// are bounded by what the program keeps alive, the third by number (objects.h).
//
// Threads: any. Decode of a kernel launch takes no lock that is held over a driver call.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_DECODER_H_
#define VRAMSPAN_RUNTIME_OBSERVE_DECODER_H_

#include <absl/types/span.h>

#include <cstdint>
#include <memory>

#include "runtime/driver/driver.h"
#include "runtime/observe/arenas.h"
#include "runtime/observe/graphs.h"
#include "runtime/observe/kernel_codes.h"
#include "runtime/observe/submission.h"

namespace vramspan {

// What a call is to an observer.
enum class CallClass : uint8_t {
  kNone,     // Of no interest.
  kSubmits,  // Submits work: Decode when it is entered, and Learn after it where it says so.
  kDefines,  // Makes, changes or ends what submissions name: Learn when it has returned.
  kLooksUp,  // Asks the driver what lies at an address, and submits nothing.
  kWaits,    // Returns when the device has done something, and submits nothing.
};

class Decoder {
 public:
  explicit Decoder(std::shared_ptr<const Driver> driver);
  ~Decoder();

  // Addresses outside all arenas are nobody's: touches name only what lies in one.
  void AddArena(DevicePtr base, Bytes size);
  void RemoveArena(DevicePtr base);
  const ArenaSet& arenas() const;
  // Of all kernels that were launched, and what is trusted of them.
  KernelCodes& codes();
  // What executable graphs do.
  Graphs& graphs();

  static CallClass ClassOf(uint32_t call);
  // All calls of one class, for subscribing.
  static absl::Span<const uint32_t> CallsOf(CallClass call_class);
  // True where the call copies from host memory, which may hold pointers.
  static bool CopiesFromHost(uint32_t call);
  // True where the call has the driver look up memory of an arena though it submits no work: most
  // of kLooksUp, and what names memory in graphs and textures.
  bool LooksUp(uint32_t call, const void* params) const;
  // The stream that the call submits to, as Submission::stream; for callers that need no more.
  // REQUIRES: ClassOf(call) is kSubmits, or WhatFor(call) is kStream.
  static CUstream StreamOf(uint32_t call, const void* params);
  // REQUIRES: ClassOf(call) is kWaits.
  static WaitsFor WhatFor(uint32_t call);

  // Fills `out` for a call that is about to be made. Calls with nothing to do (a null kernel,
  // parameters that the driver will refuse) yield no touches; never fails: what cannot be told
  // becomes Kind::kUnknown or `incomplete`. REQUIRES: ClassOf(call) is kSubmits.
  void Decode(uint32_t call, const void* params, Submission* out) {
    Name(call, params, out);
    Scan(out);
  }
  // The same in two steps: all but what the parameters of a kernel say, and that.
  void Name(uint32_t call, const void* params, Submission* out);
  void Scan(Submission* out) const;
  // What a Scan of the same parameters depends on: where equal, it says the same. Read it before.
  struct Grounds {
    const ArenaSet* arenas = nullptr;
    uint64_t objects = 0;
    bool operator==(const Grounds&) const = default;
  };
  Grounds grounds() const;

  // The call has returned `result`. REQUIRES: ClassOf(call) is kDefines.
  void Learn(uint32_t call, const void* params, CUresult result);
  // The call is about to be made: what it ends is forgotten now, since its handle may come again
  // before Learn. REQUIRES: ClassOf(call) is kDefines.
  void Before(uint32_t call, const void* params);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_DECODER_H_
