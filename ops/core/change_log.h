// What changed in a bucket since the last checkpoint that is known to be whole: rows touched and
// keys removed. The payload of a row is never looked at.
//
// A save captures the changes and goes on using them until it is committed, so that a save that
// fails or dies loses nothing: its changes are part of the next one. Thread-compatible; different
// rows may be marked at once.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_CHANGE_LOG_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_CHANGE_LOG_H_

#include <cstdint>
#include <vector>

namespace estimator_plugin {

class ChangeLog {
 public:
  // A row that was just added; later touches use MarkChanged.
  void AddRow(uint32_t row);
  // As many rows as there are at the end of a bulk load.
  void AddRows(uint32_t rows);
  void MarkChanged(uint32_t row) { marks_[row] = kChanged; }
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
  std::vector<uint32_t> CapturedRows() const;
  // Keys removed since the last commit; some may be back.
  const std::vector<int64_t>& captured_removals() const { return captured_.keys; }
  // Whether all removals since the last commit are known; if not, only a full save will do.
  bool complete() const { return !current_.lost && !captured_.lost; }
  // Memory in use.
  int64_t bytes() const;

 private:
  enum Mark : uint8_t { kSaved = 0, kChanged = 1, kCaptured = 2 };

  struct Removals {
    std::vector<int64_t> keys;
    bool lost = false;  // There were too many to keep.
  };

  std::vector<uint8_t> marks_;   // By row number.
  bool keeps_removals_ = false;  // Before the first save there is nothing to remove from.
  Removals current_;
  Removals captured_;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_CHANGE_LOG_H_
