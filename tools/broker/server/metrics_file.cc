#include "tools/broker/server/metrics_file.h"

#include <absl/strings/str_cat.h>
#include <pthread.h>

#include <utility>

#include "tools/broker/server/journal.h"
#include "tools/metrics/textfile.h"

namespace vramspan::broker {

Status CheckMetricsPath(const std::string& path) {
  return metrics::CheckTextfile("--metrics-file", path);
}

Status WriteMetricsFile(const std::string& path, std::string_view text) {
  return metrics::WriteTextfile(path, {"broker", kMetricsMark}, text);
}

MetricsFile::MetricsFile(std::string path, Writer writer)
    : path_(std::move(path)), writer_(std::move(writer)) {}

void MetricsFile::Write(std::shared_ptr<const std::string> text) {
  if (job_ != nullptr) {
    if (!job_->done.load(std::memory_order_acquire)) {
      return Learn(absl::UnavailableError(absl::StrCat(path_, ": its folder hangs")));
    }
    Learn(job_->result);
  }
  job_ = std::make_shared<Job>();
  job_->path = path_;
  job_->writer = writer_;
  job_->text = std::move(text);
  auto shared = std::make_unique<std::shared_ptr<Job>>(job_);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Run, shared.get()) != 0) {
    job_.reset();
    return Learn(absl::UnavailableError(absl::StrCat(path_, ": no thread can write it")));
  }
  static_cast<void>(shared.release());
  pthread_detach(thread);
}

void MetricsFile::Look() {
  if (job_ != nullptr && job_->done.load(std::memory_order_acquire)) Learn(job_->result);
}

void* MetricsFile::Run(void* job) {
  const std::unique_ptr<std::shared_ptr<Job>> shared(static_cast<std::shared_ptr<Job>*>(job));
  Job& own = **shared;
  own.result = own.writer(own.path, *own.text);
  own.text.reset();
  own.done.store(true, std::memory_order_release);
  return nullptr;
}

void MetricsFile::Learn(const Status& result) {
  const std::string said(result.message());
  if (said != last_) {
    Journal::Say(result.ok() ? absl::StrCat(path_, ": it is written again") : said);
  }
  last_ = said;
}

}  // namespace vramspan::broker
