// A table under any sequence of operations agrees with a map, and any address gets an answer. Three
// bytes a step: what to do, and which key or address. Gradient descent of rate 1 on rows that start
// at zero: a row holds minus the sum of its gradients.
#include <cstdint>
#include <cstdlib>
#include <map>

#include "core/table.h"

namespace {

using namespace estimator_plugin;  // NOLINT: a fuzz target is one file.

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Fuzzed {
  std::unique_ptr<Table<float>> table;
  std::unique_ptr<UpdateRule<float>> rule;
  std::map<int64_t, float> model;
  InlineRunner runner;

  Fuzzed() {
    TableOptions options;
    options.dim = 1;
    options.num_buckets = 2;
    Require(Table<float>::Create(options, &table).ok());
    Require(MakeUpdateRule<float>("sgd", {1, 0}, &rule).ok());
  }

  int64_t Look(int64_t key, OnMissing on_missing) {
    int64_t address;
    float value;
    Require(table->Lookup(&key, 1, on_missing, nullptr, &address, &value, &runner).ok());
    if (on_missing == OnMissing::kInsert && key != kNoKey) model.emplace(key, 0.0f);
    const auto found = model.find(key);
    Require((address != kNoAddress) == (found != model.end()));
    Require(value == (found == model.end() ? 0.0f : found->second));
    return address;
  }

  Status Update(int64_t address, float gradient) {
    UpdateResult result;
    return table->ApplyGradients(*rule, {{&address, &gradient, 1}}, OnNonFinite::kReject, &runner,
                                 &result);
  }

  void Step(uint8_t what, int64_t key) {
    if (what < 80) {
      Look(key, OnMissing::kInsert);
    } else if (what < 120) {
      const int64_t address = Look(key, OnMissing::kDefault);
      Require(Update(address, what).ok());
      if (address != kNoAddress) model[key] -= what;
    } else if (what < 180) {
      int64_t removed;
      Require(table->Remove(&key, 1, &removed).ok());
      Require(removed == static_cast<int64_t>(model.erase(key)));
    } else if (what < 250) {  // Whatever the address, an answer; a wrong one changes nothing.
      const int64_t high = (what / 4 % 8) * (int64_t{1} << 12) + what % 4 - 1;
      const int64_t address = high * (int64_t{1} << 32) + static_cast<uint32_t>(key);
      float value;
      const Status gathered = table->Gather(&address, 1, nullptr, &value, &runner);
      Require(Update(address, 0).ok() == gathered.ok());
    } else if (what > 253) {
      Require(table->Clear().ok());
      model.clear();
    }
    Require(table->size() == static_cast<int64_t>(model.size()));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Fuzzed fuzzed;
  for (size_t i = 0; i + 2 < size; i += 3) {
    fuzzed.Step(data[i], data[i + 2] == 255 ? INT64_MIN : int64_t{data[i + 1]} - 1);
  }
  for (const auto& entry : fuzzed.model) fuzzed.Look(entry.first, OnMissing::kDefault);
  return 0;
}
