#include "tools/prove/prover.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "runtime/base/mutex.h"
#include "tools/prove/entries.h"
#include "tools/prove/image_reading.h"
#include "tools/prove/image_state.h"
#include "tools/prove/images.h"
#include "tools/prove/mapped_file.h"

namespace vramspan::prove {
namespace {

// The code of an image for one GPU.
struct Task {
  Entry entry;
  size_t image;
};

class Proving {
 public:
  explicit Proving(const Reader& reader) : reader_(reader) {}

  // What is to be read of the file.
  Status AddFile(const std::string& path) VS_EXCLUDES(mu_) {
    VS_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
    FileVerdict verdict{.path = path};
    const std::vector<Image> images = FindImages(file.bytes());
    MutexLock lock(mu_);
    const size_t before = images_.size();
    for (const Image& image : images) {
      ++verdict.images;
      if (image.module == 0 || known_.insert(image.module).second) AddImage(image);
    }
    if (images_.size() != before) files_.push_back(std::move(file));
    ends_.push_back(images_.size());
    verdicts_.push_back(std::move(verdict));
    return absl::OkStatus();
  }

  std::vector<FileVerdict> Run(unsigned threads) {
    // Large ones first: none is left to wait for at the end.
    std::stable_sort(tasks_.begin(), tasks_.end(),
                     [](const Task& a, const Task& b) { return a.entry.size > b.entry.size; });
    std::vector<std::thread> pool;
    const size_t most = std::min<size_t>(threads, tasks_.size());
    for (size_t i = 1; i < most; ++i) pool.emplace_back([this] { Work(); });
    Work();
    for (std::thread& thread : pool) thread.join();
    MutexLock lock(mu_);
    size_t image = 0;
    for (size_t i = 0; i < verdicts_.size(); ++i) {
      for (; image < ends_[i]; ++image) {
        verdicts_[i].own.push_back(std::move(images_[image]).Verdict());
      }
    }
    return std::move(verdicts_);
  }

 private:
  void AddImage(const Image& image) VS_REQUIRES(mu_) {
    const size_t number = images_.size();
    images_.emplace_back(image.module);
    StatusOr<std::vector<Entry>> entries = EntriesToRead(image);
    if (!entries.ok()) {
      images_.back().Fail(entries.status().message());
      return;
    }
    for (Entry& entry : *entries) tasks_.push_back({std::move(entry), number});
  }

  void Work() {
    for (size_t i = next_++; i < tasks_.size(); i = next_++) {
      Read(tasks_[i]);
      MutexLock lock(mu_);
      reader_.progress(++done_, tasks_.size());
    }
  }

  void Read(const Task& task) VS_EXCLUDES(mu_) {
    const EntryReading reading = EntryReading::Of(task.entry, reader_.read);
    MutexLock lock(mu_);
    reading.AddTo(&images_[task.image]);
  }

  const Reader& reader_;
  std::vector<MappedFile> files_;        // In which the tasks' code lies.
  absl::flat_hash_set<uint64_t> known_;  // Modules.
  std::vector<FileVerdict> verdicts_;
  std::vector<size_t> ends_;  // Of each file's images.
  std::vector<Task> tasks_;
  std::atomic<size_t> next_{0};
  Mutex mu_;
  std::vector<ImageState> images_ VS_GUARDED_BY(mu_);
  size_t done_ VS_GUARDED_BY(mu_) = 0;
};

}  // namespace

std::vector<FileVerdict> Prove(const std::vector<std::string>& paths, const Reader& reader,
                               unsigned threads, std::vector<Status>* errors) {
  Proving proving(reader);
  for (const std::string& path : paths) {
    const Status added = proving.AddFile(path);
    if (!added.ok()) errors->push_back(added);
  }
  return proving.Run(threads);
}

}  // namespace vramspan::prove
