// Counted lookups, thresholds, evictions and waiting keys from a checkpoint: whatever the numbers,
// an answer; a key has a row exactly if its count reached the threshold. Three bytes a step: what
// to do, which key, and a number.
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
  std::map<int64_t, int64_t> waiting;
  std::map<int64_t, int64_t> rows;
  InlineRunner runner;
  int32_t threshold = 5;

  Fuzzed() {
    TableOptions options;
    options.dim = 1;
    options.num_buckets = 2;
    Require(Table<float>::Create(options, &table).ok());
  }

  void LookUp(int64_t key, int64_t now, int32_t coefficient) {
    KeyUse use;
    use.now = now;
    use.coefficient = coefficient;
    use.admission.access_threshold = 5;
    int64_t address;
    float value;
    const bool legal = now >= 0 && coefficient >= 1;
    Require(
        legal ==
        table->Lookup(&key, 1, OnMissing::kInsert, nullptr, &address, &value, &runner, &use).ok());
    if (!legal || key == kNoKey) return;
    int64_t& count = rows.count(key) != 0 ? rows[key] : waiting[key];
    count = std::min<int64_t>(count + coefficient, kMaxCount);
    if (rows.count(key) == 0 && count >= threshold) {
      rows[key] = count;
      waiting.erase(key);
    }
    Require((address != kNoAddress) == (rows.count(key) != 0));
  }

  void Load(int64_t key, int32_t count) {
    const int64_t now = 1;
    WaitingView view;
    view.n = 1;
    view.keys = &key;
    view.counts = &count;
    view.last_seen = &now;
    const int bucket = static_cast<int>(static_cast<uint64_t>(count) % 2);
    const Status loaded =
        table->ReplaceWaiting([&] { return table->ImportWaiting(bucket, 2, view); });
    waiting.clear();
    if (loaded.ok() && rows.count(key) == 0) waiting[key] = count;
  }

  void Step(uint8_t what, int64_t key, uint8_t number) {
    int64_t evicted = 0;
    if (what < 140) {
      LookUp(key, static_cast<int64_t>(number) - 3, what % 4 == 3 ? kMaxCount : what % 4);
    } else if (what < 160) {
      const bool legal = number > 0;
      Require(legal == table->admission()->SetThreshold(legal ? number : -1, 5).ok());
      if (legal) threshold = number;
    } else if (what < 180) {
      Load(key, number);
    } else if (what < 200) {
      Require(table
                  ->Evict({what % 2 == 0 ? "least_frequent" : "least_recent", 0.0 + number},
                          &runner, &evicted)
                  .ok());
      Require(evicted == std::max<int64_t>(0, static_cast<int64_t>(rows.size()) - number));
      if (evicted > 0) Forget();
    } else if (what < 220) {
      Require(table->Evict({"older_than", 0.0}, &runner, &evicted).ok());
      const bool timed = table->admission()->clock() >= 0;
      Require(evicted == (timed ? static_cast<int64_t>(rows.size()) : 0));
      if (timed) rows.clear();
      if (timed) waiting.clear();
    }
    Require(table->size() == static_cast<int64_t>(rows.size()));
    Require(table->stats().waiting == static_cast<int64_t>(waiting.size()));
  }

  // Which rows left by rank is for other tests.
  void Forget() {
    for (auto it = rows.begin(); it != rows.end();) {
      int64_t address;
      Require(table->Lookup(&it->first, 1, OnMissing::kDefault, nullptr, &address, nullptr, &runner)
                  .ok());
      it = address == kNoAddress ? rows.erase(it) : std::next(it);
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Fuzzed fuzzed;
  for (size_t i = 0; i + 2 < size; i += 3) {
    fuzzed.Step(data[i], data[i + 1] == 255 ? INT64_MIN : int64_t{data[i + 1] % 40} - 1,
                data[i + 2]);
  }
  return 0;
}
