#include "count_sketch.h"

#include <algorithm>

#include "hash.h"

namespace estimator_plugin {
namespace {

constexpr int64_t kSmallestWidth = 64;
constexpr int64_t kAhead = 8;

}  // namespace

constexpr int CountSketch::kDepth;

int64_t CountSketch::WidthFor(int64_t bytes, int num_buckets) {
  const int64_t most = bytes / (kDepth * static_cast<int64_t>(sizeof(int32_t)) * num_buckets);
  int64_t width = kSmallestWidth;
  while (2 * width <= most) width *= 2;
  return width;
}

bool CountSketch::IsCells(int64_t cells) {
  const int64_t width = cells / kDepth;
  return width >= 1 && width * kDepth == cells && (width & (width - 1)) == 0;
}

CountSketch::Places CountSketch::PlacesOf(int64_t key) const {
  // Mixed once more: the table's use of the hash leaves its top bits equal within a bucket. Two
  // halves make all the row's hashes (Kirsch, Mitzenmacher 2006).
  const uint64_t hash = MixKey(static_cast<int64_t>(MixKey(key)));
  const uint64_t step = (hash >> 32) | 1;
  Places places;
  for (int row = 0; row < kDepth; ++row) {
    const uint64_t cell = (hash + static_cast<uint64_t>(row) * step) & (width_ - 1);
    places.cells[row] = row * width_ + static_cast<int64_t>(cell);
  }
  return places;
}

int32_t CountSketch::CountOf(int64_t key) const {
  int32_t least = kMaxCount;
  for (int64_t cell : PlacesOf(key).cells) least = std::min(least, cells_[cell]);
  return least;
}

void CountSketch::Add(int64_t key, int32_t added) {
  const Places places = PlacesOf(key);
  int32_t least = kMaxCount;
  for (int64_t cell : places.cells) least = std::min(least, cells_[cell]);
  const int32_t count = AddCounts(least, added);
  for (int64_t cell : places.cells) cells_[cell] = std::max(cells_[cell], count);
}

void CountSketch::Count(const MissingKey* keys, int64_t n, const Counting& counting) {
  for (int64_t i = 0; i < n; ++i) {
    if (i + kAhead < n) {
      for (int64_t cell : PlacesOf(keys[i + kAhead].key).cells) __builtin_prefetch(&cells_[cell]);
    }
    Add(keys[i].key, counting.Added(keys[i].position));
  }
}

void CountSketch::Load(const WaitingView& saved) {
  for (int64_t i = 0; i < saved.n; ++i) Add(saved.keys[i], saved.counts[i]);
  const int64_t width = saved.sketch_cells / kDepth;
  for (int row = 0; width > 0 && row < kDepth; ++row) {
    for (int64_t i = 0; i < std::max(width, width_); ++i) {
      int32_t& cell = cells_[row * width_ + i % width_];
      cell = AddCounts(cell, saved.sketch[row * width + i % width]);
    }
  }
}

}  // namespace estimator_plugin
