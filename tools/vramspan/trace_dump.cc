// `vramspan trace dump`: every event, a line each, in the file's order.
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "runtime/base/clean_text.h"
#include "runtime/trace/reader.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/damage.h"
#include "tools/vramspan/trace_action.h"

namespace vramspan::trace_command {
namespace {

using Json = nlohmann::ordered_json;

std::string Hex(DevicePtr p) { return absl::StrFormat("0x%x", p.value); }
constexpr const char* kKinds[] = {"kernel", "graph", "copy", "declared", "unknown", "foreign"};

Json Fields(const trace::AllocateEvent& e) {
  return {{"event", "allocate"}, {"time", e.time}, {"base", Hex(e.base)}, {"size", e.size.value}};
}
Json Fields(const trace::FreeEvent& e) {
  return {{"event", "free"}, {"time", e.time}, {"base", Hex(e.base)}};
}
Json Fields(const trace::CodeEvent& e) {
  return {{"event", "code"}, {"code", e.code}, {"shape", e.shape}, {"name", e.name}};
}
Json Fields(const trace::WorkEvent& e) {
  Json ranges = Json::array();
  for (const trace::TracedRange& r : e.told()) {
    ranges.push_back({{"ptr", Hex(r.ptr)},
                      {"size", r.size.value},
                      {"slot", r.slot},
                      {"write", r.write},
                      {"exact", r.exact},
                      {"settled", r.settled},
                      {"possible", r.possible},
                      {"told", r.told}});
  }
  return {{"event", "work"},
          {"time", e.time},
          {"id", e.id},
          {"kind", kKinds[static_cast<size_t>(e.kind)]},
          {"stream", e.stream},
          {"code", e.code},
          {"complete", e.complete},
          {"trust", TrustName(e.trust)},
          {"ranges", ranges}};
}
Json Fields(const trace::TimesEvent& e) {
  return {{"event", "times"},
          {"id", e.id},
          {"start", e.start},
          {"duration", e.duration},
          {"remote", e.remote.value}};
}
Json Fields(const trace::MoveEvent& e) {
  return {{"event", "move"},      {"time", e.time}, {"duration", e.duration}, {"base", Hex(e.base)},
          {"size", e.size.value}, {"in", e.in},     {"clean", e.clean}};
}
Json Fields(const trace::BudgetEvent& e) {
  return {{"event", "budget"}, {"time", e.time}, {"device", e.device.value}};
}
Json Fields(const trace::LostEvent& e) { return {{"event", "lost"}, {"count", e.count}}; }
Json Fields(const trace::EndEvent& e) { return {{"event", "end"}, {"time", e.time}}; }
Json Fields(const trace::CompareEvent& e) {
  return {{"event", "compare"}, {"base", Hex(e.base)}, {"size", e.size.value},
          {"first", e.first},   {"last", e.last},      {"same", e.same}};
}
Json Fields(const trace::WaitEvent& e) {
  constexpr const char* kFor[] = {"all", "event", "stream"};
  Json fields = {{"event", "wait"},
                 {"time", e.time},
                 {"duration", e.duration},
                 {"for", kFor[static_cast<size_t>(e.what)]}};
  if (e.what == trace::WaitEvent::For::kStream) fields["stream"] = e.stream;
  return fields;
}

Json Fields(const trace::DiscardEvent& e) {
  return {{"event", "discard"},
          {"time", e.time},
          {"base", Hex(e.base)},
          {"size", e.size.value},
          {"unowned", e.unowned}};
}

Json Fields(const trace::OwnEvent& e) {
  return {{"event", "own"}, {"time", e.time}, {"base", Hex(e.base)}, {"size", e.size.value}};
}

Json Fields(const trace::AlikeEvent& e) {
  return {{"event", "alike"}, {"code", e.code}, {"first", e.first}};
}

Json Fields(const trace::CostEvent& e) {
  return {{"event", "cost"}, {"works", e.works}, {"nanoseconds", e.nanoseconds}};
}

constexpr auto kReplace = Json::error_handler_t::replace;

// `key value` pairs, the event's name first.
std::string Line(const Json& fields) {
  std::string line;
  for (const auto& [key, value] : fields.items()) {
    const std::string text = value.is_string() ? CleanText(value.get<std::string>())
                                               : value.dump(-1, ' ', true, kReplace);
    line += key == "event" ? text : absl::StrCat("  ", key, " ", text);
  }
  return line;
}

class Dump final : public Action {
 public:
  std::string name() const override { return "dump"; }

  void Define(CommandOptions& trace) override {
    CommandOptions options = trace.Action(name(), "Print every event, a line each");
    options.Option("trace", path_, "A trace of `vramspan run --record`").Required().Shown("FILE");
    options.Option("--limit", limit_, "How many events to print at most; 0 prints all")
        .AtLeastNone()
        .Shown("N")
        .ShowDefault();
    options.Option("--format", format_, "How events are printed; json is an object a line")
        .OneOf({"text", "json"})
        .ShowDefault();
    options.Footer(
        "Times are nanoseconds since the trace began. The time of a move or a wait is its end. "
        "Events come in the file's order: by blocks between threads, not by time. A line on stderr "
        "names each damaged part that was read.\n"
        "\n"
        "Exit status\n"
        "  0  the trace was read whole\n"
        "  1  the trace cannot be read, or not all of it; the rest is shown\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan trace dump out.vramspan\n"
        "  vramspan trace dump out.vramspan --format json --limit 1000 > events.json\n"
        "\n"
        "Read more: docs/trace-format.md");
  }

  Status Run() override {
    VS_ASSIGN_OR_RETURN(const std::unique_ptr<trace::Reader> reader, trace::Reader::Open(path_));
    uint64_t shown = 0;
    reader->ForEach([&](const trace::Reader::Block& block, const trace::Event& event) {
      if (++shown == limit_) reader->Stop();
      Json fields = std::visit([](const auto& e) { return Fields(e); }, event);
      fields["thread"] = block.header.thread;
      std::cout << (format_ == "json" ? fields.dump(-1, ' ', true, kReplace) : Line(fields))
                << "\n";
      if (!std::cout) reader->Stop();  // Nobody reads on.
    });
    std::cout.flush();
    SayProblems(path_, reader->problems());
    return CheckWhole(path_, reader->problems());
  }

 private:
  std::string path_, format_ = "text";
  uint64_t limit_ = 0;
};

}  // namespace

std::unique_ptr<Action> MakeDump() { return std::make_unique<Dump>(); }

}  // namespace vramspan::trace_command
