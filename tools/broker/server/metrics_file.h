// Writes metrics into a file, for node_exporter's textfile collector.
//
// Whoever reads it sees all of one text (tools/metrics/textfile.h). A folder may hang, as one on a
// network does. So each text is written by a thread of its own, and no other is begun before that
// has ended.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_METRICS_FILE_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_METRICS_FILE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan::broker {

// What a file of a broker begins with.
inline constexpr std::string_view kMetricsMark = "# Written by vramspan broker.\n";

// A path that the collector looks at: its name ends in .prom.
Status CheckMetricsPath(const std::string& path);

// Puts the mark and the text there. Waits for what the folder lies on.
Status WriteMetricsFile(const std::string& path, std::string_view text);

class MetricsFile {
 public:
  using Writer = std::function<Status(const std::string& path, std::string_view text)>;

  explicit MetricsFile(std::string path, Writer writer = WriteMetricsFile);
  // Waits for nothing.
  void Write(std::shared_ptr<const std::string> text);
  // Says what came of the last one, if that is known and news.
  void Look();

 private:
  // What is shared with the thread. Whoever is the last to need it lets it go.
  struct Job {
    std::string path;
    Writer writer;
    std::shared_ptr<const std::string> text;
    Status result;
    std::atomic<bool> done = false;
  };

  static void* Run(void* job);
  void Learn(const Status& result);

  const std::string path_;
  const Writer writer_;
  std::shared_ptr<Job> job_;
  std::string last_;  // What was said last.
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_METRICS_FILE_H_
