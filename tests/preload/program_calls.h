// Calls made one by one, between launches that mark where each begins in a trace: what each is told
// to have submitted is compared with what it did submit (calls_test.cc). All functions are looked
// up by their exported names.
#ifndef VRAMSPAN_TESTS_PRELOAD_PROGRAM_CALLS_H_
#define VRAMSPAN_TESTS_PRELOAD_PROGRAM_CALLS_H_

#include <dlfcn.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/preload/program_scenarios.h"

// A function of the driver by its exported name.
template <typename F>
F Get(const std::string& symbol) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(driver != nullptr);
  void* const function = dlsym(driver, symbol.c_str());
  if (function == nullptr) Fail("no " + symbol);
  return reinterpret_cast<F>(function);
}
// By a declaration of cuda.h with the same parameters: the name without suffixes.
#define GET(base, symbol) Get<decltype(&::base)>(symbol)

// What a call submits, as a trace has it.
enum class Told {
  kNothing,  // No work.
  kOther,    // Work that names no memory of ours but the marker's.
  kNamed,    // Work that names the memory.
  kUnknown,  // Work of which nobody can tell what it names.
};

class Caller {
 public:
  static constexpr size_t kBytes = size_t{4} << 20;

  // Starts the program. The first allocation is the memory, the second the marker's.
  explicit Caller(Program* program);
  ~Caller();

  Program& p() const { return p_; }
  CUdeviceptr memory() const { return memory_; }
  CUdeviceptr marker() const { return marker_; }
  CUstream stream() const { return p_.stream; }

  // Prints the name and what is to be told of it, makes the call, and waits until the device is
  // idle.
  void Call(const std::string& name, Told told, const std::function<CUresult()>& call,
            CUresult wanted = CUDA_SUCCESS);
  // A kernel that is passed the memory, or another value in its place.
  CUresult LaunchOn(CUdeviceptr value) const;

 private:
  Program& p_;
  CUdeviceptr memory_ = 0, marker_ = 0;
};

// What nodes of graphs do to some bytes there, and to no other allocation.
CUDA_MEMCPY3D CopyNode(CUdeviceptr at);
CUDA_MEMSET_NODE_PARAMS FillNode(CUdeviceptr at);

void CallCopies(Caller* c, bool per_thread);   // program_calls_copies.cc
void CallStreams(Caller* c, bool per_thread);  // program_calls.cc
void CallKernels(Caller* c, bool per_thread);  // program_calls.cc
void CallGraphs(Caller* c, bool per_thread);   // program_calls_graphs.cc
void CallObjects(Caller* c);                   // program_calls_objects.cc
void CallModules(Caller* c);                   // program_calls_objects.cc

#endif  // VRAMSPAN_TESTS_PRELOAD_PROGRAM_CALLS_H_
