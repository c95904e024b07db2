#include "row_store.h"

#include <algorithm>
#include <cstring>

#include "address.h"

namespace estimator_plugin {
namespace {

constexpr int64_t kSmallestRangeBytes = int64_t{1} << 20;
// A huge page is made once its unfilled part is at most this share of the bucket's rows.
constexpr int64_t kWasteDivisor = 8;

constexpr int64_t kUsageBytes = sizeof(RowUse);

// How far the rows must reach before the huge page that starts at `begin` is made.
int64_t HugeThreshold(int64_t begin) {
  const int64_t end = begin + kHugePageBytes;
  return std::max(begin, end - end / (kWasteDivisor + 1));
}

// The huge pages that hold bytes of a row.
struct PageRange {
  int64_t begin;
  int64_t end;
};

PageRange PagesOf(int64_t row, int64_t row_bytes) {
  return {row * row_bytes / kHugePageBytes, ((row + 1) * row_bytes - 1) / kHugePageBytes + 1};
}

int64_t NumPages(const std::vector<bool>& pages) { return static_cast<int64_t>(pages.size()); }

}  // namespace

constexpr int64_t RowStore::kFirstRangeBytes;
constexpr int64_t RowStore::kMetadataBytes;

Status RowStore::Add(int64_t key, uint32_t* row) {
  if (!deferred_.empty() && !pinned()) ReclaimDeferred();
  if (free_rows_.size() > 0) {
    *row = free_rows_.TakeLowest();
    const PageRange pages = PagesOf(*row, row_bytes_);
    for (int64_t p = pages.begin; p < std::min(pages.end, NumPages(given_back_)); ++p) {
      given_back_[p] = false;
    }
  } else {
    if (used_ == capacity_) EP_RETURN_IF_ERROR(Grow(static_cast<int64_t>(used_) + 1));
    AdviseHugePages((used_ + int64_t{1}) * row_bytes_);
    *row = used_++;
    if (*row % 64 == 0) live_bits_.push_back(0);
    if (!generations_.empty()) generations_.push_back(first_generation_);
  }
  arrays_.keys[*row] = key;
  live_bits_[*row / 64] |= uint64_t{1} << *row % 64;
  ++live_;
  return Status();
}

void RowStore::Append(const int64_t* keys, int64_t n) {
  std::copy_n(keys, n, arrays_.keys + used_);
  const uint32_t end = used_ + static_cast<uint32_t>(n);
  live_bits_.resize((end + uint64_t{63}) / 64, 0);
  for (uint32_t row = used_; row < end; ++row) live_bits_[row / 64] |= uint64_t{1} << row % 64;
  used_ = end;
  if (!generations_.empty()) generations_.resize(used_, first_generation_);
  live_ += n;
}

void RowStore::Clear(uint16_t first_generation) {
  if (has_usage_) std::fill_n(arrays_.uses, used_, RowUse());
  has_usage_ = false;
  touched_ = std::max(touched_, used_);
  used_ = 0;
  live_ = 0;
  live_bits_.clear();
  first_generation_ = first_generation;
  generations_.clear();
  free_rows_ = FreeRows();
  deferred_.clear();
  given_back_.clear();
}

void RowStore::Trim() {
  if (touched_ > used_) {
    const int64_t rows = touched_ - used_;
    MappedRange::Discard(row(used_), rows * row_bytes_);
    MappedRange::Discard(reinterpret_cast<char*>(arrays_.keys + used_),
                         rows * static_cast<int64_t>(sizeof(int64_t)));
    SkipHugePages();
  }
  touched_ = 0;
}

void RowStore::AdviseHugePages(int64_t bytes) {
  // In a big bucket a page is huge from its first touch; a row may be longer than a page.
  while (bytes > huge_at_ && huge_at_ == huge_begin_) {
    MappedRange::AdviseHuge(arrays_.rows + huge_begin_, kHugePageBytes);
    huge_begin_ += kHugePageBytes;
    huge_at_ = HugeThreshold(huge_begin_);
  }
}

void RowStore::MakeHugePage() {
  MappedRange::CollapseHuge(arrays_.rows + huge_begin_, kHugePageBytes);
  huge_begin_ += kHugePageBytes;
  huge_at_ = HugeThreshold(huge_begin_);
}

void RowStore::SkipHugePages() {
  huge_begin_ = used_ * row_bytes_ / kHugePageBytes * kHugePageBytes;
  huge_at_ = HugeThreshold(huge_begin_);
}

void RowStore::Free(const uint32_t* rows, size_t n) {
  if (generations_.empty()) generations_.assign(used_, first_generation_);
  for (size_t i = 0; i < n; ++i) {
    live_bits_[rows[i] / 64] &= ~(uint64_t{1} << rows[i] % 64);
    ++generations_[rows[i]];
  }
  live_ -= static_cast<int64_t>(n);
  if (pinned()) {
    deferred_.insert(deferred_.end(), rows, rows + n);
  } else {
    Recycle(rows, n);
  }
}

void RowStore::Recycle(const uint32_t* rows, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    arrays_.keys[rows[i]] = kNoKey;
    if (has_usage_) arrays_.uses[rows[i]] = RowUse();
    free_rows_.Add(rows[i]);
  }
}

