// A profile: the settings that suit a program on a device, as `vramspan tune` found them, for
// `vramspan run --profile`. A few lines of text, a key and its value each:
//
//   vramspan-profile 2
//   program=python train.py
//   device=NVIDIA H100 80GB HBM3
//   device_uuid=GPU-...
//   device_memory=8589934592
//   policy=cost
//   chunk=auto
//   overlap=off
//   predicted_ms=123.400
//   default_ms=150.200
//   resident_ms=98.100
//   keep=SIZE NTH                               (allocations to keep on the device)
//   kernel=PASSES RESIDENT_US SHAPE NAME        (as many as there are, the dearest first)
//
// Version 1 has no keep=. What is kept is at most half the device memory, and nothing twice.
// Control characters and backslashes in values are written as C does. Read as if a stranger had
// written it: at most kMostProfileText bytes, every key known, once, and in this order, every value
// within reason.
#ifndef VRAMSPAN_TOOLS_REPLAY_PROFILE_H_
#define VRAMSPAN_TOOLS_REPLAY_PROFILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/placement/pins.h"
#include "tools/replay/replay_result.h"

namespace vramspan::replay {

inline constexpr size_t kMostProfileText = 512 << 10;
inline constexpr size_t kMostProfileKernels = 500;

// What the record proves of a kernel.
struct ProfileKernel {
  std::string name;
  uint64_t shape = 0;      // RecordedCode::shape.
  double passes = 0;       // How often each byte crosses the bus when it is served in place.
  double resident_us = 0;  // How long it takes with its memory on the device.

  bool operator==(const ProfileKernel&) const = default;
};

struct Profile {
  std::string program;  // Its command line.
  std::string device, device_uuid;
  Bytes device_memory;  // That it was tuned for.
  std::string policy;
  int chunk_log2 = 0;  // 0: chosen by size.
  ReplayOverlap overlap = ReplayOverlap::kOff;
  // Of the tuned settings, of the default ones, of everything on the device; as predicted.
  double predicted_ms = 0, default_ms = 0, resident_ms = 0;
  std::vector<Pin> pins;  // To be kept on the device.
  std::vector<ProfileKernel> kernels;

  bool operator==(const Profile&) const = default;
};

// Kernels beyond kMostProfileKernels or of longer names than a reader takes, and pins beyond
// kMostPins, are left out, and other texts cut.
std::string ProfileText(const Profile& profile);
// FailedPrecondition for one of another version, InvalidArgument for what is no profile; both name
// the line.
StatusOr<Profile> ParseProfile(std::string_view text);
// The same of a file, which the errors name.
StatusOr<Profile> ReadProfile(const std::string& path);

// FailedPrecondition where the profile is for another program or device than these; an empty one
// fits all. `program`: its command line, of which program_name.h says what counts.
Status CheckProfile(const Profile& profile, std::string_view program, std::string_view device_uuid);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_PROFILE_H_
