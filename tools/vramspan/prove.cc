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
#include "runtime/base/mutex.h"
#include "tools/prove/code.h"
#include "tools/prove/disassembler.h"
#include "tools/prove/files.h"
#include "tools/prove/prover.h"
#include "tools/replay/new_file.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/prove_program.h"
#include "tools/vramspan/prove_report.h"
#include "tools/vramspan/prove_trust.h"
#include "tools/vramspan/replay_progress.h"
#include "tools/vramspan/run_program.h"
#include "tools/vramspan/trust_text.h"

namespace vramspan {
namespace {

constexpr char kProve[] = "vramspan prove";

// Cubins that nvdisasm was not asked of, or had no room for. Of any thread.
class LeftUnread {
 public:
  void Add(const Status& why) VS_EXCLUDES(mu_) {
    MutexLock lock(mu_);
    if (count_++ == 0) first_ = why;
  }
  // OK: there is none.
  Status Told() const VS_EXCLUDES(mu_) {
    MutexLock lock(mu_);
    if (count_ == 0) return absl::OkStatus();
    return Status(first_.code(),
                  absl::StrCat(count_, count_ == 1 ? " piece of code was" : " pieces of code were",
                               " not read: ", first_.message(),
                               absl::IsResourceExhausted(first_)
                                   ? "; make room there, or name another folder by TMPDIR"
                                   : ""));
  }

 private:
  mutable Mutex mu_;
  uint64_t count_ VS_GUARDED_BY(mu_) = 0;
  Status first_ VS_GUARDED_BY(mu_);
};

class ProveCommand final : public Command {
 public:
  std::string name() const override { return "prove"; }
  std::string summary() const override {
    return "Read machine code, and tell which kernels take no address from memory";
  }

  void Define(CommandOptions& options) override {
    options
        .Option("files", paths_,
                "Libraries, programs, fat binaries and cubins; of a folder, all that is below it. "
                "Words behind -- are a program and its arguments: what it loads is read")
        .Shown("FILE");
    options.Group("How a program runs");
    options
        .Option("--keep", run_.keep,
                "Keep the images that it loads in DIR (default: none stays). What DIR has of "
                "earlier runs is read, too")
        .Shown("DIR");
    options.Flag("--simulate", run_.simulate, "Run it on the simulated driver");
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
        "from memory. Here that is told by the machine code, without counters. A kernel is proven "
        "if its code for each GPU is, in the image that holds it.\n"
        "FILEs need no GPU. But libraries unpack code from where no tool finds it, and others "
        "compile it as programs run. A program behind -- runs as ever, with more memory than its "
        "GPU has. All code that it and its children load is read when it has ended.\n"
        "nvdisasm is NVIDIA's, and is part of the CUDA Toolkit.\n"
        "\n"
        "Exit status\n"
        "  0    all was read, whatever is proven and however the program ended\n"
        "  1    something could not be read or written; stderr says what\n"
        "  2    the command line was not understood\n"
        "  126  the program cannot be run\n"
        "  127  there is no such program\n"
        "\n"
        "Examples\n"
        "  vramspan prove --trust train.trust -- python3 train.py --steps 1\n"
        "  vramspan prove libkernels.so --trust kernels.trust\n"
        "  vramspan prove --list kernels.cubin libkernels.so\n"
        "\n"
        "Read more: docs/trust.md, docs/preload.md");
  }

  // A program's words may be like any of ours.
  void Respell(std::vector<std::string>* words) override {
    const auto end = std::find(words->begin(), words->end(), "--");
    runs_ = end != words->end();
    if (!runs_) return;
    run_.words.assign(end + 1, words->end());
    words->erase(end, words->end());
  }

