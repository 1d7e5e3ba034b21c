// Writes one of the samples to stdout: `report_sample sample|small|shared|hostile`, to look at a
// page by eye.
#include <cstring>
#include <iostream>

#include "tests/report/sample_replay.h"

int main(int argc, char** argv) {
  using namespace vramspan::replay;
  const char* which = argc == 2 ? argv[1] : "";
  if (std::strcmp(which, "sample") == 0) {
    std::cout << SampleReplay();
  } else if (std::strcmp(which, "small") == 0) {
    std::cout << SmallReplay();
  } else if (std::strcmp(which, "shared") == 0) {
    std::cout << SharedSample();
  } else if (std::strcmp(which, "hostile") == 0) {
    std::cout << HostileReplay();
  } else {
    std::cerr << "usage: report_sample sample|small|shared|hostile\n";
    return 2;
  }
  return std::cout.flush() ? 0 : 1;
}
