#include "runtime/api/last_error.h"

#include <string>

namespace vramspan {
namespace {

// A program may call from another thread_local's destructor, when the thread's message is gone.
thread_local bool message_is_gone = false;
struct Message {
  std::string text;
  ~Message() { message_is_gone = true; }
};

// Null when it is gone.
std::string* LastError() {
  thread_local Message message;
  return message_is_gone ? nullptr : &message.text;
}

}  // namespace

CUresult Report(const Status& status) {
  if (status.ok()) return CUDA_SUCCESS;
  if (std::string* text = LastError(); text != nullptr) *text = std::string(status.message());
  return ToCuResult(status);
}

const char* LastErrorMessage() {
  const std::string* text = LastError();
  return text != nullptr ? text->c_str() : "";
}

}  // namespace vramspan
