#include "bench/result_row.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace vramspan::bench {
namespace {

bool IsUpper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool IsAlnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + '"';
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string IdOf(std::string_view name) {
  std::string id;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (IsUpper(c) && i > 0 && IsAlnum(name[i - 1]) && !IsUpper(name[i - 1])) id += '_';
    id += IsAlnum(c) ? static_cast<char>(std::tolower(c)) : c == '/' ? '.' : '_';
  }
  return id;
}

std::string CommandOf(int argc, char* const* argv) {
  std::string command;
  const char* driver = std::getenv("VRAMSPAN_DRIVER");
  if (driver != nullptr) command = std::string("VRAMSPAN_DRIVER=") + driver + ' ';
  for (int i = 0; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool plain = argument.find_first_of(" \t\"'$*|&;()<>\\") == std::string_view::npos;
    command += i == 0 ? "" : " ";
    command += plain ? std::string(argument) : '\'' + std::string(argument) + '\'';
  }
  return command;
}

std::string ResultLine(const ResultRow& row, std::string_view command) {
  const auto [least, most] = std::minmax_element(row.values.begin(), row.values.end());
  const std::string spread =
      row.values.size() == 1 ? "null" : '[' + Number(*least) + ", " + Number(*most) + ']';
  return "{\"id\": " + Quoted(row.id) + ", \"value\": " + Number(Median(row.values)) +
         ", \"unit\": " + Quoted(row.unit) + ", \"spread\": " + spread +
         ", \"n\": " + std::to_string(row.values.size()) + ", \"command\": " + Quoted(command) +
         '}';
}

bool AppendResults(const std::string& path, const std::vector<ResultRow>& rows,
                   std::string_view command) {
  std::FILE* file = std::fopen(path.c_str(), "a");
  bool good = file != nullptr;
  for (const ResultRow& row : rows) {
    good = good && std::fprintf(file, "%s\n", ResultLine(row, command).c_str()) > 0;
  }
  if (file != nullptr && std::fclose(file) != 0) good = false;
  if (!good) std::fprintf(stderr, "%s: cannot be written: %s\n", path.c_str(), strerror(errno));
  return good;
}

}  // namespace vramspan::bench
