#include "change_log.h"

#include <algorithm>
#include <cstring>

namespace estimator_plugin {
namespace {

// Removals kept however few rows are left.
constexpr int64_t kFewRemovals = 1024;

// Calls visit(i) for every i with marks[i] != 0, in order. Most rows of a delta did not change:
// eight of them are passed over at once.
template <typename Visit>
void ForEachMark(const std::vector<uint8_t>& marks, const Visit& visit) {
  const size_t n = marks.size();
  size_t i = 0;
  for (uint64_t eight = 0; i + sizeof(eight) <= n; i += sizeof(eight)) {
    std::memcpy(&eight, &marks[i], sizeof(eight));
    if (eight == 0) continue;
    for (size_t j = i; j < i + sizeof(eight); ++j) {
      if (marks[j] != 0) visit(j);
    }
  }
  for (; i < n; ++i) {
    if (marks[i] != 0) visit(i);
  }
}

}  // namespace

void ChangeLog::AddRow(uint32_t row) {
  if (row >= marks_.size()) marks_.resize(static_cast<size_t>(row) + 1, kSaved);
  marks_[row] = kChanged;
}

void ChangeLog::AddRows(uint32_t rows) { marks_.resize(rows, kChanged); }

void ChangeLog::RemoveRow(uint32_t row, int64_t key, int64_t live) {
  marks_[row] = kSaved;
  if (!keeps_removals_ || current_.lost) return;
  current_.keys.push_back(key);
  const int64_t kept = static_cast<int64_t>(current_.keys.size() + captured_.keys.size());
  if (kept > std::max(live, kFewRemovals)) {
    current_.keys = std::vector<int64_t>();
    current_.lost = true;
  }
}

void ChangeLog::Capture() {
  ForEachMark(marks_, [this](size_t i) { marks_[i] = kCaptured; });
  captured_.keys.insert(captured_.keys.end(), current_.keys.begin(), current_.keys.end());
  captured_.lost |= current_.lost;
  current_ = Removals();
  keeps_removals_ = true;
}

void ChangeLog::Commit() {
  ForEachMark(marks_, [this](size_t i) {
    if (marks_[i] == kCaptured) marks_[i] = kSaved;
  });
  captured_ = Removals();
}

void ChangeLog::MarkAllSaved(uint32_t rows) {
  marks_.assign(rows, kSaved);
  current_ = captured_ = Removals();
  keeps_removals_ = true;
}

std::vector<uint32_t> ChangeLog::CapturedRows() const {
  std::vector<uint32_t> rows;
  ForEachMark(marks_, [&](size_t i) {
    if (marks_[i] == kCaptured) rows.push_back(static_cast<uint32_t>(i));
  });
  return rows;
}

int64_t ChangeLog::bytes() const {
  const size_t removals = current_.keys.capacity() + captured_.keys.capacity();
  return static_cast<int64_t>(marks_.capacity() + removals * sizeof(int64_t));
}

}  // namespace estimator_plugin
