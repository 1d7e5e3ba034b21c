#include "runtime/lease/pages.h"

#include "runtime/lease/message.h"

namespace vramspan::lease {

// The second word is for later: 0.

std::array<uint64_t, ProcessPage::kWords> ToWords(const ProcessPage& page) {
  return {kVersion,
          0,
          page.beat,
          page.used_device.value,
          page.used_host.value,
          page.wanted_device.value,
          page.wanted_host.value,
          page.cached.value,
          page.clean.value,
          page.cold.value,
          page.stalled,
          page.works,
          page.flags};
}

std::array<uint64_t, BrokerPage::kWords> ToWords(const BrokerPage& page) {
  return {kVersion, 0, page.revision, page.device.value, page.host.value, page.flags};
}

bool FromWords(const std::array<uint64_t, ProcessPage::kWords>& words, ProcessPage* page) {
  if (words[0] == 0) return false;
  *page = {.beat = words[2],
           .used_device = Bytes(words[3]),
           .used_host = Bytes(words[4]),
           .wanted_device = Bytes(words[5]),
           .wanted_host = Bytes(words[6]),
           .cached = Bytes(words[7]),
           .clean = Bytes(words[8]),
           .cold = Bytes(words[9]),
           .stalled = words[10],
           .works = words[11],
           .flags = words[12]};
  return true;
}

bool FromWords(const std::array<uint64_t, BrokerPage::kWords>& words, BrokerPage* page) {
  if (words[0] == 0) return false;
  *page = {
      .revision = words[2], .device = Bytes(words[3]), .host = Bytes(words[4]), .flags = words[5]};
  return true;
}

}  // namespace vramspan::lease