  int Run() override {
    if (const char* const wrong = Misused()) {
      SayError(kProve, wrong);
      return kExitUsage;
    }
    // Before there is much to do.
    std::unique_ptr<replay::NewFile> trust;
    if (!trust_.empty()) {
      StatusOr<std::unique_ptr<replay::NewFile>> made = replay::NewFile::Open(trust_, force_);
      if (!made.ok()) return Failed(made.status());
      trust = *std::move(made);
    }
    const StatusOr<prove::Disassembler> nvdisasm = prove::Disassembler::Find(nvdisasm_);
    if (!nvdisasm.ok() && nvdisasm_.empty()) {
      return Failed(absl::NotFoundError(
          absl::StrCat(nvdisasm.status().message(), ", or name the file by --nvdisasm")));
    }
    if (!nvdisasm.ok()) return Failed(nvdisasm.status());
    std::unique_ptr<prove::LoadedImages> loaded;
    if (runs_) {
      StatusOr<std::unique_ptr<prove::LoadedImages>> images = prove::LoadedImages::Of(run_);
      if (!images.ok()) return CannotRun(images.status());
      loaded = *std::move(images);
    }
    const std::vector<prove::FileVerdict> files = Read(*nvdisasm, loaded.get());
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

  // What is wrong with the command line; null: nothing.
  const char* Misused() const {
    if (runs_ && run_.words.empty()) return "there is no program behind --";
    if (!runs_ && paths_.empty()) return "name files, or a program behind --";
    if (!runs_ && (!run_.keep.empty() || run_.simulate)) {
      return "--keep and --simulate are for a program, and none is behind --";
    }
    return nullptr;
  }

  int CannotRun(const Status& status) {
    Failed(status);
    return absl::IsInvalidArgument(status)      ? kExitUsage
           : absl::IsNotFound(status)           ? kExitNotFound
           : absl::IsFailedPrecondition(status) ? kExitNotRunnable
                                                : kExitFailure;
  }

  // Those of the files that hold images. Null: no program ran.
  std::vector<prove::FileVerdict> Read(const prove::Disassembler& nvdisasm,
                                       const prove::LoadedImages* loaded) {
    std::vector<std::string> paths;
    for (const std::string& path : paths_) {
      StatusOr<std::vector<std::string>> found = prove::FilesOf(path);
      if (!found.ok()) {
        Failed(found.status());
        continue;
      }
      paths.insert(paths.end(), found->begin(), found->end());
    }
    if (loaded != nullptr) {
      paths.insert(paths.end(), loaded->paths().begin(), loaded->paths().end());
    }
    LeftUnread unread;
    const auto read = [&](std::string_view cubin) -> StatusOr<std::vector<prove::KernelReading>> {
      const StatusOr<prove::MappedFile> text = nvdisasm.Run(cubin);
      if (text.ok()) return prove::ReadKernels(text->bytes());
      // What nvdisasm says of the code itself is a verdict.
      if (!absl::IsFailedPrecondition(text.status())) unread.Add(text.status());
      return text.status();
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
    errors.push_back(unread.Told());
    for (const Status& error : errors) {
      if (!error.ok()) Failed(error);
    }
    if (loaded != nullptr) AddLoaded(*loaded, &files);
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

  void AddLoaded(const prove::LoadedImages& loaded, std::vector<prove::FileVerdict>* files) {
    const bool nothing = std::none_of(files->begin(), files->end(), [&](const auto& file) {
      return file.images != 0 &&
             std::binary_search(loaded.paths().begin(), loaded.paths().end(), file.path);
    });
    loaded.Name(files);
    if (nothing) {
      Failed(loaded.Nothing());
    } else if (loaded.exit_code() != 0) {
      SayError(kProve, absl::StrCat(CleanText(run_.words.front()), " ended with exit code ",
                                    loaded.exit_code(), "; what it loaded was read"));
    }
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
  prove::ProgramOptions run_;
  bool runs_ = false;
  std::string nvdisasm_, trust_, format_ = "table";
  uint32_t jobs_ = 0;
  uint64_t top_ = 10;
  bool force_ = false, list_ = false;
  int code_ = kExitOk;
};

VRAMSPAN_COMMAND(ProveCommand);

}  // namespace
}  // namespace vramspan
