// Numbers as Prometheus reads them: its text format, version 0.0.4.
//
// All samples of a name stand together, below what the name means. Whoever writes them sees to it
// that no two have the same labels.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_METRICS_EXPOSITION_H_
#define VRAMSPAN_TOOLS_METRICS_EXPOSITION_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/units.h"

namespace vramspan::metrics {

// `a="x",b="y"`, from names that are as they must be and values that anybody may have written.
// Those are shown clean, and cut where they are very long.
std::string LabelText(std::initializer_list<std::pair<std::string_view, std::string_view>> labels);
// Both of them.
std::string Joined(std::string_view labels, std::string_view more);

class Exposition {
 public:
  // What follows is about this. A counter's name ends in _total.
  void Begin(std::string_view name, std::string_view type, std::string_view help);
  // `labels` as of LabelText; empty where there are none.
  void Add(std::string_view labels, uint64_t value);
  void Add(std::string_view labels, Bytes bytes) { Add(labels, bytes.value); }
  void Add(std::string_view labels, Duration seconds);
  void Add(std::string_view labels, double value);
  // Of a histogram: `suffix` is _bucket, _sum or _count.
  void AddPart(std::string_view suffix, std::string_view labels, uint64_t value);
  void AddPart(std::string_view suffix, std::string_view labels, Duration seconds);

  std::string Take() { return std::move(text_); }

 private:
  void Write(std::string_view suffix, std::string_view labels, std::string_view value);

  std::string name_, text_;
};

}  // namespace vramspan::metrics

#endif  // VRAMSPAN_TOOLS_METRICS_EXPOSITION_H_
