// Short ways to look keys up as training does that counts them, and to see what was counted.
#ifndef ESTIMATOR_PLUGIN_TESTS_CORE_USAGE_TESTING_H_
#define ESTIMATOR_PLUGIN_TESTS_CORE_USAGE_TESTING_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/combined_counts.h"
#include "table_testing.h"

namespace estimator_plugin {
namespace testing {

inline KeyUse Use(int64_t now, int32_t threshold = kNoThreshold, int32_t coefficient = 1) {
  KeyUse use;
  use.now = now;
  use.coefficient = coefficient;
  use.admission.access_threshold = threshold;
  return use;
}

inline Keys CountedLookup(FloatTable* table, const Keys& keys, const KeyUse& use,
                          ParallelRunner* runner = nullptr) {
  InlineRunner inline_runner;
  Keys addresses(keys.size(), -77);
  Floats embeddings(keys.size() * table->dim(), -77.0f);
  EXPECT_OK(table->Lookup(keys.data(), keys.size(), OnMissing::kInsert, nullptr, addresses.data(),
                          embeddings.data(), runner == nullptr ? &inline_runner : runner, &use));
  for (size_t i = 0; i < keys.size(); ++i) {
    const Floats embedding(embeddings.begin() + i * table->dim(),
                           embeddings.begin() + (i + 1) * table->dim());
    if (addresses[i] == kNoAddress) {
      EXPECT_EQ(embedding, Floats(table->dim(), 0.0f)) << "key " << keys[i];
    }
  }
  return addresses;
}

inline int64_t Evict(FloatTable* table, const std::string& policy, double threshold,
                     ParallelRunner* runner = nullptr) {
  InlineRunner inline_runner;
  int64_t evicted = -1;
  EXPECT_OK(
      table->Evict({policy, threshold}, runner == nullptr ? &inline_runner : runner, &evicted));
  return evicted;
}

// What is known of a key.
struct Seen {
  int32_t count = 0;
  int64_t last_seen = 0;

  bool operator==(const Seen& other) const {
    return count == other.count && last_seen == other.last_seen;
  }
};
inline std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.count << " times, last at " << seen.last_seen;
}

using SeenByKey = std::map<int64_t, Seen>;

inline SeenByKey RowsSeen(const Snapshot& snapshot) {
  SeenByKey seen;
  for (const Snapshot::Part& part : snapshot.parts) {
    for (size_t i = 0; i < part.keys.size(); ++i) {
      seen[part.keys[i]] = {part.counts[i], part.last_seen[i]};
    }
  }
  return seen;
}

inline SeenByKey RowsSeen(FloatTable& table) { return RowsSeen(TakeSnapshot(table)); }

inline SeenByKey WaitingSeen(const FloatTable& table) {
  SeenByKey seen;
  for (const auto& records : table.ExportWaiting()) {
    for (size_t i = 0; records != nullptr && i < records->keys.size(); ++i) {
      EXPECT_TRUE(
          seen.emplace(records->keys[i], Seen{records->counts[i], records->last_seen[i]}).second)
          << "key " << records->keys[i] << " waits twice";
    }
  }
  return seen;
}

}  // namespace testing
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_TESTS_CORE_USAGE_TESTING_H_
