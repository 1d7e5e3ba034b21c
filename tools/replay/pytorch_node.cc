#include "tools/replay/pytorch_node.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "runtime/base/clean_text.h"

namespace vramspan::replay {
namespace {

using nlohmann::json;

constexpr uint64_t kMostBytes = uint64_t{1} << 46;
constexpr size_t kLongestNodeName = 1000;
constexpr size_t kMostTensors = 100'000;  // Of one node.

const json* Member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

uint64_t Number(const json* value) {
  if (value == nullptr || !value->is_number()) return 0;
  if (value->is_number_unsigned()) return value->get<uint64_t>();
  if (value->is_number_integer()) {
    return static_cast<uint64_t>(std::max<int64_t>(value->get<int64_t>(), 0));
  }
  const double number = value->get<double>();
  return number > 0 && number < 1e18 ? static_cast<uint64_t>(number) : 0;
}

std::string Text(const json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// The element at `i` of an array, or null.
const json* Item(const json* array, size_t i) {
  return array != nullptr && array->is_array() && i < array->size() ? &(*array)[i] : nullptr;
}

using Shape = std::vector<uint64_t>;

Shape ToShape(const json* array) {
  Shape shape;
  if (array == nullptr || !array->is_array()) return shape;
  for (const json& size : *array) {
    if (size.is_number()) shape.push_back(Number(&size));
  }
  return shape;
}

// Products of sizes nobody vouches for, without overflow.
class Product {
 public:
  explicit Product(uint64_t value = 1) : value_(value) {}
  Product& operator*=(uint64_t other) {
    if (__builtin_mul_overflow(value_, other, &value_)) value_ = UINT64_MAX;
    return *this;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_;
};

struct Tensor {
  PytorchTensor tensor;
  Shape shape;
  uint8_t item_size = 0;
};

// What the values of one side name, and for each which argument it belongs to.
class TensorReader {
 public:
  // `values`, `shapes`, `types` and `strides` go together; any but the values may be missing.
  void Read(const json* values, const json* shapes, const json* types, const json* strides) {
    if (values == nullptr || !values->is_array()) return;
    for (size_t i = 0; i < values->size(); ++i) {
      const std::string type = Text(Item(types, i));
      // Six numbers and a text that are no tensor look like one.
      if (types != nullptr && !absl::StrContains(type, "Tensor")) continue;
      argument_ = i;
      ReadValue((*values)[i], Item(shapes, i), Item(strides, i));
    }
  }
  struct Found {
    Tensor tensor;
    size_t argument;
  };
  std::vector<Found> found;
  uint32_t absurd = 0;

 private:
  void ReadValue(const json& value, const json* shape, const json* stride) {
    if (!value.is_array() || found.size() >= kMostTensors) return;
    if (value.size() == 6 && value[5].is_string() && value[0].is_number()) {
      ReadTensor(value, shape, stride);
      return;
    }
    for (size_t i = 0; i < value.size(); ++i) {
      ReadValue(value[i], Item(shape, i), Item(stride, i));
    }
  }

  // [tensor, storage, offset, elements, bytes an element, device]
  void ReadTensor(const json& value, const json* shape, const json* stride) {
    const std::string device = value[5].get<std::string>();
    uint32_t ordinal = 0;
    if (device != "cuda" &&
        (!absl::StartsWith(device, "cuda:") || !absl::SimpleAtoi(device.substr(5), &ordinal))) {
      return;
    }
    const uint64_t elements = Number(&value[3]);
    const uint64_t item_size = Number(&value[4]);
    if (elements == 0 || item_size == 0) return;
    Tensor t;
    t.shape = ToShape(shape);
    t.item_size = static_cast<uint8_t>(std::min<uint64_t>(item_size, 255));
    Product size(Extent(t.shape, ToShape(stride), elements));
    size *= item_size;
    Product offset(Number(&value[2]));
    offset *= item_size;
    if (size.value() > kMostBytes || offset.value() > kMostBytes - size.value()) {
      ++absurd;
      return;
    }
    t.tensor = {.storage = Number(&value[1]),
                .offset = offset.value(),
                .size = size.value(),
                .device = ordinal};
    found.push_back({std::move(t), argument_});
  }

  // From the first to the last element.
  static uint64_t Extent(const Shape& shape, const Shape& strides, uint64_t elements) {
    if (strides.empty() || strides.size() != shape.size()) return elements;
    uint64_t extent = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 0) return elements;
      Product step(shape[d] - 1);
      step *= strides[d];
      if (__builtin_add_overflow(extent, step.value(), &extent)) return UINT64_MAX;
    }
    return extent;
  }

  size_t argument_ = 0;
};

// "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
struct Schema {
  std::vector<bool> written;  // By argument.
  bool returns_views = false;
};

Schema ParseSchema(std::string_view text) {
  Schema schema;
  const size_t open = text.find('(');
  if (open == text.npos) return schema;
  int depth = 0;
  size_t end = open;
  size_t start = open + 1;
  const auto argument = [&](std::string_view a) {
    while (!a.empty() && a.front() == ' ') a.remove_prefix(1);
    if (!a.empty() && a != "*") schema.written.push_back(a.find('!') != a.npos);
  };
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '(' || c == '[') ++depth;
    if (c == ',' && depth == 1) {
      argument(text.substr(start, end - start));
      start = end + 1;
    }
    if ((c == ')' || c == ']') && --depth == 0) break;
  }
  if (end >= text.size()) return {};
  argument(text.substr(start, end - start));
  // Views: every tensor that comes back is one of those that went in, and not a changed one.
  std::string_view returns = text.substr(end + 1);
  size_t tensors = 0;
  schema.returns_views = true;
  for (size_t at = returns.find("Tensor"); at != returns.npos;
       at = returns.find("Tensor", at + 6)) {
    ++tensors;
    const std::string_view after = returns.substr(at + 6);
    const size_t close = after.find(')');
    if (after.empty() || after.front() != '(' || close == after.npos ||
        after.substr(0, close).find('!') != after.npos) {
      schema.returns_views = false;
    }
  }
  schema.returns_views &= tensors > 0;
  return schema;
}

