// Puts metrics into a file, for node_exporter's textfile collector.
//
// Whoever reads it sees all of one text: it is written beside, under a name that nobody guesses,
// and put in its place. What is in that place already has to be a file of the same writer's.
#ifndef VRAMSPAN_TOOLS_METRICS_TEXTFILE_H_
#define VRAMSPAN_TOOLS_METRICS_TEXTFILE_H_

#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan::metrics {

struct Writer {
  std::string_view name;  // For messages.
  std::string_view mark;  // What its files begin with: a line of comment.
};

// A path that the collector looks at: its name ends in .prom. `option` is for the message.
Status CheckTextfile(std::string_view option, const std::string& path);

// Puts the mark and the text there. Waits for what the folder lies on.
Status WriteTextfile(const std::string& path, const Writer& writer, std::string_view text);

}  // namespace vramspan::metrics

#endif  // VRAMSPAN_TOOLS_METRICS_TEXTFILE_H_
