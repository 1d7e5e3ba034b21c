#include "tools/vramspan/top_view.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace vramspan::top {
namespace {

constexpr const char* kKeys[] = {
    "Up, Down, k, j    choose a process",
    "Home, End, g, G   the first, the last",
    "Enter             its last decisions, and back",
    "s, F6             sort by the next column",
    "p, space          hold the picture, and go on",
    "h, ?, F1          these lines, and back",
    "q, F10            end",
    "",
    "RES and HOST: where the data lie. IN/s and OUT/s: copied to the device, to the host.",
    "LINK%: the busier way, of what the device moves each way while as much goes the other.",
    "WAIT%: of the time, the first launch in line waited for memory. SLOW: what that makes.",
    "TRUST: launches of proven code. docs/top.md says more.",
};

}  // namespace

void View::Show(std::vector<Row> rows, std::vector<std::string> notes, uint64_t now) {
  if (held_) return;
  rows_ = std::move(rows);
  notes_ = std::move(notes);
  now_ = now;
  Arrange();
}

void View::Arrange() {
  Sort(sorted_, &rows_);
  if (Chosen() == rows_.size() && !rows_.empty() && page_ != Page::kDecisions) Choose(0);
}

size_t View::Chosen() const {
  size_t place = 0;
  while (place < rows_.size() && IdOf(rows_[place]) != chosen_) ++place;
  return place;
}

void View::Choose(size_t place) {
  if (!rows_.empty()) chosen_ = IdOf(rows_[std::min(place, rows_.size() - 1)]);
}

void View::Press(Key key) {
  const size_t at = Chosen();
  switch (key) {
    case Key::kUp:
      return Choose(at == 0 ? 0 : at - 1);
    case Key::kDown:
      return Choose(at == rows_.size() ? at : at + 1);
    case Key::kFirst:
      return Choose(0);
    case Key::kLast:
      return Choose(rows_.size());
    case Key::kEnter:
      page_ = page_ == Page::kList && at != rows_.size() ? Page::kDecisions : Page::kList;
      return;
    case Key::kEscape:
      page_ = Page::kList;
      return;
    case Key::kSort:
      sorted_ = static_cast<Column>((static_cast<int>(sorted_) + 1) % kColumns);
      return Arrange();
    case Key::kHold:
      held_ = !held_;
      return;
    case Key::kHelp:
      page_ = page_ == Page::kKeys ? Page::kList : Page::kKeys;
      return;
    case Key::kQuit:
      ended_ = true;
      return;
  }
}

void View::List(size_t height, std::vector<ScreenLine>* lines) const {
  if (rows_.empty()) {
    lines->push_back({"no program of this user runs under vramspan, or none has memory yet"});
    return;
  }
  lines->push_back({TitleLine(), /*marked=*/true});
  const size_t room = std::max<size_t>(height > lines->size() ? height - lines->size() : 0, 1);
  const size_t chosen = Chosen();
  const size_t first = chosen < room ? 0 : chosen - room + 1;
  for (size_t i = first; i < rows_.size() && i < first + room; ++i) {
    lines->push_back({RowLine(rows_[i]), /*marked=*/i == chosen});
  }
}

std::vector<ScreenLine> View::Lines(size_t width, size_t height) const {
  std::vector<ScreenLine> lines;
  lines.push_back(
      {absl::StrCat("vramspan top  ", rows_.size(), " shown, sorted by ", Title(sorted_),
                    held_ ? ", held (p goes on)" : "", "  h: keys  q: end")});
  for (const std::string& line : DeviceLines(rows_)) lines.push_back({line});
  for (const std::string& note : notes_) lines.push_back({note});
  lines.emplace_back();
  const size_t chosen = Chosen();
  if (page_ == Page::kKeys) {
    for (const char* line : kKeys) lines.push_back({line});
  } else if (page_ == Page::kDecisions && chosen == rows_.size()) {
    lines.push_back({"the process has ended (Enter: back)"});
  } else if (page_ == Page::kDecisions) {
    lines.push_back({TitleLine(), /*marked=*/true});
    lines.push_back({RowLine(rows_[chosen])});
    lines.emplace_back();
    lines.push_back({"last decisions (Enter: back)"});
    for (const std::string& line : DecisionLines(rows_[chosen], now_)) lines.push_back({line});
  } else {
    List(height, &lines);
  }
  if (lines.size() > height) lines.resize(height);
  for (ScreenLine& line : lines) line.text = Clip(line.text, width);
  return lines;
}

}  // namespace vramspan::top
