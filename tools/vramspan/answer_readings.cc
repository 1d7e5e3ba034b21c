// `vramspan answer-readings`: the reader beside a program, which `vramspan run` starts. No user
// does.
#include <string>

#include "runtime/base/digits.h"
#include "tools/reader/answer.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/reader_start.h"

namespace vramspan {
namespace {

class AnswerReadingsCommand final : public Command {
 public:
  std::string name() const override { return run::kReaderCommand; }
  std::string summary() const override { return "Read the code of a running program's kernels"; }
  bool hidden() const override { return true; }

  void Define(CommandOptions& options) override {
    options.Option("folder", folder_, "Where the program asks").Required();
    options.Option("process", process_, "The program's number").Required();
    options.Option("start", start_, "When it began, in ticks of the kernel");
  }

  int Run() override {
    uint64_t start = 0;
    if (process_ <= 0 || (!start_.empty() && !ParseDigits(start_, &start))) return kExitUsage;
    const Status ended = reader::AnswerReadings(folder_, process_,
                                                start_.empty() ? std::optional<uint64_t>() : start);
    SayError("vramspan answer-readings", ended.message());
    return kExitFailure;
  }

 private:
  std::string folder_, start_;
  int process_ = 0;
};

VRAMSPAN_COMMAND(AnswerReadingsCommand);

}  // namespace
}  // namespace vramspan
