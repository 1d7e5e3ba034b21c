// `vramspan audit`: what did the inference of working sets miss, by the GPU's own counters?
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/replay/new_file.h"
#include "tools/vramspan/audit_report.h"
#include "tools/vramspan/audit_trust.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/option_words.h"
#include "tools/vramspan/own_folder.h"
#include "tools/vramspan/run_program.h"
#include "tools/vramspan/run_start.h"
#include "tools/vramspan/trust_text.h"

namespace vramspan {
namespace {

class AuditCommand final : public Command {
 public:
  std::string name() const override { return "audit"; }
  std::string summary() const override {
    return "Run a program, and count what its kernels touch that was not inferred";
  }

  void Define(CommandOptions& options) override {
    given_ = options;
    options
        .Option("program", program_,
                "The program and its arguments. Options end at the first word that is no option.")
        .Required()
        .Shown(kProgram);
    options.WordsLast();
    options.Group("How the program runs");
    options
        .Option("--device-memory", run_.device_memory,
                "Device memory for an unchanged program's data, as for `vramspan run`")
        .Shown("SIZE");
    options.Option("--host-memory", run_.host_memory, "Host memory for it, as for `vramspan run`")
        .Shown("SIZE");
    options.Option("--chunk", run_.chunk, "The unit that moves, as for `vramspan run`")
        .Shown("SIZE")
        .Suggests(ChunkWords());
    options.Flag("--simulate", run_.simulate, "Run the program on the simulated driver");
    options.Flag("--quiet", run_.quiet, "Print errors alone, no warnings and announcements");
    options.Group("What is written");
    options.Option("--top", top_, "How many kernels to show, the worst first; 0 shows all")
        .AtLeastNone()
        .Shown("N")
        .ShowDefault();
    options.Option("--format", format_, "How the report is printed")
        .OneOf({"table", "json"})
        .ShowDefault();
    options.Option("--output", output_, "Write the report to FILE (default: stdout)").Shown("FILE");
    options
        .Option("--trust", trust_,
                "Write how far each kernel's code is trusted to FILE, for `vramspan run --trust`")
        .Shown("FILE");
    options.Flag("--no-command-line", run_.no_command_line,
                 "Leave the arguments out of the trust file, because they may hold secrets");
    options.Flag("--force", force_, "Let --output and --trust replace files");
    options.Footer(
        "The program may be linked with vramspan, or know nothing of it.\n"
        "Before each launch, the memory that was inferred for it goes to the device, and all other "
        "memory to the host. The GPU's counters then tell what the kernel took from host memory.\n"
        "The program runs much slower, one launch at a time, with the same results. Reading "
        "counters takes root, or a driver that was loaded with "
        "NVreg_RestrictProfilingToAdminUsers=0.\n"
        "\n"
        "Exit status: the program's own, or\n"
        "  1    the audit failed or ended early; a sentence on stderr says why\n"
        "  2    the command line was not understood\n"
        "  126  the program cannot be run\n"
        "  127  there is no such program\n"
        "\n"
        "Examples\n"
        "  vramspan audit -- python3 train.py --steps 3\n"
        "  vramspan audit --top 10 -- python3 train.py --steps 3\n"
        "  vramspan audit --trust train.trust -- python3 train.py --steps 3\n"
        "\n"
        "Read more: docs/audit.md, docs/trust.md");
  }

