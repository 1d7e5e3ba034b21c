#include "runtime/trace/writer.h"

#include <utility>

namespace vramspan::trace {
namespace {

// The buffers that this thread has, of the writers that it met last.
struct Known {
  uint64_t writer = 0;
  void* buffer = nullptr;
};
thread_local Known known[2];
thread_local unsigned next_known = 0;

std::atomic<uint64_t> next_writer{1};

}  // namespace

StatusOr<std::unique_ptr<Writer>> Writer::Open(const WriterOptions& options, const Header& header) {
  std::unique_ptr<Writer> w(new Writer());
  w->id_ = next_writer.fetch_add(1, std::memory_order_relaxed);
  w->began_ = Clock::now();
  VS_ASSIGN_OR_RETURN(w->file_,
                      BlockFile::Open(options, PackHeader(header),
                                      [raw = w.get()](BlockFile* to) { raw->TakeBuffers(to); }));
  return w;
}

Writer::~Writer() {
  if (file_ != nullptr && !file_->closed() && !file_->in_child()) Add(EndEvent{Now()});
}

Writer::Buffer* Writer::MyBuffer() {
  if (file_->closed()) return nullptr;
  for (const Known& k : known) {
    if (k.writer == id_) return static_cast<Buffer*>(k.buffer);
  }
  // Of a child the parent's threads and locks are no more than bytes.
  if (file_->in_child()) return nullptr;
  auto buffer = std::make_unique<Buffer>();
  Buffer* const raw = buffer.get();
  {
    MutexLock lock(mu_);
    raw->thread = static_cast<uint32_t>(buffers_.size());
    buffers_.push_back(std::move(buffer));
  }
  known[next_known++ % std::size(known)] = {id_, raw};
  return raw;
}

void Writer::Begin(Buffer* buffer) {
  buffer->encoder.Start(Now());
  buffer->told = std::exchange(buffer->lost, 0);
  if (buffer->told != 0) buffer->encoder.Add(LostEvent{buffer->told});
}

void Writer::Hand(Buffer* buffer, BlockFile* to, bool must) {
  BlockHeader header;
  header.thread = buffer->thread;
  header.events = buffer->encoder.events();
  header.first_time = buffer->encoder.first_time();
  if (to->Hand(header, buffer->encoder.Take(), must)) return;
  buffer->lost += header.events;
  if (buffer->told != 0) buffer->lost += buffer->told - 1;
}

void Writer::TakeBuffers(BlockFile* to) {
  std::vector<Buffer*> buffers;
  {
    MutexLock lock(mu_);
    for (const auto& buffer : buffers_) buffers.push_back(buffer.get());
  }
  for (Buffer* buffer : buffers) {
    MutexLock lock(buffer->mu);
    if (buffer->lost != 0) Prepare(buffer);
    if (buffer->encoder.started()) Hand(buffer, to, /*must=*/true);
  }
}

Status Writer::Close() {
  if (file_->in_child()) return absl::OkStatus();
  Add(EndEvent{Now()});
  return file_->Close();
}

}  // namespace vramspan::trace
