// Answers what a program asks: from what is kept at once, and else by reading code, the kernels of
// one image together.
//
// Threads: one takes asks, others work, each at an image of its own.
#ifndef VRAMSPAN_TOOLS_READER_DESK_H_
#define VRAMSPAN_TOOLS_READER_DESK_H_

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "tools/prove/disassembler.h"
#include "tools/prove/images.h"
#include "tools/reader/asks.h"
#include "tools/reader/exchange.h"
#include "tools/reader/kept_readings.h"

namespace vramspan::reader {

class Desk {
 public:
  Desk(const Exchange& exchange, KeptReadings& kept, StatusOr<prove::Disassembler> nvdisasm)
      : exchange_(exchange), kept_(kept), nvdisasm_(std::move(nvdisasm)) {}

  // Each ask gets one answer, now or later.
  void Take(const std::vector<Ask>& asks) VS_EXCLUDES(mu_);
  // Reads what waits for it, for good. Any number of threads.
  [[noreturn]] void Work() VS_EXCLUDES(mu_);

 private:
  using Waiting = std::map<std::string, size_t>;  // Kernels by name: how often each was asked.

  struct Read {
    ReadKernels kernels;
    bool certain = true;  // What is not proven would not be in later runs either;
    bool lasting = true;  // nor in this one.
  };
  // Keeps what is certain.
  Read ReadCode(const AskedCode& code, const std::set<std::string>& names);
  // The image of the file that is called by this hash; nothing where that is another's.
  static std::optional<prove::Image> ImageIn(std::string_view file, uint64_t module);

  const Exchange& exchange_;
  KeptReadings& kept_;
  const StatusOr<prove::Disassembler> nvdisasm_;
  Mutex mu_;
  CondVar more_;
  std::map<AskedCode, Waiting> waiting_ VS_GUARDED_BY(mu_);
  // Of those, as they came, but for what is being read.
  std::deque<AskedCode> turns_ VS_GUARDED_BY(mu_);
  // What could not be read, and would not be if it was tried again.
  std::map<AskedCode, std::set<std::string>> failed_ VS_GUARDED_BY(mu_);
};

}  // namespace vramspan::reader

#endif  // VRAMSPAN_TOOLS_READER_DESK_H_