// Operators that launch nothing, though their schemas do not say so.
bool OnlyAllocates(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "aten::result_type",   "aten::resize_",   "aten::resize_as_",  "aten::set_",
      "aten::record_stream", "aten::can_cast",  "aten::size",        "aten::stride",
      "aten::is_nonzero",    "aten::is_pinned", "aten::is_same_size"};
  return absl::StartsWith(name, "aten::empty") || absl::StartsWith(name, "aten::new_empty") ||
         absl::StartsWith(name, "aten::_empty") ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool IsView(std::string_view name) {
  constexpr std::string_view kNames[] = {"aten::_unsafe_view",   "aten::unsafe_split",
                                         "aten::unsafe_chunk",   "aten::unsafe_split_with_sizes",
                                         "aten::detach_",        "aten::squeeze_",
                                         "aten::unsqueeze_",     "aten::t_",
                                         "aten::transpose_",     "aten::as_strided_",
                                         "aten::swapaxes_",      "aten::swapdims_",
                                         "aten::lift_fresh",     "aten::unflatten_dense_tensors",
                                         "aten::requires_grad_", "aten::broadcast_tensors",
                                         "aten::meshgrid"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool Streams(std::string_view name) {
  return name == "aten::copy_" || name == "aten::fill_" || name == "aten::zero_" ||
         name == "aten::clone" || absl::StartsWith(name, "aten::_foreach_copy_") ||
         absl::StartsWith(name, "aten::_foreach_zero_");
}

double Volume(const Shape& shape, size_t from = 0) {
  double volume = 1;
  for (size_t d = from; d < shape.size(); ++d) volume *= static_cast<double>(shape[d]);
  return volume;
}

// Two for each multiplication and its addition; by the shapes of inputs and outputs.
double Flops(std::string_view name, const std::vector<Shape>& in, const std::vector<Shape>& out) {
  const auto ends_with = [&](std::string_view suffix) { return absl::EndsWith(name, suffix); };
  const bool product = ends_with("::mm") || ends_with("::bmm") || ends_with("::addmm") ||
                       ends_with("::baddbmm") || ends_with("::matmul") || ends_with("::_scaled_mm");
  if (product && !out.empty()) {
    // The first factor's last dimension is what is summed over.
    const size_t first = ends_with("::addmm") || ends_with("::baddbmm") ? 1 : 0;
    if (first >= in.size() || in[first].empty()) return 0;
    return 2 * Volume(out[0]) * static_cast<double>(in[first].back());
  }
  if (ends_with("convolution") && in.size() >= 2 && !out.empty()) {
    return 2 * Volume(out[0]) * Volume(in[1], 1);
  }
  // The gradient, the input and the weight; for the input's gradient and the weight's.
  if (ends_with("convolution_backward") && in.size() >= 3) {
    return 4 * Volume(in[0]) * Volume(in[2], 1);
  }
  if (absl::StrContains(name, "attention") && in.size() >= 3 && in[0].size() == 4 &&
      in[1].size() == 4) {
    // Batch, heads, rows, width: the scores and the sum, and twice and a half that backwards.
    const double scores = Volume(in[0]) * static_cast<double>(in[1][2]);
    return (ends_with("backward") ? 10 : 4) * scores;
  }
  return 0;
}

const json* Attribute(const json& node, std::string_view name) {
  const json* const attributes = Member(node, "attrs");
  if (attributes == nullptr || !attributes->is_array()) return Member(node, name.data());
  for (const json& a : *attributes) {
    if (const json* const key = Member(a, "name"); key != nullptr && *key == name) {
      return Member(a, "value");
    }
  }
  return nullptr;
}

TensorReader ReadSide(const json& node, const char* plural, const std::string& singular) {
  TensorReader reader;
  const json* const side = Member(node, plural);
  if (side != nullptr && side->is_object()) {
    reader.Read(Member(*side, "values"), Member(*side, "shapes"), Member(*side, "types"),
                Member(*side, "strides"));
  } else {
    reader.Read(side, Member(node, (singular + "_shapes").c_str()),
                Member(node, (singular + "_types").c_str()),
                Member(node, (singular + "_strides").c_str()));
  }
  return reader;
}

}  // namespace

StatusOr<PytorchNode> ParsePytorchNode(const json& node) {
  const json* const id = Member(node, "id");
  const json* const name = Member(node, "name");
  if (id == nullptr || !id->is_number_unsigned() || name == nullptr || !name->is_string()) {
    return absl::FailedPreconditionError("a node has no id or no name");
  }
  PytorchNode made;
  made.id = id->get<uint64_t>();
  made.name = CleanText(name->get_ref<const std::string&>(), kLongestNodeName);
  const json* const parent = Member(node, "ctrl_deps");
  made.parent = Number(parent != nullptr ? parent : Member(node, "parent"));
  made.rf_id = Number(Attribute(node, "rf_id"));

  const std::string schema_text = Text(Attribute(node, "op_schema"));
  const Schema schema = ParseSchema(schema_text);
  if (OnlyAllocates(made.name)) {
    made.kind = PytorchNode::Kind::kAllocate;
  } else if (schema.returns_views || IsView(made.name)) {
    made.kind = PytorchNode::Kind::kAlias;
  } else if (!schema_text.empty()) {
    made.kind = PytorchNode::Kind::kOther;
  }
  made.launches =
      !Text(Attribute(node, "kernel_backend")).empty() || absl::StartsWith(made.name, "nccl:");
  made.streams = Streams(made.name);

  TensorReader in = ReadSide(node, "inputs", "input");
  TensorReader out = ReadSide(node, "outputs", "output");
  made.absurd = in.absurd + out.absurd;
  std::vector<Shape> in_shapes, out_shapes;
  for (TensorReader::Found& found : in.found) {
    found.tensor.tensor.written =
        found.argument < schema.written.size() && schema.written[found.argument];
    made.tensors.push_back(found.tensor.tensor);
    made.item_size = std::max(made.item_size, found.tensor.item_size);
    in_shapes.push_back(std::move(found.tensor.shape));
  }
  for (TensorReader::Found& found : out.found) {
    found.tensor.tensor.output = true;
    found.tensor.tensor.written = true;
    made.tensors.push_back(found.tensor.tensor);
    made.item_size = std::max(made.item_size, found.tensor.item_size);
    out_shapes.push_back(std::move(found.tensor.shape));
  }
  made.flops = Flops(made.name, in_shapes, out_shapes);
  return made;
}

}  // namespace vramspan::replay
