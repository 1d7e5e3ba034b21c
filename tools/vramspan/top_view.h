// What the screen of `vramspan top` shows, and what keys change in that.
//
// Pure: rows and keys go in, lines come out.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_TOP_VIEW_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_TOP_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tools/vramspan/top_keys.h"
#include "tools/vramspan/top_rows.h"
#include "tools/vramspan/top_table.h"

namespace vramspan::top {

struct ScreenLine {
  std::string text;
  bool marked = false;
};

class View {
 public:
  // What was found. While the picture is held it stays as it is.
  void Show(std::vector<Row> rows, std::vector<std::string> notes, uint64_t now);
  void Press(Key key);
  bool ended() const { return ended_; }

  // At most `height` lines of at most `width` characters.
  std::vector<ScreenLine> Lines(size_t width, size_t height) const;

 private:
  using Id = std::tuple<uint64_t, uint32_t, uint32_t>;
  enum class Page { kList, kDecisions, kKeys };

  static Id IdOf(const Row& row) {
    return {row.seen.record.space, row.seen.record.pid, row.seen.record.serial};
  }
  void Arrange();
  size_t Chosen() const;  // By place among the rows; their number where there is none.
  void Choose(size_t place);
  void List(size_t height, std::vector<ScreenLine>* lines) const;

  std::vector<Row> rows_;
  std::vector<std::string> notes_;
  uint64_t now_ = 0;
  Id chosen_{};
  Column sorted_ = Column::kIn;
  Page page_ = Page::kList;
  bool held_ = false, ended_ = false;
};

}  // namespace vramspan::top

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_TOP_VIEW_H_
