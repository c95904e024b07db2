// Any bytes as a CSR buffer: an error, or a lookup and an update that stay within their arrays.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/sparse_core/apply_gradient.h"
#include "core/sparse_core/matmul.h"

namespace {

using namespace estimator_plugin;               // NOLINT: a fuzz target is one file.
using namespace estimator_plugin::sparse_core;  // NOLINT

constexpr int64_t kPointers = 16;  // Two replicas of one SparseCore.
constexpr int64_t kIds = 32;
constexpr int64_t kRows = 8;  // Of both shards.
constexpr int64_t kSamples = 4;

// The next byte, mostly small, at times anything.
int32_t Next(const uint8_t** data, const uint8_t* end) {
  if (*data == end) return 0;
  const uint8_t byte = *(*data)++;
  return byte < 250 ? byte % 20 : byte == 250 ? INT32_MAX : byte == 251 ? INT32_MIN : byte - 253;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const uint8_t* const end = data + size;
  std::vector<int32_t> pointers(kPointers), samples(kIds), tokens(kIds);
  const std::vector<float> gains(kIds, 1.0f);
  for (int32_t& pointer : pointers) pointer = Next(&data, end);
  for (int64_t j = 0; j < kIds; ++j) {
    samples[j] = Next(&data, end);
    tokens[j] = Next(&data, end);
  }
  InlineRunner runner;
  CsrView csr;
  if (!CsrView::Make(
           {pointers.data(), kPointers, samples.data(), tokens.data(), gains.data(), kIds},
           {"user", {2, 1}, 1, kSamples / 2, kRows / 2}, &runner, &csr)
           .ok()) {
    return 0;
  }
  std::vector<float> table(kRows, 1.0f), activations(kSamples);
  Matmul(csr, table.data(), 1, {}, &runner, activations.data());
  float looked_up = 0;
  for (const float activation : activations) looked_up += activation;
  std::unique_ptr<UpdateRule<float>> rule;
  if (!MakeUpdateRule<float>("sgd", {1, 0}, &rule).ok()) std::abort();
  const std::vector<float> gradients(kSamples, 1.0f);
  ApplyGradient(csr, gradients.data(), 1, *rule, {table.data()}, &runner);
  float taken = kRows;
  for (const float row : table) taken -= row;
  if (looked_up != taken) std::abort();  // Each id adds one 1, and takes one away.
  return 0;
}
