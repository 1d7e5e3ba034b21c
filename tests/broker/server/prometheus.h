// Reads Prometheus' text format, version 0.0.4, and takes nothing that its rules do not allow, nor
// what its users are told not to do.
#ifndef VRAMSPAN_TESTS_BROKER_SERVER_PROMETHEUS_H_
#define VRAMSPAN_TESTS_BROKER_SERVER_PROMETHEUS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramspan::broker_test {

class Prometheus {
 public:
  using Labels = std::map<std::string, std::string>;

  // What is wrong with the text is in error().
  explicit Prometheus(std::string_view text);

  // Empty: all is as it must be.
  const std::string& error() const { return error_; }
  // By name; of histograms with _bucket, _sum and _count.
  bool Has(const std::string& name) const { return types_.contains(name); }
  // Of the first sample that has these labels, among others.
  std::optional<double> Get(const std::string& name, const Labels& some = {}) const;
  size_t Count(const std::string& name) const;
  const std::map<std::string, std::string>& types() const { return types_; }

 private:
  void TakeLine(std::string_view line);
  void TakeComment(std::string_view line);
  void TakeSample(std::string_view line);
  bool TakeLabels(std::string_view* line, Labels* labels);
  void CheckHistograms();
  void Fail(std::string_view what, std::string_view line);

  std::string error_, helped_, current_;
  std::map<std::string, std::string> types_;
  std::map<std::string, std::vector<std::pair<Labels, double>>> samples_;
  std::set<std::pair<std::string, Labels>> series_;
};

}  // namespace vramspan::broker_test

#endif  // VRAMSPAN_TESTS_BROKER_SERVER_PROMETHEUS_H_
