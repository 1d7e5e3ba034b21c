#include "tools/prove/opcodes.h"

#include <absl/container/flat_hash_map.h>

#include <initializer_list>

namespace vramspan::prove {
namespace {

using Table = absl::flat_hash_map<std::string_view, Does>;

// An opcode that is missing puts its kernel in doubt. One stands here if it was seen in code, or if
// NVIDIA's list of instructions says what it is. Branches are not here: flow.cc knows them.
Table MakeTable() {
  Table all;
  const auto add = [&all](Does does, std::initializer_list<std::string_view> opcodes) {
    for (const std::string_view opcode : opcodes) all.emplace(opcode, does);
  };
  add(Does::kNothing,
      {"ISETP",      "FSETP",        "DSETP",        "HSETP2",    "PLOP3",       "PSETP",
       "UISETP",     "UPLOP3",       "UPSETP",       "R2P",       "UR2UP",       "FCHK",
       "BAR",        "BREAK",        "YIELD",        "DEPBAR",    "LDGDEPBAR",   "MEMBAR",
       "ERRBAR",     "FENCE",        "NANOSLEEP",    "CCTLL",     "CCTLT",       "PREEXIT",
       "ACQBULK",    "ARRIVES",      "UTMACMDFLUSH", "WARPGROUP", "UCGABAR_ARV", "UCGABAR_WAIT",
       "USETMAXREG", "PMTRIG",       "BPT",          "UFSETP",    "USETSHMSZ",   "CGAERRBAR",
       "VOTE_VTG",   "ENDCOLLECTIVE"});
  // Numbers and data are mixed as addresses are: floating point moves those, too.
  add(Does::kMixes,
      {"IADD3",   "IADD",      "IADD32I",  "UIADD3",    "VIADD",      "UVIADD",    "IMAD",
       "UIMAD",   "LEA",       "ULEA",     "MOV",       "MOV32I",     "UMOV",      "SHF",
       "USHF",    "SHL",       "SHR",      "USHL",      "USHR",       "LOP3",      "ULOP3",
       "LOP",     "ULOP",      "LOP32I",   "SEL",       "USEL",       "FSEL",      "UFSEL",
       "PRMT",    "UPRMT",     "IABS",     "UIABS",     "IMNMX",      "UIMNMX",    "VIMNMX",
       "UVIMNMX", "VIMNMX3",   "UVIMNMX3", "VIADDMNMX", "UVIADDMNMX", "SGXT",      "USGXT",
       "BMSK",    "UBMSK",     "BREV",     "UBREV",     "R2UR",       "SHFL",      "REDUX",
       "CREDUX",  "MOVM",      "IDP",      "IDP4A",     "VABSDIFF",   "VABSDIFF4", "FADD",
       "FADD32I", "FMUL",      "FMUL32I",  "FFMA",      "FFMA32I",    "FMNMX",     "FMNMX3",
       "FSWZADD", "FSET",      "FRND",     "HADD2",     "HADD2_32I",  "HFMA2",     "HFMA2_32I",
       "HMUL2",   "HMUL2_32I", "HMNMX2",   "HSET2",     "DADD",       "DMUL",      "DFMA",
       "DMNMX",   "MUFU",      "F2F",      "F2FP",      "F2I",        "F2IP",      "I2F",
       "I2FP",    "I2IP",      "I2I",      "FADD2",     "FMUL2",      "FFMA2",     "UFADD",
       "UFMUL",   "UFFMA",     "UF2F",     "UF2FP",     "UF2I",       "UF2IP",     "UI2F",
       "UI2FP",   "UI2IP",     "UFMNMX",   "UFRND",     "UFSET",      "QSPC",      "UREDUX",
       "P2R",     "UP2UR",     "ELECT",    "VHMNMX",    "B2R"});
  add(Does::kNumber,
      {"S2R", "CS2R", "CS2UR", "S2UR", "VOTE", "VOTEU", "MATCH", "POPC", "UPOPC", "FLO", "UFLO"});
  add(Does::kCodeAddress, {"LEPC"});
  add(Does::kLoads, {"LD", "LDG"});
  add(Does::kStores, {"ST", "STG", "RED", "REDG", "CCTL"});
  add(Does::kAtomics, {"ATOM", "ATOMG"});
  add(Does::kCopies, {"LDGSTS"});
  add(Does::kBulk, {"UBLKCP", "UBLKPF", "UBLKRED"});
  add(Does::kTensor, {"UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UTMACCTL"});
  add(Does::kLoadsConstant, {"LDC", "ULDC", "LDCU"});
  add(Does::kLoadsShared, {"LDS", "LDSM", "ATOMS"});
  add(Does::kStoresShared, {"STS", "STSM", "STAS", "REDAS", "SYNCS"});
  add(Does::kLoadsLocal, {"LDL"});
  add(Does::kStoresLocal, {"STL"});
  add(Does::kMatrix,
      {"HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA"});
  return all;
}

}  // namespace

Does DoesOf(std::string_view opcode) {
  static const auto* const table = new Table(MakeTable());
  const auto found = table->find(opcode);
  return found == table->end() ? Does::kUnknown : found->second;
}

}  // namespace vramspan::prove
