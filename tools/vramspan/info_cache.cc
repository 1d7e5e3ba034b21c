#include "tools/vramspan/info_cache.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "runtime/api/price_file.h"
#include "runtime/base/small_file.h"

namespace vramspan::info {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr char kSchema[] = "vramspan.costs";
constexpr int kSchemaVersion = 1;
constexpr size_t kMaxFile = 64 << 10;  // A real one has about 3 KiB.
constexpr double kMaxFigure = 1e9;     // A thousand seconds, or a billion GB/s.

OrderedJson HandleToJson(const std::optional<HandleCosts>& costs) {
  if (!costs.has_value()) return nullptr;
  return {{"create", costs->create},
          {"map", costs->map},
          {"access", costs->access},
          {"unmap", costs->unmap},
          {"release", costs->release}};
}

OrderedJson NumberToJson(const std::optional<double>& number) {
  return number.has_value() ? OrderedJson(*number) : OrderedJson(nullptr);
}

// Reads fields and keeps the first thing that is wrong, so that the code below reads like the
// format.
class Reader {
 public:
  const Json& Field(const Json& object, const char* name) {
    static const Json kNothing;
    if (!object.is_object() || !object.contains(name)) {
      Wrong(absl::StrCat("'", name, "' is missing"));
      return kNothing;
    }
    return object[name];
  }

  double Number(const Json& object, const char* name) {
    const Json& field = Field(object, name);
    const double value = field.is_number() ? field.get<double>() : -1;
    if (!(value >= 0 && value <= kMaxFigure)) {
      Wrong(absl::StrCat("'", name, "' is not a number from 0 to 10^9"));
      return 0;
    }
    return value;
  }

  std::optional<double> OptionalNumber(const Json& object, const char* name) {
    if (Field(object, name).is_null()) return std::nullopt;
    return Number(object, name);
  }

  std::optional<HandleCosts> Handle(const Json& object, const char* name) {
    const Json& field = Field(object, name);
    if (field.is_null()) return std::nullopt;
    return HandleCosts{Number(field, "create"), Number(field, "map"), Number(field, "access"),
                       Number(field, "unmap"), Number(field, "release")};
  }

  void Wrong(const std::string& what) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(what);
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

Status WriteWhole(const std::string& path, const std::string& text) {
  const auto failed = [&](const char* what, int error) {
    return absl::UnavailableError(
        absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(error)));
  };
  std::string temporary = path + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return failed("write beside", errno);
  size_t done = 0;
  int error = 0;
  while (done < text.size() && error == 0) {
    const ssize_t wrote = write(fd, text.data() + done, text.size() - done);
    if (wrote >= 0) {
      done += static_cast<size_t>(wrote);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  unlink(temporary.c_str());
  return failed("write", error);
}

Status MakeFolderOf(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder.parent_path(), error);
  // Whatever the mask says: others are not to change what runs of this user begin with.
  if (!error && mkdir(folder.c_str(), 0700) != 0) {
    const int failed = errno;
    const bool there = failed == EEXIST && std::filesystem::is_directory(folder, error);
    if (!error && !there) error = std::error_code(failed, std::generic_category());
  }
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot make the folder ", folder.string(), ": ", error.message()));
}

}  // namespace

OrderedJson CostsToJson(const DeviceCosts& costs) {
  OrderedJson chunks = OrderedJson::array();
  for (int i = 0; i < kChunkSizeCount; ++i) {
    const ChunkCosts& chunk = costs.chunks[static_cast<size_t>(i)];
    chunks.push_back({{"bytes", ChunkBytes(kMinChunkLog2 + i).value},
                      {"device", HandleToJson(chunk.device)},
                      {"host", HandleToJson(chunk.host)}});
  }
  return {
      {"handle_us", std::move(chunks)},
      {"copy_gb_per_s",
       {{"to_device", costs.copy_to_device},
        {"to_host", costs.copy_to_host},
        {"both", costs.copy_both}}},
      {"kernel_on_host_gb_per_s",
       {{"read", NumberToJson(costs.kernel_read)}, {"write", NumberToJson(costs.kernel_write)}}},
      {"hold_us", {{"call", costs.hold_call}, {"release", costs.hold_release}}}};
}

StatusOr<DeviceCosts> CostsFromJson(const Json& json) {
  DeviceCosts costs;
  Reader reader;
  const Json& chunks = reader.Field(json, "handle_us");
  if (!chunks.is_array() || chunks.size() != costs.chunks.size()) {
    reader.Wrong(absl::StrCat("'handle_us' is not a list of ", costs.chunks.size(), " sizes"));
  } else {
    for (size_t i = 0; i < costs.chunks.size(); ++i) {
      const Json& bytes = reader.Field(chunks[i], "bytes");
      if (bytes != ChunkBytes(kMinChunkLog2 + static_cast<int>(i)).value) {
        reader.Wrong("'handle_us' has other chunk sizes");
      }
      costs.chunks[i].device = reader.Handle(chunks[i], "device");
      costs.chunks[i].host = reader.Handle(chunks[i], "host");
    }
  }
  const Json& copy = reader.Field(json, "copy_gb_per_s");
  costs.copy_to_device = reader.Number(copy, "to_device");
  costs.copy_to_host = reader.Number(copy, "to_host");
  costs.copy_both = reader.Number(copy, "both");
  const Json& kernel = reader.Field(json, "kernel_on_host_gb_per_s");
  costs.kernel_read = reader.OptionalNumber(kernel, "read");
  costs.kernel_write = reader.OptionalNumber(kernel, "write");
  const Json& hold = reader.Field(json, "hold_us");
  costs.hold_call = reader.Number(hold, "call");
  costs.hold_release = reader.Number(hold, "release");
  VS_RETURN_IF_ERROR(reader.status());
  return costs;
}

StatusOr<std::string> CachePath(const std::string& uuid) { return CacheFile(uuid, ".json"); }

StatusOr<DeviceCosts> ReadCache(const std::string& path, const std::string& uuid, int driver) {
  VS_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxFile));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not JSON"));
  }
  const auto is = [&](const char* name, const Json& value) {
    return json.contains(name) && json[name] == value;
  };
  if (!is("schema", kSchema) || !is("schema_version", kSchemaVersion)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not ", kSchema, " version ", kSchemaVersion));
  }
  if (!is("uuid", uuid) || !is("driver", driver)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " was measured with another driver or device"));
  }
  StatusOr<DeviceCosts> costs =
      CostsFromJson(json.contains("costs") ? json["costs"] : Json(nullptr));
  if (!costs.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", costs.status().message()));
  }
  return costs;
}

Status WriteCache(const std::string& path, const std::string& uuid, int driver,
                  const DeviceCosts& costs) {
  VS_RETURN_IF_ERROR(MakeFolderOf(path));
  const OrderedJson json = {{"schema", kSchema},
                            {"schema_version", kSchemaVersion},
                            {"uuid", uuid},
                            {"driver", driver},
                            {"costs", CostsToJson(costs)}};
  return WriteWhole(path, json.dump(2) + "\n");
}

Status WritePrices(const std::string& uuid, int driver, const DeviceCosts& costs) {
  VS_ASSIGN_OR_RETURN(const std::string path, CacheFile(uuid, ".prices"));
  VS_RETURN_IF_ERROR(MakeFolderOf(path));
  return WriteWhole(path, PricesText(PricesOf(costs), driver));
}

}  // namespace vramspan::info
