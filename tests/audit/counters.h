// The GPU's counters, as the runtime reads them, for tests: of the tracer's library that
// VRAMSPAN_CUPTI_TRACER names, else that of this build.
#ifndef VRAMSPAN_TESTS_AUDIT_COUNTERS_H_
#define VRAMSPAN_TESTS_AUDIT_COUNTERS_H_

#include <cuda.h>

#include <string>
#include <vector>

#include "runtime/observe/hardware_counters.h"
#include "runtime/observe/launch_source.h"

namespace vramspan::audit_test {

// Of the tracer's library, or null.
void* TracerSymbol(const char* name);
// Beside the driver, where a path says which driver that is; else null.
const char* CuptiBesideDriver();

class Counters {
 public:
  // Why it could not be opened stands in error().
  Counters(CUcontext context, CUdevice device);
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  bool ok() const { return counters_ != nullptr; }
  bool denied() const { return denied_ != 0; }
  const std::string& error() const { return error_; }

  // False, with a failure of the test, where one is refused.
  bool Begin(uint64_t tag);
  bool End();
  bool Flush();
  bool Close();
  // What was delivered, in order.
  std::vector<vramspanCounted> counted;

 private:
  bool Good(int result, const char* text);

  const vramspanCountersTable* table_ = nullptr;
  vramspanCounters* counters_ = nullptr;
  int denied_ = 0;
  std::string error_;
};

}  // namespace vramspan::audit_test

#endif  // VRAMSPAN_TESTS_AUDIT_COUNTERS_H_
