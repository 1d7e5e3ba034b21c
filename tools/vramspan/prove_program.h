// A program that `vramspan prove` runs, and the GPU images that it and its children load.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_PROVE_PROGRAM_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_PROVE_PROGRAM_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/prove/prover.h"
#include "tools/vramspan/own_folder.h"

namespace vramspan::prove {

struct ProgramOptions {
  std::vector<std::string> words;  // The program and its arguments. Not empty.
  std::string keep;                // A folder for the images; empty: one of our own.
  bool simulate = false;
};

class LoadedImages {
 public:
  // Runs the program. Errors are as RunProgram's, or InvalidArgument for what the options or the
  // environment ask for; Unavailable: all else.
  static StatusOr<std::unique_ptr<LoadedImages>> Of(const ProgramOptions& options);

  int exit_code() const { return exit_code_; }
  // Each image in a file, by name; with those that are in the folder from before. The files go with
  // this object, unless the user named their folder.
  const std::vector<std::string>& paths() const { return paths_; }
  // Of what was read: has the verdicts on these files name the program and not the file. Those
  // that hold nothing for a GPU, or nothing that other files do not hold, go.
  void Name(std::vector<FileVerdict>* files) const;
  // Why nothing of it can be read, and what to do.
  Status Nothing() const;

 private:
  explicit LoadedImages(std::string program) : program_(std::move(program)) {}
  Status Run(const ProgramOptions& options);
  Status ListFiles();

  const std::string program_;  // Its name, without folders.
  std::unique_ptr<OwnFolder> own_;
  std::string folder_;
  std::vector<std::string> paths_;
  int exit_code_ = 0;
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_PROVE_PROGRAM_H_
