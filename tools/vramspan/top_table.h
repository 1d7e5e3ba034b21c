// The rows of `vramspan top` as lines of text, each at most so many columns wide.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_TOP_TABLE_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_TOP_TABLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tools/vramspan/top_rows.h"

namespace vramspan::top {

enum class Column { kPid, kResident, kHost, kIn, kOut, kLink, kWait, kTime };
inline constexpr int kColumns = 8;
const char* Title(Column column);
// Largest first, but for the process's number.
void Sort(Column by, std::vector<Row>* rows);

// A line for each device that has rows.
std::vector<std::string> DeviceLines(const std::vector<Row>& rows);
std::string TitleLine();
std::string RowLine(const Row& row);
// What was decided of one row, the latest first; `now` as of records.
std::vector<std::string> DecisionLines(const Row& row, uint64_t now);

// The first `columns` characters of clean text.
std::string Clip(std::string_view text, size_t columns);

// All of it, for --once. With the decisions, where processes were named.
std::string Table(const std::vector<Row>& rows, bool decisions, uint64_t now);

}  // namespace vramspan::top

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_TOP_TABLE_H_
