// Rules that not every machine can try: instructions of one GPU generation, CUPTI, several devices.
// They are tests of the program only where they can be tried.
#ifndef VRAMSPAN_TESTS_CONFORMANCE_GPU_ONLY_H_
#define VRAMSPAN_TESTS_CONFORMANCE_GPU_ONLY_H_

namespace vramspan::conformance {

// On a real device of compute capability 9.0 or more, if this program carries kernels for it.
void RegisterHopperTests();
// On a real device, where libcupti can be opened.
void RegisterCuptiTests();

// Where there are two devices that reach each other, simulated or real; else a line says so.
void RegisterPeerTests();

// On a real device, and on a simulated one that processes share.
void RegisterSharedDeviceTests();

}  // namespace vramspan::conformance

#endif  // VRAMSPAN_TESTS_CONFORMANCE_GPU_ONLY_H_
