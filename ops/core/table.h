// A growing embedding table: int64 keys, rows of [embedding | slots], a fixed number of buckets.
//
// Thread safety: every method may be called from any thread at any time. Each bucket has a
// reader/writer lock; a lookup shares them, inserts, updates and removals own the buckets they
// change. A row is therefore never seen half-written by a lookup. Export hands out views of live
// memory: keys and row count are of one moment, while the values of a row that is being updated at
// that very instant may be caught mid-update, as with TensorFlow's own variables.
//
// Determinism: for the same calls in the same order the table holds the same bits, whatever the
// runner's thread count.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_TABLE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_TABLE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bucket.h"
#include "gradient_sums.h"
#include "initializer.h"
#include "parallel.h"
#include "row_layout.h"
#include "rw_lock.h"
#include "status.h"
#include "update_rule.h"

namespace estimator_plugin {

struct TableOptions {
  std::string name;
  int64_t dim = 0;
  int num_buckets = 64;  // A power of two, 1 to 4096; fixed for the table's life.
  InitializerSpec initializer;
};

struct TableStats {
  int64_t rows = 0;           // Live rows.
  int64_t bytes = 0;          // Memory in use for rows, metadata and index.
  int64_t keys_looked_up = 0;  // Keys asked for since creation, kNoKey not counted.
  int64_t keys_found = 0;     // Those that had a row already.
  int64_t rows_inserted = 0;
  int64_t rows_removed = 0;
  int64_t rows_updated = 0;
};

enum class OnMissing { kInsert, kDefault };
enum class OnNonFinite { kReject, kSkip };

struct UpdateResult {
  int64_t updated_rows = 0;
  // Rows left alone because their summed gradient was not finite.
  int64_t skipped_rows = 0;
  bool slots_changed = false;  // Rows had another optimizer's slots; those it lacks are fresh.
};

template <typename V>
class Table {
 public:
  static Status Create(const TableOptions& options, std::unique_ptr<Table>* table);

  const TableOptions& options() const { return options_; }
  int64_t dim() const { return options_.dim; }

  // The matrix behind initializer kind "bank": [bank_rows, dim]. REQUIRES: called before rows are
  // inserted with that kind.
  Status SetInitializerBank(const V* bank, int64_t bank_rows);
  const std::vector<V>& initializer_bank() const { return bank_; }

  // For each key the address of its row, and, unless `embeddings` is null, its embedding.
  // Missing keys get a fresh row (kInsert) or kNoAddress and `default_row` (kDefault); kNoKey
  // always gets kNoAddress and `default_row`. A null `default_row` means zeros.
  Status Lookup(const int64_t* keys, int64_t n, OnMissing on_missing, const V* default_row,
                int64_t* addresses, V* embeddings, ParallelRunner* runner);

  // Embeddings by address. InvalidArgument for an address that names no live row.
  Status Gather(const int64_t* addresses, int64_t n, const V* default_row, V* embeddings,
                ParallelRunner* runner);

  // Sums the gradients of each address over all segments, in segment order, and applies one update
  // per row. kNoAddress is ignored. On any error no row has changed.
  Status ApplyGradients(const UpdateRule<V>& rule,
                        const std::vector<GradientSegment<V>>& segments, OnNonFinite on_non_finite,
                        ParallelRunner* runner, UpdateResult* result);

  // Removes keys; the freed rows are reused by later inserts once no view of them is alive.
  Status Remove(const int64_t* keys, int64_t n, int64_t* removed);

  // Removes everything and gives the memory back (when the last view of it is gone).
  Status Clear();

  // Calls visit(bucket, view) for every bucket in order. All views have the layout `begin` was
  // called with. Stops at the first error.
  Status Export(const std::function<Status(const RowLayout&)>& begin,
                const std::function<Status(int, const BucketView<V>&)>& visit) const;

  // Replaces the whole content: Clear, take over `layout`, then load_bucket(b) for every bucket,
  // in parallel, each of which calls ImportBucket. After an error the table is empty.
  Status Import(const RowLayout& layout, ParallelRunner* runner,
                const std::function<Status(int)>& load_bucket);
  // REQUIRES: called from within Import. DataLoss for a key of another bucket, a repeated key or
  // kNoKey. `counts` and `last_seen` may be null.
  Status ImportBucket(int bucket, const int64_t* keys, const V* values, const int32_t* counts,
                      const int64_t* last_seen, int64_t n);

  RowLayout layout() const;
  int64_t size() const;
  TableStats stats() const;

 private:
  explicit Table(const TableOptions& options);

  void MakeBuckets();  // Drops all rows. REQUIRES: layout_lock_ held exclusively, or no other user.
  int64_t LiveRows() const;
  void InitializeRow(int64_t key, V* row) const;
  Status EnsureSlots(const std::vector<SlotSpec>& slots, bool* changed);

  Status InsertMissing(const int64_t* keys, const std::vector<int64_t>& missing,
                       int64_t* addresses, V* embeddings, ParallelRunner* runner);
  // Turns a few of the places that rows have filled into huge pages.
  void MakeHugePages();
  // REQUIRES: the bucket's lock is held exclusively.
  Status InsertIntoBucket(int bucket, const int64_t* keys, const int64_t* positions, int64_t n,
                          int64_t* addresses, V* embeddings);
  // Sets shard->rows; an error for an address that names no live row.
  Status ResolveRows(typename GradientSums<V>::Shard* shard) const;
  // What is wrong with an address that names no live row.
  Status BadAddress(int64_t address) const;
  BucketView<V> ViewBucket(int bucket) const;

  const TableOptions options_;
  int bucket_shift_ = 64;
  std::vector<V> bank_;
  std::unique_ptr<Initializer<V>> initializer_;

  mutable RwLock layout_lock_;  // Taken before any bucket lock. Guards layout_.
  RowLayout layout_;
  std::unique_ptr<IndexArena> arena_;
  std::vector<std::unique_ptr<Bucket<V>>> buckets_;

  std::atomic<bool> wants_huge_pages_{false};
  std::atomic<int> next_huge_bucket_{0};

  mutable std::atomic<int64_t> keys_looked_up_{0};
  mutable std::atomic<int64_t> keys_found_{0};
  std::atomic<int64_t> rows_inserted_{0};
  std::atomic<int64_t> rows_removed_{0};
  std::atomic<int64_t> rows_updated_{0};
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_TABLE_H_
