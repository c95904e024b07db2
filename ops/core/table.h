// A growing embedding table: int64 keys, rows of [embedding | slots], a fixed number of buckets.
//
// Thread safety: every method may be called from any thread at any time. One reader/writer lock
// guards the rows: lookups share it, inserts, updates and removals own it for the moment of the
// change, so no lookup sees a row half-written. Export hands out views of live memory: keys and row
// count are of one moment, the values of a row may be caught mid-update, as those of variables.
//
// Determinism: for the same calls in the same order the table holds the same bits, whatever the
// runner's thread count.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_TABLE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_TABLE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "admission.h"
#include "bucket.h"
#include "eviction.h"
#include "gradient_sums.h"
#include "missing_keys.h"
#include "parallel.h"
#include "rw_lock.h"
#include "save_ledger.h"
#include "status.h"
#include "table_types.h"
#include "update_rule.h"

namespace estimator_plugin {

template <typename V>
class Table {
 public:
  static Status Create(const TableOptions& options, std::unique_ptr<Table>* table);

  const TableOptions& options() const { return options_; }
  int64_t dim() const { return options_.dim; }

  // The matrix behind initializer kind "bank", [bank_rows, dim]: before rows are inserted.
  Status SetInitializerBank(const V* bank, int64_t bank_rows);
  const std::vector<V>& initializer_bank() const { return bank_; }

  // For each key the address of its row, and, unless `embeddings` is null, its embedding.
  // Missing keys get a fresh row (kInsert) or kNoAddress and `default_row` (kDefault); kNoKey and,
  // where `use` has the keys counted, a key that is not admitted always get kNoAddress and
  // `default_row`. A null `default_row` means zeros.
  Status Lookup(const int64_t* keys, int64_t n, OnMissing on_missing, const V* default_row,
                int64_t* addresses, V* embeddings, ParallelRunner* runner,
                const KeyUse* use = nullptr);

  // Embeddings by address; `default_row` where the row has left since the lookup. InvalidArgument
  // for an address that no lookup can have given.
  Status Gather(const int64_t* addresses, int64_t n, const V* default_row, V* embeddings,
                ParallelRunner* runner);

  // Sums the gradients of each address over all segments, in segment order, and applies one update
  // per row. kNoAddress and rows that have left are ignored. On any error no row has changed.
  Status ApplyGradients(const UpdateRule<V>& rule, const std::vector<GradientSegment<V>>& segments,
                        OnNonFinite on_non_finite, ParallelRunner* runner, UpdateResult* result);

  // Removes keys; the freed rows are reused by later inserts once no view of them is alive.
  Status Remove(const int64_t* keys, int64_t n, int64_t* removed);
  // Removes the rows that `rule` selects, few at a time: training goes on meanwhile.
  Status Evict(const EvictionRule& rule, ParallelRunner* runner, int64_t* evicted);
  Status Clear();  // Removes everything and gives the memory back, once no view of it is alive.

  // Describes a save of the table. FailedPrecondition for a delta unless can_save_delta().
  Status PlanSave(SaveKind kind, SaveInfo* info) const;
  // Begins a save that this table or another partition of it planned, and hands out its content:
  // visit(bucket, view, removed) for every bucket here in order; a full save has all rows and no
  // removed keys, a delta the rows touched, copied by `runner`, and the keys removed since the
  // base. Stops at the first error. FailedPrecondition for a delta of another base. `visit` must
  // not call the table: Clear, Import and a change of slots wait for it.
  using VisitBucket =
      std::function<Status(int, const BucketView<V>&, const std::vector<int64_t>& removed)>;
  Status Export(const SaveInfo& info, const VisitBucket& visit, ParallelRunner* runner = nullptr);
  bool can_save_delta() const;  // Whether there is a base, and all changes since are known.

  // The checkpoint of this save is whole. Whether the next delta is relative to it now: false, and
  // nothing happens, when a later save began.
  bool CommitSave(const SavedAs& saved);
  SavedAs base() const { return saves_.base(); }

  // Replaces the whole content: drops all rows, takes over `layout`, then calls load_part(i) for
  // each part with buckets of its own, in parallel, which calls ImportRows for part i alone.
  // `saved` is the checkpoint that the table goes on from, if any; else all rows count as changed.
  // After an error the table is empty. REQUIRES: num_parts divides the number of buckets.
  Status Import(const RowLayout& layout, const SavedAs& saved, int num_parts,
                ParallelRunner* runner, const std::function<Status(int)>& load_part);
  // Takes in rows of part `part` of `num_parts`, which are equal ranges of buckets: a row that is
  // there is replaced, one of another partition left out. REQUIRES: within Import, oldest rows
  // first. DataLoss for a key of another part or kNoKey, and in an empty part for one that repeats.
  Status ImportRows(int part, int num_parts, const ImportedRows<V>& rows);
  // Keys of a part that wait for admission. REQUIRES: as ImportRows and after it; or within
  // ReplaceWaiting, which forgets all keys that wait and then calls `load`.
  Status ImportWaiting(int part, int num_parts, const WaitingView& waiting);
  Status ReplaceWaiting(const std::function<Status()>& load);
  std::vector<std::shared_ptr<const WaitingRecords>> ExportWaiting() const;  // By bucket.

  Admission* admission() { return &admission_; }
  RowLayout layout() const;
  int64_t size() const;
  TableStats stats() const;

 private:
  explicit Table(const TableOptions& options);

  void MakeBuckets();  // Drops all rows. REQUIRES: layout_lock_ held exclusively, or no other user.
  int64_t LiveRows() const;
  void InitializeRow(int64_t key, V* row) const;
  Status CheckOwned(const int64_t* keys, int64_t n) const;  // Whether they are of this partition.
  Status EnsureSlots(const std::vector<SlotSpec>& slots, bool* changed);

  Status InsertMissing(const std::vector<MissingKey>& missing, const MissingRows<V>& rows,
                       ParallelRunner* runner);
  // REQUIRES: rows_lock_ is held exclusively; and for RemoveRow.
  Status InsertIntoBucket(int bucket, const MissingKey* keys, int64_t n, const MissingRows<V>& to);
  bool RemoveRow(int64_t key);
  void MakeHugePages();  // Of a few of the places that rows have filled.
  // Sets shard->rows, null for rows that have left; an error for an address that never was.
  Status ResolveRows(typename GradientSums<V>::Shard* shard) const;
  const RowStore* StoreOf(int64_t address) const;  // Null if no lookup can have given the address.
  Status BadAddress(int64_t address) const;
  void ReuseBuckets(bool same_width);  // Drops all rows. REQUIRES: as MakeBuckets.
  Status FillBucket(int bucket, const ImportedRows<V>& rows);

  const TableOptions options_;
  int bucket_shift_ = 64;
  std::vector<V> bank_;
  std::unique_ptr<Initializer<V>> initializer_;
  mutable RwLock layout_lock_;  // Guards layout_ and which buckets there are.
  mutable RwLock rows_lock_;    // Taken after layout_lock_. Guards what is in the buckets.
  RowLayout layout_;
  std::unique_ptr<IndexArena> arena_;
  std::vector<std::unique_ptr<Bucket<V>>> buckets_;
  uint16_t generation_ = 0;  // That rows begin with; another one whenever the buckets are emptied.
  Admission admission_;      // Its mutex is taken after rows_lock_.
  SaveLedger saves_;

  std::atomic<bool> wants_huge_pages_{false};
  std::atomic<int> next_huge_bucket_{0};
  mutable TableCounters counters_;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_TABLE_H_
