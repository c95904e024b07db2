// The exact filter: a record for each key that waits for admission.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_WAITING_KEYS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_WAITING_KEYS_H_

#include <cstdint>
#include <vector>

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

  // Adds to the count of one key, which was seen at `now`.
  void Add(int64_t key, int32_t count, int64_t now);

 private:
  struct Record {
    int64_t key;
    int64_t last_seen;
    int32_t count;
  };

  size_t Place(int64_t key) const;  // Of its record, or of the empty place where it would go.
  void Reserve(int64_t size);
  void Rebuild(size_t capacity);

  std::vector<Record> records_;  // kNoKey where empty; the size is 0 or a power of two.
  int64_t size_ = 0;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_WAITING_KEYS_H_
