#ifndef VRAMSPAN_TOOLS_SIMCUDA_MODULES_LIMITS_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MODULES_LIMITS_H_

// Launch limits of the simulated device: an H100's.

namespace simcuda {

inline constexpr int kMaxThreadsPerBlock = 1024;
inline constexpr unsigned kMaxBlockDim[3] = {1024, 1024, 64};
inline constexpr unsigned kMaxGridDim[3] = {0x7fffffff, 65535, 65535};
inline constexpr int kMaxSharedPerBlock = 227 << 10;
inline constexpr int kSharedPerMultiprocessor = 228 << 10;
inline constexpr int kReservedSharedPerBlock = 1 << 10;
inline constexpr int kMultiprocessors = 132;
inline constexpr int kThreadsPerMultiprocessor = 2048;
inline constexpr int kBlocksPerMultiprocessor = 32;
inline constexpr int kRegistersPerThread = 32;
inline constexpr int kWarp = 32;

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MODULES_LIMITS_H_
