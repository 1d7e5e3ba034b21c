// The C interface without a runtime behind it, for tests of what stands on it. It keeps a list of
// the calls that it got, in order, and fails where it is told to. One global state, one thread.
#ifndef VRAMSPAN_TESTS_API_FAKE_VRAMSPAN_H_
#define VRAMSPAN_TESTS_API_FAKE_VRAMSPAN_H_

#include <cuda.h>

#include <map>
#include <string>
#include <vector>

#include "vramspan/vramspan.h"

namespace vramspan_fake {

struct State {
  std::vector<std::string> calls;             // "MemAlloc 64", "WorkBegin 2", "WorkEnd", ...
  std::map<std::string, CUresult> fail;       // by the call's name: "MemAlloc"
  std::map<CUdeviceptr, size_t> allocations;  // live
  std::vector<vramspanRange> ranges;          // of the last WorkBegin
  bool unknown = false;                       // the last WorkBegin had no ranges
  bool open = false;                          // a scope is open
  int runtimes = 0;                           // live
  vramspanConfig config = {};                 // of the last Create; strings are in config_strings
  std::map<std::string, std::string> config_strings;  // those that were given
  std::string message;
  CUdeviceptr next = 0x10000;
};

State& state();
void Reset();

}  // namespace vramspan_fake

#endif  // VRAMSPAN_TESTS_API_FAKE_VRAMSPAN_H_
