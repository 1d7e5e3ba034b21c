#include "tools/replay/load_run.h"

#include <absl/strings/str_cat.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/trace/reader.h"
#include "tools/replay/import_pytorch.h"
#include "tools/replay/load_trace.h"
#include "tools/replay/oracle_general.h"
#include "tools/replay/other_formats.h"
#include "tools/replay/run_limits.h"
#include "tools/replay/synthetic.h"
#include "tools/replay/text_encoding.h"
#include "tools/replay/text_source.h"

namespace vramspan::replay {
namespace {

// Replay walks over works by index, so their order must be that of the steps.
Status CheckOrder(const RecordedRun& run) {
  uint32_t next = 0;
  for (const RecordedStep& step : run.steps) {
    if (step.kind == RecordedStep::Kind::kWork && step.index != next++) {
      return absl::InternalError("the works are not in the order of the steps");
    }
  }
  return absl::OkStatus();
}

StatusOr<RecordedRun> LoadFile(const std::string& path) {
  // What others write may be packed, which reading it undoes; ours is read as it is.
  constexpr uint64_t kMany = uint64_t{1} << 20;
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<TextSource> source, TextSource::Open(path, kMany));
  std::string first(24 * 64, '\0');
  first.resize(
      static_cast<size_t>(source->sgetn(first.data(), static_cast<std::streamsize>(first.size()))));
  VS_RETURN_IF_ERROR(source->status());
  if (trace::Reader::LooksLikeTrace(first)) {
    if (source->packing() == Packing::kNone) return LoadTrace(path);
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": this is a vramspan trace that was packed again with ",
                     PackingName(source->packing()), "; unpack it first (",
                     UnpackingCommand(source->packing()), ")"));
  }
  std::string_view begin = first;
  if (begin.starts_with(kByteOrderMark)) begin.remove_prefix(kByteOrderMark.size());
  const size_t text = begin.find_first_not_of(" \t\r\n");
  if (text != std::string_view::npos && (begin[text] == '{' || begin[text] == '[')) {
    VS_ASSIGN_OR_RETURN(PytorchImport import, ImportPytorch(path));
    return std::move(import.run);
  }
  if (LooksLikeOracleGeneral(begin)) return LoadOracleGeneral(path);
  const auto refused = [&](std::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": ", why));
  };
  if (const std::string_view other = OtherEncoding(begin); !other.empty()) {
    return refused(NotInUtf8(other));
  }
  if (const std::string other = OtherFormat(begin); !other.empty()) return refused(other);
  // It says what is wrong.
  return LoadTrace(path);
}

}  // namespace

StatusOr<RecordedRun> LoadRun(const std::string& path) {
  StatusOr<RecordedRun> run = IsSynthetic(path) ? SyntheticRun(path) : LoadFile(path);
  if (!run.ok()) return run.status();
  Status status = run->Check();
  if (status.ok()) status = CheckOrder(*run);
  if (status.ok()) {
    std::error_code none;  // A synthetic run has no file.
    const auto bytes = std::filesystem::file_size(path, none);
    status = CheckLimits(*run, RunLimits(none ? 0 : bytes));
  }
  if (status.ok()) return run;
  return Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace vramspan::replay
