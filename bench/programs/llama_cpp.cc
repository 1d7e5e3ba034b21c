// Prompts, and tokens after the last of them, by llama.cpp: llama_cpp MODEL LENGTH PROMPTS TOKENS
// LAYERS, so many layers of it on the device. Prints one line of JSON, as common.py does: the
// result is a hash of all tokens and of the bits of all logits. llama_cpp.py builds and starts it.
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

double Now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "llama_cpp: %s\n", what);
  std::exit(2);
}

uint64_t hash = 0xcbf29ce484222325;  // FNV-1a.

void Hash(const void* data, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
  }
}

size_t FreeBytes() {
  ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU);
  if (device == nullptr) Fail("llama.cpp sees no GPU");
  size_t free = 0, total = 0;
  ggml_backend_dev_memory(device, &free, &total);
  return free;
}

// Milliseconds. What comes after the tokens is in `next`.
double Decode(llama_context* context, std::vector<llama_token> tokens, llama_token* next) {
  const double begin = Now();
  const auto count = static_cast<int32_t>(tokens.size());
  if (llama_decode(context, llama_batch_get_one(tokens.data(), count)) != 0) Fail("decode failed");
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context)));
  const float* const logits = llama_get_logits_ith(context, -1);
  const double end = Now();
  Hash(logits, sizeof(float) * static_cast<size_t>(vocabulary));
  *next = static_cast<llama_token>(std::max_element(logits, logits + vocabulary) - logits);
  Hash(next, sizeof *next);
  return end - begin;
}

// The median behind the first half, in which whoever learns may do so.
double Settled(std::vector<double> ms) {
  ms.erase(ms.begin(), ms.begin() + static_cast<ptrdiff_t>(ms.size() / 2));
  std::sort(ms.begin(), ms.end());
  return ms.empty() ? 0 : ms[ms.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) Fail("usage: llama_cpp MODEL LENGTH PROMPTS TOKENS LAYERS");
  const int length = std::atoi(argv[2]), prompts = std::atoi(argv[3]), tokens = std::atoi(argv[4]);
  const auto quiet = [](ggml_log_level level, const char* text, void*) {
    if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
  };
  llama_log_set(quiet, nullptr);
  llama_backend_init();
  const size_t before = FreeBytes();
  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = std::atoi(argv[5]);
  llama_model* const model = llama_model_load_from_file(argv[1], model_params);
  if (model == nullptr) Fail("the model cannot be loaded");
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(length + tokens);
  params.n_batch = params.n_ubatch = static_cast<uint32_t>(length);
  llama_context* const context = llama_init_from_model(model, params);
  if (context == nullptr) Fail("no context");

  std::vector<llama_token> said(static_cast<size_t>(length));
  for (size_t i = 0; i < said.size(); ++i) said[i] = static_cast<llama_token>(i * 7919 % 31991 + 1);
  llama_token next = 0;
  std::vector<double> prompt_ms, token_ms;
  for (int i = 0; i < prompts; ++i) {
    llama_memory_clear(llama_get_memory(context), /*data=*/true);
    prompt_ms.push_back(Decode(context, said, &next));
  }
  for (int i = 0; i < tokens; ++i) token_ms.push_back(Decode(context, {next}, &next));
  const size_t peak = before - FreeBytes();
  std::printf(
      "{\"result\": \"%016llx\", \"peak_mib\": %zu, \"ms\": {\"first\": %.3f, \"prompt\": %.3f, "
      "\"token\": "
      "%.3f}}\n",
      static_cast<unsigned long long>(hash), peak >> 20, prompt_ms.empty() ? 0 : prompt_ms[0],
      Settled(prompt_ms), Settled(token_ms));
  std::fflush(stdout);
  // Frees nothing: llama_free of a llama.cpp of 2026-05 crashes, with vramspan and without.
  return 0;
}