void RowStore::ReclaimDeferred() {
  Recycle(deferred_.data(), deferred_.size());
  deferred_.clear();
}

bool RowStore::GiveBackFreed(int most) {
  given_back_.resize(used_ * row_bytes_ / kHugePageBytes, false);
  for (int64_t page = 0; most > 0 && page < NumPages(given_back_); ++page) {
    if (given_back_[page]) continue;
    const int64_t begin = page * kHugePageBytes / row_bytes_;
    const int64_t end = ((page + 1) * kHugePageBytes - 1) / row_bytes_ + 1;
    if (!free_rows_.HasAll(static_cast<uint32_t>(begin), static_cast<uint32_t>(end))) continue;
    MappedRange::Discard(arrays_.rows + page * kHugePageBytes, kHugePageBytes);
    given_back_[page] = true;
    --most;
  }
  return most == 0;
}

Status RowStore::Reserve(int64_t rows) {
  if (rows > capacity_) EP_RETURN_IF_ERROR(Grow(rows));
  while (rows * row_bytes_ > huge_at_) {
    MappedRange::AdviseHuge(arrays_.rows + huge_begin_, kHugePageBytes);
    huge_begin_ += kHugePageBytes;
    huge_at_ = HugeThreshold(huge_begin_);
  }
  return Status();
}

Status RowStore::CopyMetadata(const RowStore& from) {
  if (from.used_ == 0) return Status();
  EP_RETURN_IF_ERROR(Reserve(from.used_));
  std::copy_n(from.arrays_.keys, from.used_, arrays_.keys);
  live_bits_ = from.live_bits_;
  if (from.has_usage_) std::copy_n(from.arrays_.uses, from.used_, arrays_.uses);
  has_usage_ = from.has_usage_;
  used_ = from.used_;
  live_ = from.live_;
  first_generation_ = from.first_generation_;
  generations_ = from.generations_;
  free_rows_ = from.free_rows_;
  deferred_ = from.deferred_;
  ReclaimDeferred();
  SkipHugePages();
  return Status();
}

std::shared_ptr<const void> RowStore::Pin() const {
  if (range_ == nullptr) return nullptr;
  const std::shared_ptr<MappedRange> range = range_;
  const std::shared_ptr<std::atomic<int64_t>> pins = pins_;
  pins->fetch_add(1, std::memory_order_relaxed);
  return std::shared_ptr<const void>(
      range->base(), [range, pins](const void*) { pins->fetch_sub(1, std::memory_order_release); });
}

