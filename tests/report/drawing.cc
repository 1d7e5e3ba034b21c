#include "tests/report/drawing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace vramspan::replay {

DrawnAxis::DrawnAxis(const nlohmann::json& axis)
    : log_(axis.at("kind") == "log"), ticks_(axis.at("ticks").get<std::vector<Place>>()) {
  std::sort(ticks_.begin(), ticks_.end());
  if (ticks_.size() < 2) {
    ADD_FAILURE() << "an axis with less than two ticks: " << axis;
    ticks_ = {{0, 0}, {1, 1}};
  }
  for (const auto& [value, place] : ticks_) EXPECT_NEAR(PlaceOf(value), place, 0.7) << axis;
}

double DrawnAxis::Scaled(double value) const { return log_ ? std::log(value) : value; }

double DrawnAxis::PlaceOf(double value) const {
  const auto [low, from] = ticks_.front();
  const auto [high, to] = ticks_.back();
  return from + (Scaled(value) - Scaled(low)) / (Scaled(high) - Scaled(low)) * (to - from);
}

const nlohmann::json& Named(const nlohmann::json& list, const char* key, const std::string& value) {
  static const nlohmann::json nothing = nlohmann::json::object();
  for (const nlohmann::json& entry : list) {
    if (entry.at(key) == value) return entry;
  }
  ADD_FAILURE() << "nothing with " << key << " " << value;
  return nothing;
}

double HeightAt(const std::vector<Place>& vertices, double x) {
  for (size_t i = 1; i < vertices.size(); ++i) {
    const auto [x0, y0] = vertices[i - 1];
    const auto [x1, y1] = vertices[i];
    if (x <= x1) return x1 == x0 ? y1 : y0 + (x - x0) / (x1 - x0) * (y1 - y0);
  }
  return vertices.empty() ? 0 : vertices.back()[1];
}

Colour ParseColour(const std::string& css) {
  Colour colour;
  const int read =
      std::sscanf(css.c_str(), "rgb(%lf, %lf, %lf)", &colour.red, &colour.green, &colour.blue);
  EXPECT_EQ(read, 3) << css;
  return colour;
}

Colour Blend(const Colour& over, double share, const Colour& under) {
  const auto mix = [&](double a, double b) { return share * a + (1 - share) * b; };
  return {mix(over.red, under.red), mix(over.green, under.green), mix(over.blue, under.blue)};
}

double Luminance(const Colour& colour) {
  const auto part = [](double value) {
    const double v = value / 255;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * part(colour.red) + 0.7152 * part(colour.green) + 0.0722 * part(colour.blue);
}

double Contrast(const Colour& a, const Colour& b) {
  const double high = std::max(Luminance(a), Luminance(b));
  const double low = std::min(Luminance(a), Luminance(b));
  return (high + 0.05) / (low + 0.05);
}

}  // namespace vramspan::replay
