// What all odd programs of a process share: the simulated driver's context, the kernels, host
// memory, and a trust file that proves what may be proven.
#ifndef VRAMSPAN_TESTS_ODD_MACHINE_H_
#define VRAMSPAN_TESTS_ODD_MACHINE_H_

#include <cuda.h>

#include <map>
#include <string>

#include "include/vramspan/vramspan.h"
#include "tests/odd/odd_kernels.h"

namespace odd {

// Ends the program, with what went wrong.
struct Failure {
  std::string text;
};

void Check(CUresult result, const char* call);
void CheckSpan(CUresult result, const char* call);
#define ODD_CU(call) odd::Check((call), #call)
#define ODD_SPAN(call) odd::CheckSpan((call), #call)

class Machine {
 public:
  static constexpr size_t kPinnedWords = 4096;

  // Of every runtime of the process, which has one at a time.
  explicit Machine(std::string overlap);

  // A runtime for one program.
  vramspanRuntime NewRuntime(size_t budget, uint32_t deadline_us) const;
  // `known`: the code that the trust file proves; else its twin. odd_walk has none.
  CUfunction Kernel(const std::string& name, bool known) const {
    return kernels_.at(known ? name : name + "_new");
  }
  CUfunction Walk() const { return kernels_.at("odd_walk"); }

  CUcontext context() const { return context_; }
  CUdeviceptr globals() const { return globals_; }
  Word* pinned() const { return pinned_; }  // The device reaches it by this address.

 private:
  void Load(const std::string& name);

  const std::string overlap_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  std::map<std::string, CUfunction> kernels_;
  CUdeviceptr globals_ = 0;
  Word* pinned_ = nullptr;
};

}  // namespace odd

#endif  // VRAMSPAN_TESTS_ODD_MACHINE_H_
