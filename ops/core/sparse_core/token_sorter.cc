#include "token_sorter.h"

#include <algorithm>

namespace estimator_plugin {
namespace sparse_core {
namespace {

// Below this number of items a sort by comparison is faster than counting.
constexpr int64_t kFewItems = 64;
// Counters of one digit: they should stay in the cache, and be few beside the items.
constexpr int kMostDigitBits = 11;
constexpr int kLeastDigitBits = 6;

int BitsOf(uint32_t value) { return value == 0 ? 0 : 32 - __builtin_clz(value); }

}  // namespace

void TokenSorter::SortByDigit(int shift, int digit_bits) {
  const uint32_t mask = (1u << digit_bits) - 1;
  next_.assign(mask + 1, 0);
  for (const Item& item : items_) ++next_[(item.key >> shift) & mask];
  uint32_t offset = 0;
  for (uint32_t& next : next_) {
    const uint32_t count = next;
    next = offset;
    offset += count;
  }
  for (const Item& item : items_) other_[next_[(item.key >> shift) & mask]++] = item;
  items_.swap(other_);
}

void TokenSorter::SortByKey(int bits) {
  const int64_t n = items_.size();
  if (n < kFewItems) {
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return a.key != b.key ? a.key < b.key : a.position < b.position;
    });
    return;
  }
  other_.resize(n);
  const int most = std::min(kMostDigitBits, std::max(kLeastDigitBits, BitsOf(n) - 1));
  const int digits = (bits + most - 1) / most;
  for (int digit = 0, shift = 0; digit < digits; ++digit) {
    const int digit_bits = (bits - shift + digits - digit - 1) / (digits - digit);
    SortByDigit(shift, digit_bits);
    shift += digit_bits;
  }
}

Status TokenSorter::Sort(const Tokens& tokens, int64_t n, const SortOptions& options,
                         const Tokens& sorted, const ShardCounts& counts) {
  const int shard_bits = options.topology.shard_bits();
  const uint32_t shard_mask = static_cast<uint32_t>(options.topology.shards() - 1);
  uint32_t lowest = UINT32_MAX, highest = 0;
  for (int64_t i = 0; i < n; ++i) {
    lowest = std::min(lowest, static_cast<uint32_t>(tokens.cols[i]));
    highest = std::max(highest, static_cast<uint32_t>(tokens.cols[i]));
  }
  if (n > 0 && highest >= options.columns) {
    return Error(Code::kInvalidArgument, "table '", options.table, "': column ",
                 static_cast<int32_t>(highest), " is not one of its ", options.columns, " columns");
  }
  lowest >>= shard_bits;
  const int row_bits = n == 0 ? 0 : BitsOf((highest >> shard_bits) - lowest);
  items_.resize(n);
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t col = static_cast<uint32_t>(tokens.cols[i]);
    const uint32_t row = (col >> shard_bits) - lowest;
    items_[i] = {(col & shard_mask) << row_bits | row, static_cast<uint32_t>(i)};
  }
  SortByKey(row_bits + shard_bits);

  std::fill_n(counts.ids, options.topology.shards(), 0);
  std::fill_n(counts.unique_ids, options.topology.shards(), 0);
  const uint32_t row_mask = (1u << row_bits) - 1;
  int64_t out = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Item item = items_[i];
    const bool same_key = i > 0 && items_[i - 1].key == item.key;
    const int32_t sample = tokens.rows[item.position];
    if (same_key && sorted.rows[out - 1] == sample) {
      sorted.gains[out - 1] += tokens.gains[item.position];
      continue;
    }
    const uint32_t shard = item.key >> row_bits;
    ++counts.ids[shard];
    counts.unique_ids[shard] += same_key ? 0 : 1;
    sorted.rows[out] = sample;
    sorted.cols[out] = static_cast<int32_t>((item.key & row_mask) + lowest);
    sorted.gains[out] = tokens.gains[item.position];
    ++out;
  }
  return Status();
}

}  // namespace sparse_core
}  // namespace estimator_plugin
