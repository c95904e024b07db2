// Which rows a batch names, each once, for the thread that updates them.
#ifndef ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_DISTINCT_ROWS_H_
#define ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_DISTINCT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace limit {

// Collects the rows of one parity, so that two threads share out a batch without a lock.
struct DistinctRows {
  std::vector<int64_t> row;             // The distinct rows, by place; rows_used of them.
  std::vector<uint32_t> member, place;  // Positions in the batch and the place of the row there.
  size_t rows_used = 0;
  size_t members_used = 0;

  void Resize(size_t batch) {
    size_t size = 1024;
    while (size < batch) size *= 2;
    entries_.resize(size);
    row.resize(batch);
    member.resize(batch);
    place.resize(batch);
  }

  // `step` differs from call to call.
  void Collect(const int64_t* rows, size_t n, int parity, uint32_t step) {
    Entry* entries = entries_.data();
    const size_t mask = entries_.size() - 1;
    size_t distinct = 0;
    size_t members = 0;
    for (size_t i = 0; i < n; ++i) {
      if ((rows[i] & 1) != parity) continue;
      size_t at = (static_cast<uint64_t>(rows[i]) * 0x9e3779b97f4a7c15ull >> 40) & mask;
      while (entries[at].step == step && entries[at].row != rows[i]) at = (at + 1) & mask;
      if (entries[at].step != step) {
        entries[at] = {rows[i], step, static_cast<uint32_t>(distinct)};
        row[distinct++] = rows[i];
      }
      member[members] = static_cast<uint32_t>(i);
      place[members++] = entries[at].place;
    }
    rows_used = distinct;
    members_used = members;
  }

 private:
  struct Entry {
    int64_t row;
    uint32_t step;  // Of another step: the entry is free. Saves clearing the table.
    uint32_t place;
  };
  std::vector<Entry> entries_;
};

}  // namespace limit

#endif  // ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_DISTINCT_ROWS_H_
