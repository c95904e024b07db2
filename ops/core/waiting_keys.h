// The exact filter: a record for each key that waits for admission.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_WAITING_KEYS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_WAITING_KEYS_H_

#include <cstdint>
#include <vector>

#include "address.h"
#include "admission_filter.h"

namespace estimator_plugin {

// Open addressing with linear probing; a removal moves the records behind it, so there are no
// tombstones.
class WaitingKeys : public AdmissionFilter {
 public:
  void Count(const MissingKey* keys, int64_t n, const Counting& counting) override;
  int32_t CountOf(int64_t key) const override;
  int32_t Take(int64_t key) override;
  int64_t RemoveOlder(int64_t last) override;
  int64_t waiting() const override { return size_; }
  int64_t bytes() const override {
    return static_cast<int64_t>(records_.capacity() * sizeof(Record));
  }
  void Save(WaitingRecords* records) const override;
  void Load(const WaitingView& saved) override;

  // Gives a key at least this count and time.
  void Raise(int64_t key, int32_t count, int64_t last_seen);
  // Forgets the keys for which leaves(key, last_seen) is true; returns how many.
  template <typename Leaves>
  int64_t RemoveIf(const Leaves& leaves) {
    int64_t removed = 0;
    for (Record& record : records_) {
      if (record.key == kNoKey || !leaves(record.key, record.last_seen)) continue;
      record.key = kNoKey;
      ++removed;
    }
    size_ -= removed;
    if (removed > 0) Rebuild(size_);
    return removed;
  }
  // Saves the keys for which wanted(key) is true.
  template <typename Wanted>
  void SaveIf(const Wanted& wanted, WaitingRecords* records) const {
    for (const Record& record : records_) {
      if (record.key == kNoKey || !wanted(record.key)) continue;
      records->keys.push_back(record.key);
      records->counts.push_back(record.count);
      records->last_seen.push_back(record.last_seen);
    }
  }

 private:
  struct Record {
    int64_t key;
    int64_t last_seen;
    int32_t count;
  };

  size_t Place(int64_t key) const;  // Of its record, or of the empty place where it would go.
  Record* FindOrAdd(int64_t key);   // A new record has a count of 0.
  void Reserve(int64_t size);
  void Rebuild(int64_t size);  // For so many records.

  std::vector<Record> records_;  // kNoKey where empty; the size is 0 or a power of two.
  int64_t size_ = 0;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_WAITING_KEYS_H_
