#include "tools/simcuda/calls_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tools/simcuda/capture.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/fault.h"
#include "tools/simcuda/memory/address_map.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {
namespace {

constexpr unsigned kMostMemOps = 256;
// Of the functions without _v2 only. Writes are ordered here all the same.
constexpr unsigned kRelaxed = CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;

class CallbackOp : public Op {
 public:
  CallbackOp(CUstream stream, CUstreamCallback callback, void* user_data)
      : Op(OpKind::kCallback), stream_(stream), callback_(callback), user_data_(user_data) {}
  CUresult Run(const Exec& /*exec*/) const override {
    Call(CUDA_SUCCESS);
    return CUDA_SUCCESS;
  }
  void Skip(CUresult error) const override { Call(error); }

 private:
  void Call(CUresult status) const {
    const FaultGuardPause pause;
    Thread& thread = Thread::Self();
    thread.in_callback = true;
    callback_(stream_, status, user_data_);
    thread.in_callback = false;
  }

  const CUstream stream_;
  const CUstreamCallback callback_;
  void* const user_data_;
};

CUresult Submit(CUstream handle, OpPtr op) {
  StreamPtr stream;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  return stream->Submit(std::move(op));
}

// Read as a number: the caller may have put anything there.
int Operation(const CUstreamBatchMemOpParams& param) {
  int operation = 0;
  memcpy(&operation, &param.operation, sizeof(operation));
  return operation;
}

CUresult CheckMemOp(const CUstreamBatchMemOpParams& param) {
  CUdeviceptr address = 0;
  size_t size = 0;
  switch (Operation(param)) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      size = param.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ? 4 : 8;
      address = param.waitValue.address;
      if ((param.waitValue.flags & ~(3u | CU_STREAM_WAIT_VALUE_FLUSH)) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      size = param.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ? 4 : 8;
      address = param.writeValue.address;
      // The flag for relaxed order is not part of the v2 functions.
      if (param.writeValue.flags != CU_STREAM_WRITE_VALUE_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (static_cast<int>(size * 8) > Driver::Get().config().stream_ops) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (address % size != 0) return CUDA_ERROR_INVALID_VALUE;
  const memory::RangePtr range = memory::AddressMap::Get().Find(address);
  return range && range->Contains(address, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult SubmitMemOps(CUstream stream, std::vector<CUstreamBatchMemOpParams> params) {
  for (const CUstreamBatchMemOpParams& param : params) {
    if (const CUresult r = CheckMemOp(param); r != CUDA_SUCCESS) return r;
  }
  return Submit(stream, std::make_shared<MemOpsOp>(std::move(params)));
}

CUresult SubmitWait(CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr address,
                    cuuint64_t value, unsigned flags) {
  CUstreamBatchMemOpParams param = {};
  param.waitValue.operation = type;
  param.waitValue.address = address;
  param.waitValue.value64 = value;
  param.waitValue.flags = flags;
  return SubmitMemOps(stream, {param});
}

CUresult SubmitWrite(CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr address,
                     cuuint64_t value, unsigned flags) {
  CUstreamBatchMemOpParams param = {};
  param.writeValue.operation = type;
  param.writeValue.address = address;
  param.writeValue.value64 = value;
  param.writeValue.flags = flags;
  return SubmitMemOps(stream, {param});
}

// The checks of cuStreamSynchronize and cuStreamQuery.
CUresult FindStreamForIdleCall(CUstream handle, StreamPtr* stream) {
  if (const CUresult r = FindStream(handle, stream); r != CUDA_SUCCESS) return r;
  if (const CUresult r = capture::CheckStreamIdleCall(**stream); r != CUDA_SUCCESS) return r;
  if ((*stream)->kind() == StreamKind::kLegacy) {
    const CUresult r = capture::CheckLegacyCall(*(*stream)->context(), /*synchronous=*/false);
    if (r != CUDA_SUCCESS) return r;
  }
  return capture::CheckUnsafeCall();
}

CUresult FindEventForIdleCall(CUevent handle, EventPtr* event) {
  if (const CUresult r = FindEvent(handle, event); r != CUDA_SUCCESS) return r;
  if (const CUresult r = capture::CheckEventIdleCall(**event); r != CUDA_SUCCESS) return r;
  return capture::CheckUnsafeCall();
}

// What became of a finished record: the sticky error of the context it ran in.
CUresult RecordResult(const simcuda::EventRecord& record) {
  const ContextPtr context = record.context.lock();
  return context ? context->error() : CUDA_SUCCESS;
}

}  // namespace

CUresult StreamCreate(CUstream* handle, unsigned flags) {
  return StreamCreateWithPriority(handle, flags, 0);
}

CUresult StreamCreateWithPriority(CUstream* handle, unsigned flags, int priority) {
  if (handle == nullptr || (flags & ~CU_STREAM_NON_BLOCKING) != 0) return CUDA_ERROR_INVALID_VALUE;
  const StreamKind kind =
      flags == CU_STREAM_NON_BLOCKING ? StreamKind::kNonBlocking : StreamKind::kBlocking;
  StreamPtr stream = CurrentContext()->CreateStream(kind, std::clamp(priority, -5, 0));
  *handle = Driver::Get().streams().NewHandle();
  stream->set_handle(*handle);
  Driver::Get().streams().InsertAs(*handle, std::move(stream));
  return CUDA_SUCCESS;
}

CUresult StreamDestroy(CUstream handle) {
  const StreamPtr stream = Driver::Get().streams().Remove(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  capture::OnStreamDestroy(*stream);
  return CUDA_SUCCESS;
}

CUresult StreamGetPriority(CUstream handle, int* priority) {
  StreamPtr stream;
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  *priority = stream->priority();
  return CUDA_SUCCESS;
}

CUresult StreamGetFlags(CUstream handle, unsigned* flags) {
  StreamPtr stream;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  *flags = stream->kind() == StreamKind::kNonBlocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
  return CUDA_SUCCESS;
}

CUresult StreamGetId(CUstream handle, unsigned long long* id) {
  StreamPtr stream;
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  *id = stream->id();
  return CUDA_SUCCESS;
}

CUresult StreamGetDevice(CUstream handle, CUdevice* device) {
  StreamPtr stream;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  *device = stream->context()->device().ordinal();
  return CUDA_SUCCESS;
}

CUresult StreamGetCtx(CUstream handle, CUcontext* context) {
  StreamPtr stream;
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  *context = stream->context()->handle();
  return CUDA_SUCCESS;
}

CUresult StreamGetCtxV2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  if (green != nullptr) *green = nullptr;
  return StreamGetCtx(handle, context);
}

CUresult StreamQuery(CUstream handle) {
  StreamPtr stream;
  if (const CUresult r = FindStreamForIdleCall(handle, &stream); r != CUDA_SUCCESS) return r;
  const std::vector<Ticket> pending = stream->PendingTickets();
  const bool done =
      std::all_of(pending.begin(), pending.end(), [](const Ticket& t) { return t.Done(); });
  if (stream->context()->error() != CUDA_SUCCESS) return stream->context()->error();
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult StreamSynchronize(CUstream handle) {
  StreamPtr stream;
  if (const CUresult r = FindStreamForIdleCall(handle, &stream); r != CUDA_SUCCESS) return r;
  for (const Ticket& ticket : stream->PendingTickets()) ticket.Wait();
  return stream->context()->error();
}

CUresult StreamWaitEvent(CUstream stream_handle, CUevent event_handle, unsigned flags) {
  StreamPtr stream;
  EventPtr event;
  if ((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult r = FindStream(stream_handle, &stream); r != CUDA_SUCCESS) return r;
  if (const CUresult r = FindEvent(event_handle, &event); r != CUDA_SUCCESS) return r;
  bool handled = false;
  const CUresult captured = capture::OnEventWait(*stream, event, flags, &handled);
  if (handled || captured != CUDA_SUCCESS) return captured;
  return event->SubmitWait(*stream);
}

CUresult StreamAddCallback(CUstream handle, CUstreamCallback callback, void* user_data,
                           unsigned flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return Submit(handle, std::make_shared<CallbackOp>(handle, callback, user_data));
}

CUresult StreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t /*size*/,
                              unsigned /*flags*/) {
  StreamPtr stream;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  const memory::RangePtr range = memory::AddressMap::Get().Find(address);
  return range && range->kind == memory::RangeKind::kManaged ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_VALUE;
}

CUresult StreamCopyAttributes(CUstream destination, CUstream source) {
  StreamPtr stream;
  if (const CUresult r = FindStream(destination, &stream); r != CUDA_SUCCESS) return r;
  return FindStream(source, &stream);
}

CUresult StreamGetAttribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  StreamPtr stream;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  *value = {};
  if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = stream->priority();
  return CUDA_SUCCESS;
}

// Attributes are hints about caches and scheduling, of which there is none here.
CUresult StreamSetAttribute(CUstream handle, CUstreamAttrID /*attribute*/,
                            const CUstreamAttrValue* value) {
  StreamPtr stream;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return FindStream(handle, &stream);
}

CUresult ThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return capture::ExchangeThreadMode(mode);
}

CUresult StreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return SubmitWait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}

CUresult StreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return SubmitWait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}

CUresult StreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                            unsigned flags) {
  return SubmitWrite(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}

CUresult StreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                            unsigned flags) {
  return SubmitWrite(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}

CUresult StreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams* params,
                          unsigned flags) {
  if (params == nullptr || count == 0 || count > kMostMemOps || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return SubmitMemOps(stream, std::vector<CUstreamBatchMemOpParams>(params, params + count));
}

CUresult StreamWriteValue32V1(CUstream stream, CUdeviceptr address, cuuint32_t value,
                              unsigned flags) {
  return StreamWriteValue32(stream, address, value, flags & ~kRelaxed);
}

CUresult StreamWriteValue64V1(CUstream stream, CUdeviceptr address, cuuint64_t value,
                              unsigned flags) {
  return StreamWriteValue64(stream, address, value, flags & ~kRelaxed);
}

CUresult StreamBatchMemOpV1(CUstream stream, unsigned count, CUstreamBatchMemOpParams* params,
                            unsigned flags) {
  if (params == nullptr || count == 0 || count > kMostMemOps) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUstreamBatchMemOpParams> ordered(params, params + count);
  for (CUstreamBatchMemOpParams& param : ordered) {
    const int operation = Operation(param);
    if (operation == CU_STREAM_MEM_OP_BARRIER) return CUDA_ERROR_INVALID_VALUE;
    if (operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
        operation == CU_STREAM_MEM_OP_WRITE_VALUE_64) {
      param.writeValue.flags &= ~kRelaxed;
    }
  }
  return StreamBatchMemOp(stream, count, ordered.data(), flags);
}

CUresult LaunchHostFunc(CUstream stream, CUhostFn function, void* user_data) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Submit(stream, std::make_shared<HostFuncOp>(function, user_data));
}

