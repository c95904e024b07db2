#include "change_log.h"

#include <algorithm>

namespace estimator_plugin {
namespace {

// Removals kept however few rows are left.
constexpr int64_t kFewRemovals = 1024;

}  // namespace

void ChangeLog::AddRow(uint32_t row) {
  current_.rows.Reserve(row + 1);
  current_.rows.Add(row);
}

void ChangeLog::AddRows(uint32_t begin, uint32_t end) {
  current_.rows.Reserve(end);
  current_.rows.AddRange(begin, end);
}

void ChangeLog::RemoveRow(uint32_t row, int64_t key, int64_t live) {
  current_.rows.Remove(row);
  captured_.rows.Remove(row);
  if (!keeps_removals_ || current_.lost) return;
  current_.removed.push_back(key);
  const int64_t kept = static_cast<int64_t>(current_.removed.size() + captured_.removed.size());
  if (kept > std::max(live, kFewRemovals)) {
    current_.removed = std::vector<int64_t>();
    current_.lost = true;
  }
}

void ChangeLog::Capture() {
  captured_.rows.Take(&current_.rows);
  captured_.removed.insert(captured_.removed.end(), current_.removed.begin(),
                           current_.removed.end());
  captured_.lost |= current_.lost;
  current_.removed = std::vector<int64_t>();
  current_.lost = false;
  keeps_removals_ = true;
}

void ChangeLog::Commit() {
  captured_.rows.Clear();
  captured_.removed = std::vector<int64_t>();
  captured_.lost = false;
}

void ChangeLog::MarkAllSaved(uint32_t rows) {
  *this = ChangeLog();
  current_.rows.Reserve(rows);
  keeps_removals_ = true;
}

int64_t ChangeLog::bytes() const { return current_.bytes() + captured_.bytes(); }

int64_t ChangeLog::Changes::bytes() const {
  return rows.bytes() + static_cast<int64_t>(removed.capacity() * sizeof(int64_t));
}

}  // namespace estimator_plugin