void RowStore::SetUsage(uint32_t row, int32_t count, int64_t last_seen) {
  if (count == 0 && last_seen == 0 && !has_usage_) return;
  arrays_.uses[row].count = count;
  arrays_.uses[row].last_seen = last_seen;
  has_usage_ = true;
}

int64_t RowStore::bytes() const {
  const int64_t usage = has_usage_ ? kUsageBytes : 0;
  const int64_t given_back = std::count(given_back_.begin(), given_back_.end(), true);
  return used_ * (row_bytes_ + kMetadataBytes - kUsageBytes + usage) + free_rows_.bytes() +
         static_cast<int64_t>(generations_.capacity() * sizeof(uint16_t)) -
         given_back * kHugePageBytes;
}

int64_t RowStore::RangeBytes(int64_t capacity) const {
  // Every array starts on a page of its own, the rows on a huge page.
  return capacity * (row_bytes_ + kMetadataBytes) + 3 * kPageBytes + kHugePageBytes;
}

RowStore::Arrays RowStore::Place(char* base, int64_t capacity) const {
  Arrays arrays;
  int64_t at = 0;
  arrays.keys = reinterpret_cast<int64_t*>(base + at);
  at = RoundUp(at + capacity * static_cast<int64_t>(sizeof(int64_t)), kPageBytes);
  arrays.uses = reinterpret_cast<RowUse*>(base + at);
  at = RoundUp(at + capacity * kUsageBytes, kHugePageBytes);
  arrays.rows = base + at;
  return arrays;
}

Status RowStore::Grow(int64_t rows) {
  if (rows > static_cast<int64_t>(kMaxRowsPerBucket)) {
    return Error(Code::kResourceExhausted, "a bucket holds at most ", kMaxRowsPerBucket,
                 " rows; create the table with more buckets");
  }
  int64_t capacity = std::max(rows, 2 * capacity_);
  if (capacity_ == 0) {
    capacity = std::max(rows, first_range_bytes_ / (row_bytes_ + kMetadataBytes));
  }
  capacity = std::min<int64_t>(capacity, kMaxRowsPerBucket);
  std::shared_ptr<MappedRange> range = MappedRange::Reserve(RangeBytes(capacity));
  while (range == nullptr && capacity > rows) {
    capacity = std::max(rows, capacity / 2);
    if (RangeBytes(capacity) < kSmallestRangeBytes) capacity = rows;
    range = MappedRange::Reserve(RangeBytes(capacity));
  }
  if (range == nullptr) {
    return Error(Code::kResourceExhausted, "no address space for ", rows, " rows of ", row_bytes_,
                 " bytes in one bucket");
  }
  MoveInto(std::move(range), capacity);
  return Status();
}

void RowStore::MoveInto(std::shared_ptr<MappedRange> range, int64_t capacity) {
  const Arrays to = Place(range->base(), capacity);
  // A view reads the old range: it keeps that, and the rows are copied. Otherwise pages move.
  const bool copy = pinned();
  const auto move = [this, copy](void* from, void* target, int64_t item_bytes) {
    const int64_t bytes = used_ * item_bytes;
    if (bytes == 0) return;
    if (copy || !MappedRange::MovePages(static_cast<char*>(from), static_cast<char*>(target),
                                        RoundUp(bytes, kPageBytes))) {
      std::memcpy(target, from, bytes);
    }
  };
  move(arrays_.keys, to.keys, sizeof(int64_t));
  if (has_usage_) move(arrays_.uses, to.uses, kUsageBytes);
  move(arrays_.rows, to.rows, row_bytes_);
  range_ = std::move(range);
  pins_ = std::make_shared<std::atomic<int64_t>>(0);
  arrays_ = to;
  capacity_ = capacity;
  // The views that kept rows from being reused hold the old range, not this one.
  if (copy) {
    ReclaimDeferred();
    given_back_.clear();  // The copy has touched all pages.
  }
  SkipHugePages();
}

}  // namespace estimator_plugin
