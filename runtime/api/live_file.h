// The file of a live record, in which others see how a runtime stands (live_place.h).
//
// It is opened for each writing: a child of fork has it only where that falls into one. A file that
// is mapped would end the program where somebody cuts it short.
//
// Threads: Write one at a time. The file goes when this does, or when the process ends by exit().
#ifndef VRAMSPAN_RUNTIME_API_LIVE_FILE_H_
#define VRAMSPAN_RUNTIME_API_LIVE_FILE_H_

#include <string>
#include <vector>

#include "runtime/api/live_record.h"
#include "runtime/backing/leaves_at_exit.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/base/user_folder.h"

namespace vramspan {

class LiveFile final : private LeavesAtExit {
 public:
  // Nothing is written yet.
  explicit LiveFile(std::vector<UserFolder> places);
  ~LiveFile() override;

  // Says in it whose it is, and puts it there. An error, which names the last place: none will do.
  // Nothing is written from then on. Where it only cannot be written now, that is no error.
  Status Write(LiveRecord* record) VS_EXCLUDES(writing_);

 private:
  Status WriteTo(const UserFolder& place, const LiveRecord& record) VS_REQUIRES(writing_);
  void Remove() VS_REQUIRES(writing_);
  void RemoveFrom(const UserFolder& place) VS_REQUIRES(writing_);
  void LeaveAtExit() override;

  const LiveRecord own_;  // Whose it is.
  const std::string name_;
  Mutex writing_;
  std::vector<UserFolder> places_
      VS_GUARDED_BY(writing_);  // Those that may do, the one in use first.
  bool written_ VS_GUARDED_BY(writing_) = false;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_LIVE_FILE_H_
