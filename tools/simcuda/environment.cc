#include "tools/simcuda/environment.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace simcuda {

void EnvRefuse(const char* name, const char* value, const char* wanted) {
  fprintf(stderr, "simcuda: %s is '%s', expected %s\n", name, value, wanted);
  exit(2);
}

size_t EnvNumber(const char* name, size_t fallback) {
  const char* value = getenv(name);
  if (value == nullptr || *value == '\0') return fallback;
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = strtoull(value, &end, 10);
  if (isdigit(static_cast<unsigned char>(*value)) == 0 || errno != 0 || *end != '\0') {
    EnvRefuse(name, value, "a whole number");
  }
  return number;
}

size_t EnvBytes(const char* name, size_t fallback) {
  const char* value = getenv(name);
  if (value == nullptr || *value == '\0') return fallback;
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = strtoull(value, &end, 10);
  const std::string_view unit = end;
  int shift = -1;
  if (unit.empty() || unit == "B") shift = 0;
  if (unit == "KiB") shift = 10;
  if (unit == "MiB") shift = 20;
  if (unit == "GiB") shift = 30;
  if (unit == "TiB") shift = 40;
  if (isdigit(static_cast<unsigned char>(*value)) == 0 || errno != 0 || shift < 0 ||
      number > (~0ull >> shift)) {
    EnvRefuse(name, value, "bytes, such as 512MiB or 1GiB");
  }
  return static_cast<size_t>(number) << shift;
}

void EnvVersion(const char* name, int* major, int* minor) {
  const char* value = getenv(name);
  if (value == nullptr || *value == '\0') return;
  int read = 0;
  if (sscanf(value, "%d.%d%n", major, minor, &read) != 2 || value[read] != '\0') {
    EnvRefuse(name, value, "a version, such as 9.0");
  }
}

}  // namespace simcuda
