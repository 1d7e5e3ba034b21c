#include "runtime/memory/reservations.h"

#include <iterator>

namespace vramspan {

void Reservations::Add(DevicePtr base, Bytes size, uint32_t id) {
  ranges_.emplace(base.value, Range{size, id});
}

Reservations::Ranges::const_iterator Reservations::Find(DevicePtr p) const {
  const auto after = ranges_.upper_bound(p.value);
  if (after == ranges_.begin()) return ranges_.end();
  const auto it = std::prev(after);
  return p.value - it->first < it->second.size.value ? it : ranges_.end();
}

uint32_t Reservations::EmptyAt(DevicePtr base, Bytes size) const {
  const auto it = ranges_.find(base.value);
  const bool fits = it != ranges_.end() && it->second.size == size && it->second.mapped.empty();
  return fits ? it->second.id : 0;
}

uint32_t Reservations::Holding(DevicePtr p, Bytes size) const {
  const auto r = Find(p);
  if (r == ranges_.end() || r->second.size - (p - DevicePtr(r->first)) < size) return 0;
  return r->second.id;
}

void Reservations::Map(DevicePtr at, Bytes size) {
  ranges_.at(Find(at)->first).mapped.emplace(at.value, size);
}

void Reservations::Unmap(DevicePtr at) { ranges_.at(Find(at)->first).mapped.erase(at.value); }

Bytes Reservations::MappedAt(DevicePtr at) const {
  const auto r = Find(at);
  if (r == ranges_.end()) return Bytes();
  const auto it = r->second.mapped.find(at.value);
  return it == r->second.mapped.end() ? Bytes() : it->second;
}

std::optional<DevicePtr> Reservations::NextMapped(DevicePtr p) const {
  const auto r = Find(p);
  if (r == ranges_.end()) return std::nullopt;
  const auto next = r->second.mapped.lower_bound(p.value);
  if (next == r->second.mapped.end()) return std::nullopt;
  return DevicePtr(next->first);
}

std::optional<Allocation> Reservations::ExtentOf(DevicePtr p) const {
  const auto r = Find(p);
  if (r == ranges_.end() || r->second.mapped.empty()) return std::nullopt;
  const auto& [last, size] = *r->second.mapped.rbegin();
  Allocation a;
  a.base = DevicePtr(r->first);
  a.requested = a.reserved = Bytes(last - r->first) + size;
  a.id = r->second.id;
  if (p >= a.base + a.requested) return std::nullopt;
  return a;
}

}  // namespace vramspan
