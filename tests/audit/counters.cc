#include "tests/audit/counters.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace vramspan::audit_test {
namespace {

void Deliver(void* user, const vramspanCounted* range) {
  static_cast<std::vector<vramspanCounted>*>(user)->push_back(*range);
}

}  // namespace

void* TracerSymbol(const char* name) {
  const char* path = std::getenv("VRAMSPAN_CUPTI_TRACER");
  void* const library = dlopen(path != nullptr ? path : VRAMSPAN_TRACER_LIBRARY, RTLD_NOW);
  if (library == nullptr) ADD_FAILURE() << dlerror();
  return library == nullptr ? nullptr : dlsym(library, name);
}

const char* CuptiBesideDriver() {
  static const std::string path = [] {
    const char* const driver = std::getenv("VRAMSPAN_DRIVER");
    const std::string text = driver != nullptr ? driver : "";
    const size_t slash = text.rfind('/');
    return slash == std::string::npos ? "" : text.substr(0, slash + 1) + "libcupti.so.13";
  }();
  return path.empty() ? nullptr : path.c_str();
}

Counters::Counters(CUcontext context, CUdevice device) {
  const auto get = reinterpret_cast<vramspanCountersGet_t>(TracerSymbol(VRAMSPAN_COUNTERS_GET));
  if (get == nullptr) {
    error_ = "the tracer's library has no counters";
    return;
  }
  table_ = get();
  char error[512] = "";
  if (table_->open(context, device, CuptiBesideDriver(), &Deliver, &counted, &counters_, &denied_,
                   error, sizeof(error)) != 0) {
    counters_ = nullptr;
    error_ = error;
  }
}

Counters::~Counters() {
  if (ok()) Close();
}

bool Counters::Good(int result, const char* text) {
  EXPECT_EQ(result, 0) << text;
  return result == 0;
}

bool Counters::Begin(uint64_t tag) {
  char error[512] = "";
  return Good(table_->begin(counters_, tag, error, sizeof(error)), error);
}

bool Counters::End() {
  char error[512] = "";
  return Good(table_->end(counters_, error, sizeof(error)), error);
}

bool Counters::Flush() {
  char error[512] = "";
  return Good(table_->flush(counters_, error, sizeof(error)), error);
}

bool Counters::Close() {
  char error[512] = "";
  const int result = table_->close(counters_, error, sizeof(error));
  counters_ = nullptr;
  return Good(result, error);
}

}  // namespace vramspan::audit_test
