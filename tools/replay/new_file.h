// Results as files: written where they have no name, and put into their place when they are whole.
// Whatever happens before, what is there stays as it is, and of a program that is killed nothing
// stays. Where the file system has no files without a name (O_TMPFILE), or there is no /proc, they
// are written beside the place, and a killed program leaves a `.vramspan-PID-TIME.part` there. What
// replaces a file has such a name as well, for the moment between two system calls.
#ifndef VRAMSPAN_TOOLS_REPLAY_NEW_FILE_H_
#define VRAMSPAN_TOOLS_REPLAY_NEW_FILE_H_

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/status.h"

namespace vramspan::replay {

// Where a result goes, for whoever opens the file itself.
class OutputPlace {
 public:
  // AlreadyExists where something is there and not `force`. Errors name it, here and below.
  static StatusOr<std::unique_ptr<OutputPlace>> Find(const std::string& path, bool force);
  // Removes what was written and not moved.
  ~OutputPlace();
  OutputPlace(const OutputPlace&) = delete;
  OutputPlace& operator=(const OutputPlace&) = delete;

  // What to open for writing: an empty file, or a pipe or a device. It is there as long as this is.
  const std::string& writing() const { return writing_; }
  // Once it is written and closed.
  Status Move();

 private:
  OutputPlace(std::string path, std::string target, bool force)
      : path_(std::move(path)), target_(std::move(target)), force_(force) {}

  // Makes the file that is written.
  Status Make();
  // Gives it the name `to`, which nothing has; errno's number, or 0.
  int Name(const std::string& to) const;

  const std::string path_;    // As it was given.
  const std::string target_;  // Where links lead.
  const bool force_;
  std::string writing_;
  std::string beside_;  // Its name in the folder, while it has one.
  int fd_ = -1;         // -1 for a pipe or a device.
};

class NewFile {
 public:
  // As OutputPlace::Find. "-" is stdout.
  static StatusOr<std::unique_ptr<NewFile>> Open(const std::string& path, bool force);
  // Unless it was closed nothing is left of it.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // What goes wrong is told by Close: DataLoss.
  void Write(std::string_view bytes);
  Status Close();

 private:
  NewFile(std::FILE* file, std::string path, std::unique_ptr<OutputPlace> place)
      : file_(file), path_(std::move(path)), place_(std::move(place)) {}

  std::FILE* file_;
  const std::string path_;
  const std::unique_ptr<OutputPlace> place_;  // Null for stdout.
  int error_ = 0;                             // The first that there was.
};

// What Open would say: for who has long to work before there is something to write.
Status CheckNewFile(const std::string& path, bool force);
// A whole file at once.
Status WriteNewFile(const std::string& path, bool force, std::string_view bytes);

// FailedPrecondition where `output` is the file `other`, which writing would destroy. `what` names
// that: "the trace that is read".
Status RefuseSameFile(const std::string& output, const std::string& other, std::string_view what);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_NEW_FILE_H_