  int Run() override {
    if (const std::optional<std::string> option = given_->OptionWithoutValue()) {
      SayError("vramspan audit", absl::StrCat(*option, " needs a value before --"));
      return kExitUsage;
    }
    // Before the program runs, which may take long.
    std::unique_ptr<replay::NewFile> file, trust_file;
    for (const auto& [path, opened] :
         {std::pair(&output_, &file), std::pair(&trust_, &trust_file)}) {
      if (path->empty()) continue;
      StatusOr<std::unique_ptr<replay::NewFile>> made = replay::NewFile::Open(*path, force_);
      if (!made.ok()) return Failed(made.status());
      *opened = *std::move(made);
    }
    const auto folder = OwnFolder::Make("vramspan audit", "audit");
    if (!folder.ok()) return Failed(folder.status());
    const StatusOr<int> code = RunIn((*folder)->path());
    if (!code.ok()) {
      Failed(code.status());
      return absl::IsInvalidArgument(code.status())      ? kExitUsage
             : absl::IsNotFound(code.status())           ? kExitNotFound
             : absl::IsFailedPrecondition(code.status()) ? kExitNotRunnable
                                                         : kExitFailure;
    }
    StatusOr<audit::Report> report = audit::ReadReport((*folder)->path());
    if (!report.ok()) return Failed(report.status());
    if (report->runtimes == 0) {
      return Failed(absl::FailedPreconditionError(
          absl::StrCat(program_[0], " created no vramspan runtime (its exit code was ", *code,
                       "), so there was nothing to audit")));
    }
    report->program = program_;
    report->exit_code = *code;
    const bool nothing = report->rows.empty() && !report->errors.empty();
    StatusOr<audit::TrustFile> trust = absl::CancelledError();
    if (trust_file != nullptr && report->errors.empty()) {
      trust = audit::MakeTrustFile(*report, Of(*report));
    }
    if (!nothing) Show(*report, trust.ok() ? &*trust : nullptr, file.get());
    for (const std::string& error : report->errors) Failed(absl::UnavailableError(error));
    if (report->incomplete != 0) {
      SayError("vramspan audit",
               absl::StrCat(report->incomplete, " of ", report->runtimes,
                            " runtimes did not end in order, so their last launches are missing"));
    }
    if (file != nullptr && !nothing) {
      const Status written = file->Close();
      if (!written.ok()) return Failed(written);
    }
    if (!report->errors.empty()) return kExitFailure;
    if (trust_file == nullptr) return *code;
    if (!trust.ok()) {
      return Failed(absl::FailedPreconditionError(
          absl::StrCat(trust_, " is not written: ", trust.status().message())));
    }
    trust_file->Write(trust->text);
    const Status written = trust_file->Close();
    return written.ok() ? *code : Failed(written);
  }

 private:
  static int Failed(const Status& status) {
    SayError("vramspan audit", status.message());
    return kExitFailure;
  }

  // The program's exit code. What keeps it from being started is as RunProgram says it.
  StatusOr<int> RunIn(const std::string& results) {
    // What an unchanged program does is seen through the preload. One that is linked with vramspan
    // has it stand aside.
    run_.tracer = "cupti";
    StatusOr<run::Plan> plan =
        run::PlanFor("vramspan audit", program_.front(), run_, /*matters=*/true);
    if (!plan.ok()) {
      return absl::IsInvalidArgument(plan.status())
                 ? plan.status()
                 : absl::UnavailableError(plan.status().message());
    }
    (*plan)["VRAMSPAN_AUDIT"] = results;
    if (!trust_.empty()) (*plan)["VRAMSPAN_AUDIT_TRUST"] = "1";
    return RunProgram(program_, {plan->begin(), plan->end()});
  }

  // What the trust file says that it is of.
  std::string Of(const audit::Report& report) const {
    const bool all = !run_.no_command_line;
    return absl::StrCat(all ? absl::StrJoin(program_, " ") : program_.front(), ", ", Today(), ", ",
                        report.driver);
  }

  void Show(const audit::Report& report, const audit::TrustFile* trust,
            replay::NewFile* file) const {
    std::string text = format_ == "json" ? ToJson(report, top_) : ToTable(report, top_);
    if (trust != nullptr && format_ == "table") absl::StrAppend(&text, HowToUse(*trust));
    if (file != nullptr) {
      file->Write(text);
    } else {
      std::cout << text;
    }
  }

  std::string HowToUse(const audit::TrustFile& trust) const {
    std::string text;
    if (trust.graph_launches != 0) {
      absl::StrAppend(&text, trust.graph_launches,
                      " launches of graphs say nothing of the kernels in them, and are not in ",
                      trust_, "\n");
    }
    if (trust.unnamed_launches != 0) {
      absl::StrAppend(&text, trust.unnamed_launches,
                      " launches are of kernels that a trust file cannot name\n");
    }
    absl::StrAppend(&text,
                    "so that memory moves beside kernels as this allows: VRAMSPAN_TRUST=", trust_,
                    " vramspan run -- ", program_.front(), " ...\n");
    return text;
  }

  std::optional<CommandOptions> given_;
  std::string format_ = "table";
  std::string output_, trust_;
  size_t top_ = 0;
  bool force_ = false;
  run::Options run_;
  std::vector<std::string> program_;
};

VRAMSPAN_COMMAND(AuditCommand);

}  // namespace
}  // namespace vramspan
