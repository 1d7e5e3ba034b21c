// `vramspan audit`: what did the inference of working sets miss, by the GPU's own counters?
#include <absl/strings/str_cat.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>

#include "tools/replay/new_file.h"
#include "tools/vramspan/audit_report.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/open_driver.h"
#include "tools/vramspan/run_program.h"

namespace vramspan {
namespace {

// A folder for the results, until it goes out of scope.
class ResultsFolder {
 public:
  static StatusOr<std::unique_ptr<ResultsFolder>> Make() {
    std::error_code error;
    std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    if (error) parent = "/tmp";
    std::string path = parent / "vramspan-audit-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      return absl::UnavailableError(
          absl::StrCat("cannot make a folder in ", parent.string(), ": ", std::strerror(errno)));
    }
    return std::unique_ptr<ResultsFolder>(new ResultsFolder(path));
  }
  ~ResultsFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (error) {
      SayError("vramspan audit", absl::StrCat(path_, " cannot be removed: ", error.message()));
    }
  }
  ResultsFolder(const ResultsFolder&) = delete;
  ResultsFolder& operator=(const ResultsFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit ResultsFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

class AuditCommand final : public Command {
 public:
  std::string name() const override { return "audit"; }
  std::string summary() const override {
    return "Run a program, and count what its kernels touch that was not inferred";
  }

  void Define(CommandOptions& options) override {
    options.Option("program", program_, "The program, linked with vramspan, and its arguments")
        .Required();
    options.WordsLast();
    options.Flag("--simulate", simulate_, "Run the program on the simulated driver");
    options.Option("--top", top_, "How many kernels to show, the worst first; 0 shows all")
        .AtLeastNone()
        .Shown("N")
        .ShowDefault();
    options.Option("--format", format_, "How the report is printed")
        .OneOf({"table", "json"})
        .ShowDefault();
    options.Option("--output", output_, "Write the report to FILE (default: stdout)").Shown("FILE");
    options.Flag("--force", force_, "Let --output replace a file");
    options.Footer(
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
        "  vramspan audit -- ./train --steps 3\n"
        "  vramspan audit --top 10 -- ./train --steps 3\n"
        "\n"
        "Read more: docs/audit.md");
  }

  int Run() override {
    const auto failed = [](const Status& status) {
      SayError("vramspan audit", status.message());
      return kExitFailure;
    };
    std::unique_ptr<replay::NewFile> file;  // Before the program runs, which may take long.
    if (!output_.empty()) {
      StatusOr<std::unique_ptr<replay::NewFile>> opened = replay::NewFile::Open(output_, force_);
      if (!opened.ok()) return failed(opened.status());
      file = *std::move(opened);
    }
    const auto folder = ResultsFolder::Make();
    if (!folder.ok()) return failed(folder.status());
    std::vector<std::pair<std::string, std::string>> environment = {
        {"VRAMSPAN_AUDIT", (*folder)->path()}, {"VRAMSPAN_TRACER", "cupti"}};
    if (simulate_) {
      const StatusOr<std::string> driver = SimulatedDriver();
      if (!driver.ok()) return failed(driver.status());
      environment.push_back({"VRAMSPAN_DRIVER", *driver});
    }
    const StatusOr<int> code = RunProgram(program_, environment);
    if (!code.ok()) {
      failed(code.status());
      return absl::IsNotFound(code.status())             ? kExitNotFound
             : absl::IsFailedPrecondition(code.status()) ? kExitNotRunnable
                                                         : kExitFailure;
    }
    StatusOr<audit::Report> report = audit::ReadReport((*folder)->path());
    if (!report.ok()) return failed(report.status());
    if (report->runtimes == 0) {
      return failed(absl::FailedPreconditionError(
          absl::StrCat(program_[0], " created no vramspan runtime (its exit code was ", *code,
                       "), so there was nothing to audit")));
    }
    report->program = program_;
    report->exit_code = *code;
    const bool nothing = report->rows.empty() && !report->errors.empty();
    if (!nothing) Show(*report, file.get());
    for (const std::string& error : report->errors) failed(absl::UnavailableError(error));
    if (report->incomplete != 0) {
      SayError("vramspan audit",
               absl::StrCat(report->incomplete, " of ", report->runtimes,
                            " runtimes did not end in order, so their last launches are missing"));
    }
    if (file != nullptr && !nothing) {
      const Status written = file->Close();
      if (!written.ok()) return failed(written);
    }
    return report->errors.empty() ? *code : kExitFailure;
  }

 private:
  void Show(const audit::Report& report, replay::NewFile* file) const {
    const std::string text = format_ == "json" ? ToJson(report, top_) : ToTable(report, top_);
    if (file != nullptr) {
      file->Write(text);
    } else {
      std::cout << text;
    }
  }

  std::string format_ = "table";
  std::string output_;
  size_t top_ = 0;
  bool force_ = false, simulate_ = false;
  std::vector<std::string> program_;
};

VRAMSPAN_COMMAND(AuditCommand);

}  // namespace
}  // namespace vramspan
