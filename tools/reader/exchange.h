// The folder in which a running program asks, and is answered (docs/trust.md): its `asked`, its
// `answers`, and images as KeptImages writes them. It is of this user alone.
//
// Threads: any.
#ifndef VRAMSPAN_TOOLS_READER_EXCHANGE_H_
#define VRAMSPAN_TOOLS_READER_EXCHANGE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "tools/prove/mapped_file.h"
#include "tools/reader/asks.h"

namespace vramspan::reader {

inline constexpr char kAsked[] = "asked", kAnswers[] = "answers";

// Makes the two files in a folder that is there.
Status MakeExchange(const std::string& folder);

// Removes what a program and its reader put into the folder, and the folder if nothing else is in
// it. What is there under other names stays.
void RemoveExchange(const std::string& folder);

class Exchange {
 public:
  // FailedPrecondition: it is no such folder.
  static StatusOr<std::unique_ptr<Exchange>> Open(const std::string& folder);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // What was asked since. One thread at a time.
  Status TakeAsked(AskLines* lines, std::vector<Ask>* asks) const;
  // Whole lines.
  Status Answer(std::string_view lines) const;
  // NotFound where there is none, and as MappedFile.
  StatusOr<prove::MappedFile> Image(uint64_t module) const;
  // Whether somebody took the folder away, or what was asked.
  bool Gone() const;
  // As RemoveExchange, without another descriptor. Not where somebody moved the folder. Once, at
  // the end of the process.
  void Remove() const;

  const std::string& folder() const { return folder_; }

 private:
  explicit Exchange(std::string folder) : folder_(std::move(folder)) {}
  Status OpenAll();
  bool Moved() const;

  const std::string folder_;
  int at_ = -1, asked_ = -1, answers_ = -1;
};

}  // namespace vramspan::reader

#endif  // VRAMSPAN_TOOLS_READER_EXCHANGE_H_
