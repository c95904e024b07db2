// What changed in a bucket since the last checkpoint that is known to be whole: rows touched and
// keys removed. The payload of a row is never looked at.
//
// A save captures the changes and goes on using them until it is committed, so that a save that
// fails or dies loses nothing: its changes are part of the next one. Threads may call MarkChanged
// at once; all else wants the log to itself. Costs follow the changes and a bit per row.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_CHANGE_LOG_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_CHANGE_LOG_H_

#include <cstdint>
#include <vector>

#include "row_set.h"

namespace estimator_plugin {

class ChangeLog {
 public:
  // A row that was just added; later touches use MarkChanged.
  void AddRow(uint32_t row);
  // Rows [begin, end), of a bulk load.
  void AddRows(uint32_t begin, uint32_t end);
  void MarkChanged(uint32_t row) { current_.rows.Add(row); }
  // A row that was freed. `live` bounds the list of removed keys: a delta that lists more keys than
  // the bucket has rows is worse than a full checkpoint.
  void RemoveRow(uint32_t row, int64_t key, int64_t live);

  // Begins a save: everything that changed since the last commit belongs to it.
  void Capture();
  // The last captured save is whole: what it holds is no longer a change.
  void Commit();
  // All rows are as a checkpoint has them.
  void MarkAllSaved(uint32_t rows);

  // Rows that the captured save has, in order.
  std::vector<uint32_t> CapturedRows() const { return captured_.rows.rows(); }
  // Keys removed since the last commit; some may be back.
  const std::vector<int64_t>& captured_removals() const { return captured_.removed; }
  // Whether all removals since the last commit are known; if not, only a full save will do.
  bool complete() const { return !current_.lost && !captured_.lost; }
  // Memory in use.
  int64_t bytes() const;

 private:
  struct Changes {
    RowSet rows;
    std::vector<int64_t> removed;
    bool lost = false;  // More keys were removed than are kept.

    int64_t bytes() const;
  };

  bool keeps_removals_ = false;  // Before the first save there is nothing to remove from.
  Changes current_;              // Since the save that was captured last.
  Changes captured_;             // From the last commit until then.
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_CHANGE_LOG_H_
