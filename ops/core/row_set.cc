#include "row_set.h"

#include <algorithm>

namespace estimator_plugin {
namespace {

constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

}  // namespace

void RowSet::Reserve(uint32_t rows) {
  const size_t wanted = (static_cast<size_t>(rows) + 63) / 64;
  if (wanted > words_.size()) Resize(std::max(wanted, 2 * words_.size()));
}

void RowSet::Resize(size_t words) {
  std::vector<std::atomic<uint64_t>> grown(words);
  for (size_t i = 0; i < grown.size(); ++i) {
    grown[i].store(i < words_.size() ? words_[i].load(kRelaxed) : 0, kRelaxed);
  }
  words_.swap(grown);
}

void RowSet::Remove(uint32_t row) {
  if (row / 64 < words_.size()) words_[row / 64].fetch_and(~BitOf(row), kRelaxed);
}

void RowSet::AddRange(uint32_t begin, uint32_t end) {
  while (begin < end && begin % 64 != 0) Add(begin++);
  for (; end - begin >= 64; begin += 64) words_[begin / 64].store(~uint64_t{0}, kRelaxed);
  while (begin < end) Add(begin++);
}

void RowSet::Take(RowSet* other) {
  if (words_.size() < other->words_.size()) Resize(other->words_.size());
  for (size_t i = 0; i < other->words_.size(); ++i) {
    const uint64_t taken = other->words_[i].load(kRelaxed);
    if (taken == 0) continue;
    words_[i].store(words_[i].load(kRelaxed) | taken, kRelaxed);
    other->words_[i].store(0, kRelaxed);
  }
}

void RowSet::Clear() {
  for (std::atomic<uint64_t>& word : words_) word.store(0, kRelaxed);
}

std::vector<uint32_t> RowSet::rows() const {
  std::vector<uint32_t> rows;
  for (size_t i = 0; i < words_.size(); ++i) {
    for (uint64_t word = words_[i].load(kRelaxed); word != 0; word &= word - 1) {
      rows.push_back(static_cast<uint32_t>(i * 64) + __builtin_ctzll(word));
    }
  }
  return rows;
}

}  // namespace estimator_plugin
