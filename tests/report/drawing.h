// What the probe read back from the browser, for comparison with data: places are pixels on the
// screen.
#ifndef VRAMSPAN_TESTS_REPORT_DRAWING_H_
#define VRAMSPAN_TESTS_REPORT_DRAWING_H_

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace vramspan::replay {

using Place = std::array<double, 2>;

// An axis as its ticks show it.
class DrawnAxis {
 public:
  // Fails the test where there are less than two ticks, or they do not lie on one scale.
  explicit DrawnAxis(const nlohmann::json& axis);
  double PlaceOf(double value) const;

 private:
  double Scaled(double value) const;

  bool log_;
  std::vector<Place> ticks_;  // Value and place, by value.
};

// The element of a list of objects of which `key` is `value`; fails the test where there is none.
const nlohmann::json& Named(const nlohmann::json& list, const char* key, const std::string& value);

// The height of a line through `vertices`, which go from left to right, at `x`.
double HeightAt(const std::vector<Place>& vertices, double x);

struct Colour {
  double red = 0, green = 0, blue = 0;
};
Colour ParseColour(const std::string& css);  // "rgb(1, 2, 3)".
Colour Blend(const Colour& over, double share, const Colour& under);
// As WCAG 2 has it, 1 to 21.
double Contrast(const Colour& a, const Colour& b);
double Luminance(const Colour& colour);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TESTS_REPORT_DRAWING_H_
