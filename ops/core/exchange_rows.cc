#include "exchange_rows.h"

#include <algorithm>

#include "address.h"
#include "row_copy.h"

namespace estimator_plugin {
namespace {

// Rows per shard below which another thread costs more than it saves.
constexpr int64_t kGrain = 4096;
// How many rows ahead memory is asked for.
constexpr int64_t kAhead = 8;

}  // namespace

int64_t MostResponseWords(const Request& request, const std::vector<int64_t>& dims) {
  int64_t words = BitWords(request.num_keys());
  for (size_t t = 0; t < dims.size(); ++t) words += request.tables[t].n * dims[t];
  return words;
}

int64_t FinishResponse(const Request& request, const std::vector<int64_t>& dims,
                       const int64_t* addresses, float* words) {
  const int64_t bit_words = BitWords(request.num_keys());
  std::memset(words, 0, static_cast<size_t>(bit_words) * sizeof(float));
  const float* from = words + bit_words;
  float* to = words + bit_words;
  int64_t key = 0;
  for (size_t t = 0; t < dims.size(); ++t) {
    const size_t bytes = static_cast<size_t>(dims[t]) * sizeof(float);
    for (int64_t i = 0; i < request.tables[t].n; ++i, ++key, from += dims[t]) {
      if (addresses[key] == kNoAddress) continue;
      SetBit(words, key);
      if (from != to) std::memmove(to, from, bytes);
      to += dims[t];
    }
  }
  return to - words;
}

Positions::Positions(const std::vector<Request>& requests, int table) {
  int64_t end = 0;
  for (const Request& request : requests) {
    end += request.tables[table].n;
    ends_.push_back(end);
  }
}

Status Positions::Check(int64_t position) const {
  if (position == kNoAddress || (position >= 0 && position < size())) return Status();
  return Error(Code::kInvalidArgument, "position ", position, " is out of range; the exchange has ",
               size(), " keys of the table");
}

Status UnpackRows(const std::vector<Request>& requests, const std::vector<KeyedRows>& responses,
                  int table, int64_t dim, const int64_t* positions, int64_t n,
                  const float* default_row, float* embeddings, ParallelRunner* runner) {
  const Positions of_table(requests, table);
  const int64_t bytes = dim * static_cast<int64_t>(sizeof(float));
  const int shards = ShardsFor(*runner, n, kGrain);
  std::vector<Status> statuses(shards);
  runner->Run(shards, [&](int shard) {
    const ShardRange range = RangeOfShard(n, shards, shard);
    const float* ring[kAhead];
    const auto find = [&](int64_t i) {
      const int64_t position = positions[i];
      const float* row = nullptr;
      if (position >= 0 && position < of_table.size()) {
        int64_t key;
        const int server = of_table.Server(position, &key);
        row = responses[server].Find(table, key);
      } else if (position != kNoAddress) {
        statuses[shard] = of_table.Check(position);
      }
      ring[i % kAhead] = row == nullptr ? default_row : row;
      PrefetchBytes(ring[i % kAhead], bytes);
    };
    const int64_t ready = std::min(range.begin + kAhead, range.end);
    for (int64_t i = range.begin; i < ready; ++i) find(i);
    for (int64_t i = range.begin; i < range.end; ++i) {
      CopyBytes(ring[i % kAhead], embeddings + i * dim, bytes);
      if (i + kAhead < range.end) find(i + kAhead);
    }
  });
  return FirstError(statuses);
}

}  // namespace estimator_plugin
