#include "tools/vramspan/audit_trust.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "runtime/observe/trust_list.h"
#include "tools/vramspan/trust_text.h"

namespace vramspan::audit {
namespace {

constexpr std::string_view kColumns =
    "Launches, sets of arguments, most sectors of host memory in one launch, module, name";

// One doubtful launch among few may be anything, unless others that were given the same contradict
// it. That two are disturbances is not to be expected.
bool CanTell(const AuditRow& row) {
  return row.sectors.doubtful != 1 || row.sectors.contradicted == 1 ||
         row.evidence >= kEnoughToTell;
}
bool Missed(const AuditRow& row) {
  return row.sectors.most >= TrustList::kNoise ||
         (CanTell(row) &&
          row.sectors.doubtful > Disturbances(std::max(row.evidence, kEnoughToTell)));
}

bool ProvesGiven(const GivenLaunches& given) {
  return given.given != 0 && given.launches >= TrustList::kProvenLaunches;
}

}  // namespace

uint64_t MostSectors(const AuditRow& row) {
  return Missed(row) || !CanTell(row) ? std::max(row.sectors.most, row.sectors.doubtful_most)
                                      : row.sectors.most;
}

size_t ProvenKinds(const AuditRow& row) {
  if (row.sets >= TrustList::kProvenSets || row.module == 0 || Missed(row) || !CanTell(row) ||
      (row.kind != AuditRow::Kind::kKernel && row.kind != AuditRow::Kind::kArrays)) {
    return 0;
  }
  return absl::c_count_if(row.given, ProvesGiven);
}

std::string_view LevelText(const AuditRow& row) {
  const bool arrays = row.kind == AuditRow::Kind::kArrays;
  if (row.kind != AuditRow::Kind::kKernel && !arrays) return "-";
  if (Missed(row)) return arrays ? "beyond arrays" : "missed";
  if (row.evidence < TrustList::kProvenLaunches || row.sets < TrustList::kProvenSets ||
      !CanTell(row)) {
    if (ProvenKinds(row) == 0) return "too few launches";
    return arrays ? "arrays, if given this" : "proven, if given this";
  }
  // Without a hash its name alone is known.
  if (arrays) return row.module != 0 ? "arrays" : "-";
  return row.module != 0 ? "proven" : "plausible";
}

StatusOr<TrustFile> MakeTrustFile(const Report& report, std::string_view of) {
  TrustFile file;
  std::vector<const AuditRow*> rows;
  for (const AuditRow& row : report.rows) {
    if (row.kind == AuditRow::Kind::kGraph) file.graph_launches += row.launches;
    if (row.kind != AuditRow::Kind::kKernel && row.kind != AuditRow::Kind::kArrays) continue;
    if (!Missed(row) && (row.evidence == 0 || !CanTell(row))) continue;
    if (TrustCanName(row.name)) {
      rows.push_back(&row);
    } else {
      file.unnamed_launches += row.launches;
    }
  }
  if (rows.empty()) {
    return absl::FailedPreconditionError("no launch of a kernel by itself could be counted");
  }
  std::sort(rows.begin(), rows.end(), [](const AuditRow* a, const AuditRow* b) {
    return std::tie(a->name, a->module, a->kind) < std::tie(b->name, b->module, b->kind);
  });
  file.codes = rows.size();
  file.text = absl::StrCat(TrustHead(kColumns), TrustOf(of));
  for (const AuditRow* row : rows) {
    AuditedKernel kernel{.launches = row->evidence,
                         .argument_sets = row->sets,
                         .most_sectors = MostSectors(*row),
                         .module = row->module,
                         .arrays = row->kind == AuditRow::Kind::kArrays};
    absl::StrAppend(&file.text, TrustLine(row->name, kernel));
    if (ProvenKinds(*row) == 0) continue;
    for (const GivenLaunches& given : row->given) {
      if (!ProvesGiven(given)) continue;
      kernel.launches = given.launches;
      kernel.given = given.given;
      absl::StrAppend(&file.text, TrustLine(row->name, kernel));
    }
  }
  VS_RETURN_IF_ERROR(CheckTrust(file.text));
  return file;
}

}  // namespace vramspan::audit
