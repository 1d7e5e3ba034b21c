// `vramspan prove`: which kernels take no address from memory, by their machine code?
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/clean_text.h"
#include "tools/prove/code.h"
#include "tools/prove/disassembler.h"
#include "tools/prove/files.h"
#include "tools/prove/prover.h"
#include "tools/replay/new_file.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/prove_report.h"
#include "tools/vramspan/prove_trust.h"
#include "tools/vramspan/replay_progress.h"
#include "tools/vramspan/trust_text.h"

namespace vramspan {
namespace {

constexpr char kProve[] = "vramspan prove";

class ProveCommand final : public Command {
 public:
  std::string name() const override { return "prove"; }
  std::string summary() const override {
    return "Read machine code, and tell which kernels take no address from memory";
  }

  void Define(CommandOptions& options) override {
    options
        .Option("files", paths_,
                "Libraries, programs, fat binaries and cubins; of a folder, all that is below it")
        .Required()
        .Shown("FILE");
    options.Group("How code is read");
    options
        .Option("--nvdisasm", nvdisasm_,
                "NVIDIA's disassembler (default: nvdisasm in PATH, in the CUDA Toolkit, or in a "
                "package of python3)")
        .Shown("FILE");
    options.Option("--jobs", jobs_, "Cubins at once, 1 to 1024 (default: the number of cores)")
        .Within(1, 1024)
        .Shown("N");
    options.Group("What is written");
    options.Option("--trust", trust_, "Write what is proven to FILE, for `vramspan run --trust`")
        .Shown("FILE");
    options.Flag("--force", force_, "Let --trust replace a file");
    options.Flag("--list", list_, "Name each kernel with its verdict");
    options.Option("--top", top_, "How many reasons to show, the most frequent ones; 0 shows all")
        .AtLeastNone()
        .Shown("N")
        .ShowDefault();
    options.Option("--format", format_, "How the result is printed")
        .OneOf({"table", "json"})
        .ShowDefault();
    options.Footer(
        "Memory that a launch does not name may move while it runs, if its kernel takes no address "
        "from memory. Here that is told by the machine code, without a GPU and without running "
        "anything. A kernel is proven if its code for each GPU is, in the image that holds it.\n"
        "nvdisasm is NVIDIA's, and is part of the CUDA Toolkit.\n"
        "\n"
        "Exit status\n"
        "  0  all files were read, whatever is proven\n"
        "  1  something could not be read or written; stderr says what\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan prove libkernels.so --trust kernels.trust\n"
        "  vramspan prove --list kernels.cubin libkernels.so\n"
        "\n"
        "Read more: docs/trust.md");
  }

  int Run() override {
    // Before there is much to do.
    std::unique_ptr<replay::NewFile> trust;
    if (!trust_.empty()) {
      StatusOr<std::unique_ptr<replay::NewFile>> made = replay::NewFile::Open(trust_, force_);
      if (!made.ok()) return Failed(made.status());
      trust = *std::move(made);
    }
    const StatusOr<prove::Disassembler> nvdisasm = prove::Disassembler::Find(nvdisasm_);
    if (!nvdisasm.ok()) return Failed(nvdisasm.status());
    const std::vector<prove::FileVerdict> files = Read(*nvdisasm);
    if (files.empty()) {
      return code_ != kExitOk ? code_ : Failed(absl::NotFoundError("no file holds a GPU image"));
    }
    if (format_ == "json") {
      std::cout << prove::ToJson(files, nvdisasm->path(), top_, list_);
    } else {
      std::cout << (list_ ? prove::ToList(files) + "\n" : "") << prove::ToTable(files, top_);
    }
    if (!std::cout.flush()) Failed(absl::UnavailableError("the result could not be written"));
    if (trust != nullptr) Write(files, trust.get());
    return code_;
  }

 private:
  int Failed(const Status& status) {
    SayError(kProve, status.message());
    return code_ = kExitFailure;
  }

  // Those of the files that hold images.
  std::vector<prove::FileVerdict> Read(const prove::Disassembler& nvdisasm) {
    std::vector<std::string> paths;
    for (const std::string& path : paths_) {
      StatusOr<std::vector<std::string>> found = prove::FilesOf(path);
      if (!found.ok()) {
        Failed(found.status());
        continue;
      }
      paths.insert(paths.end(), found->begin(), found->end());
    }
    const auto read =
        [&nvdisasm](std::string_view cubin) -> StatusOr<std::vector<prove::KernelReading>> {
      VS_ASSIGN_OR_RETURN(const prove::MappedFile text, nvdisasm.Run(cubin));
      return prove::ReadKernels(text.bytes());
    };
    std::optional<replay::Progress> progress;
    const auto tell = [&](size_t done, size_t all) {
      if (!progress.has_value()) progress.emplace(kProve, all, "pieces of code");
      (*progress)(done);
    };
    std::vector<Status> errors;
    const unsigned jobs = jobs_ != 0 ? jobs_ : std::max(1u, std::thread::hardware_concurrency());
    std::vector<prove::FileVerdict> files = prove::Prove(paths, {read, tell}, jobs, &errors);
    progress.reset();
    for (const Status& error : errors) Failed(error);
    // That one without images was named is a mistake; in a folder most have none.
    std::erase_if(files, [this](const prove::FileVerdict& file) {
      const bool none = file.images == 0;
      if (none && std::find(paths_.begin(), paths_.end(), file.path) != paths_.end()) {
        Failed(absl::NotFoundError(absl::StrCat(CleanText(file.path), " holds no GPU image")));
      }
      return none;
    });
    return files;
  }

  void Write(const std::vector<prove::FileVerdict>& files, replay::NewFile* file) {
    const StatusOr<std::string> text = prove::MakeTrust(files, Today());
    if (!text.ok()) {
      Failed(absl::FailedPreconditionError(
          absl::StrCat(trust_, " is not written: ", text.status().message())));
      return;
    }
    file->Write(*text);
    const Status written = file->Close();
    if (!written.ok()) Failed(written);
  }

  std::vector<std::string> paths_;
  std::string nvdisasm_, trust_, format_ = "table";
  uint32_t jobs_ = 0;
  uint64_t top_ = 10;
  bool force_ = false, list_ = false;
  int code_ = kExitOk;
};

VRAMSPAN_COMMAND(ProveCommand);

}  // namespace
}  // namespace vramspan