CUresult EventCreate(CUevent* handle, unsigned flags) {
  constexpr unsigned kKnown =
      CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  if (handle == nullptr || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_EVENT_INTERPROCESS) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  *handle = Driver::Get().events().Insert(std::make_shared<Event>(CurrentContext(), flags));
  return CUDA_SUCCESS;
}

CUresult EventDestroy(CUevent handle) {
  return Driver::Get().events().Remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult EventRecord(CUevent event, CUstream stream) {
  return EventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT);
}

CUresult EventRecordWithFlags(CUevent event_handle, CUstream stream_handle, unsigned flags) {
  EventPtr event;
  StreamPtr stream;
  if ((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult r = FindEvent(event_handle, &event); r != CUDA_SUCCESS) return r;
  if (const CUresult r = FindStream(stream_handle, &stream); r != CUDA_SUCCESS) return r;
  if (event->context() != stream->context()) return CUDA_ERROR_INVALID_HANDLE;
  bool handled = false;
  if (stream->capturing()) {
    const CUresult captured = capture::OnEventRecord(*stream, event, flags, &handled);
    if (handled || captured != CUDA_SUCCESS) return captured;
  } else if (stream->kind() == StreamKind::kLegacy) {
    const CUresult r = capture::CheckLegacyCall(*stream->context(), /*synchronous=*/false);
    if (r != CUDA_SUCCESS) return r;
  }
  return event->SubmitRecord(*stream);
}

CUresult EventQuery(CUevent handle) {
  EventPtr event;
  if (const CUresult r = FindEventForIdleCall(handle, &event); r != CUDA_SUCCESS) return r;
  const auto record = event->record();
  if (!record) return CUDA_SUCCESS;
  const bool done = record->ticket.Done();
  if (const CUresult r = RecordResult(*record); r != CUDA_SUCCESS) return r;
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult EventSynchronize(CUevent handle) {
  EventPtr event;
  if (const CUresult r = FindEventForIdleCall(handle, &event); r != CUDA_SUCCESS) return r;
  const auto record = event->record();
  if (!record) return CUDA_SUCCESS;
  record->ticket.Wait();
  return RecordResult(*record);
}

CUresult EventElapsedTime(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  EventPtr start;
  EventPtr end;
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindEvent(start_handle, &start); r != CUDA_SUCCESS) return r;
  if (const CUresult r = FindEvent(end_handle, &end); r != CUDA_SUCCESS) return r;
  const auto from = start->record();
  const auto to = end->record();
  if (((start->flags() | end->flags()) & CU_EVENT_DISABLE_TIMING) != 0 || !from || !to) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (!from->ticket.Done() || !to->ticket.Done()) return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return CUDA_SUCCESS;
}

}  // namespace simcuda::calls
