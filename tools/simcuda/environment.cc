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

uint64_t EnvBits(const char* name, uint64_t fallback) {
  const char* const value = getenv(name);
  if (value == nullptr || *value == '\0') return fallback;
  if (std::string_view(value) == "none") return 0;
  uint64_t bits = 0;
  for (const char* at = value;; ++at) {
    char* end = nullptr;
    const unsigned long number = strtoul(at, &end, 10);
    if (isdigit(static_cast<unsigned char>(*at)) == 0 || number > 63) break;
    bits |= uint64_t{1} << number;
    if (*end == '\0') return bits;
    if (*end != ',') break;
    at = end;
  }
  EnvRefuse(name, value, "numbers from 0 to 63 with commas between them, or none");
}

void EnvRates(const char* name, double* first, double* second) {
  const char* const value = getenv(name);
  if (value == nullptr || *value == '\0') return;
  int read = 0;
  const int rates = sscanf(value, "%lf%n,%lf%n", first, &read, second, &read);
  if (rates == 1) *second = *first;
  const auto rate = [](double number) { return number >= 1e-3 && number <= 1e6; };
  if (rates < 1 || value[read] != '\0' || !rate(*first) || !rate(*second)) {
    EnvRefuse(name, value, "GB/s, such as 13 or 13,12.5");
  }
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
