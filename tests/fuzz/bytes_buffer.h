// Bytes in memory as a stream buffer, which is what the importers read.
#ifndef VRAMSPAN_TESTS_FUZZ_BYTES_BUFFER_H_
#define VRAMSPAN_TESTS_FUZZ_BYTES_BUFFER_H_

#include <cstdint>
#include <streambuf>

class BytesBuffer : public std::streambuf {
 public:
  BytesBuffer(const uint8_t* data, size_t size) {
    char* const begin = const_cast<char*>(reinterpret_cast<const char*>(data));
    setg(begin, begin, begin + size);
  }
};

#endif  // VRAMSPAN_TESTS_FUZZ_BYTES_BUFFER_H_
