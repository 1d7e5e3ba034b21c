#include "tests/hostile/torture/options.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace torture {
namespace {

[[noreturn]] void Usage(const std::string& word) {
  std::fprintf(stderr,
               "torture: not understood: %s\n"
               "usage: hostile_torture [--seed N] [--threads N] [--operations N] [--seconds S] "
               "[--bytes N] [--largest N] [--beside LIBRARY] [--slow] [--failing] "
               "[--lax] "
               "[--no-vmm] [--no-pools] [--no-graphs] [--no-forks] [--no-resets] [--no-exits]\n",
               word.c_str());
  std::exit(2);
}

// 512, 64K, 48M or 8G.
uint64_t Number(const std::string& text) {
  char* end = nullptr;
  const uint64_t number = std::strtoull(text.c_str(), &end, 10);
  const std::string unit = end;
  if (end == text.c_str()) Usage(text);
  if (unit.empty()) return number;
  if (unit == "K") return number << 10;
  if (unit == "M") return number << 20;
  if (unit == "G") return number << 30;
  Usage(text);
}

bool Flag(const std::string& word, Options* o) {
  const struct {
    const char* name;
    bool* where;
    bool value;
  } flags[] = {
      {"--slow", &o->slow, true},       {"--failing", &o->failing, true},
      {"--no-vmm", &o->vmm, false},     {"--no-pools", &o->pools, false},
      {"--lax", &o->lax, true},         {"--no-graphs", &o->graphs, false},
      {"--no-forks", &o->forks, false}, {"--no-resets", &o->resets, false},
      {"--no-exits", &o->exits, false},
  };
  for (const auto& flag : flags) {
    if (word != flag.name) continue;
    *flag.where = flag.value;
    return true;
  }
  return false;
}

}  // namespace

Options ReadOptions(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (Flag(word, &o)) continue;
    if (i + 1 == argc) Usage(word);
    const std::string value = argv[++i];
    if (word == "--seconds") {
      o.seconds = std::atof(value.c_str());
    } else if (word == "--beside") {
      o.beside = value;
    } else if (word == "--seed") {
      o.seed = Number(value);
    } else if (word == "--threads") {
      o.threads = static_cast<int>(Number(value));
    } else if (word == "--operations") {
      o.operations = Number(value);
    } else if (word == "--bytes") {
      o.bytes = Number(value);
    } else if (word == "--largest") {
      o.largest = Number(value);
    } else {
      Usage(word);
    }
  }
  return o;
}

}  // namespace torture
