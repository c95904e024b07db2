#include "exchange_route.h"

#include <algorithm>

#include "address.h"

namespace estimator_plugin {
namespace {

// Keys per shard below which another thread costs more than it saves.
constexpr int64_t kGrain = 8192;
// Entries ahead that a slot of the set of distinct keys is asked for.
constexpr int64_t kAhead = 8;

// Calls visit(table, key, position) for the keys of [range.begin, range.end) of all lookups laid
// end to end, in order.
template <typename Visit>
void ForEachIn(ShardRange range, const std::vector<RoutedLookup>& lookups, const Visit& visit) {
  int64_t first = 0;  // Of the lookup, counted over all lookups.
  for (const RoutedLookup& lookup : lookups) {
    const int64_t begin = std::max<int64_t>(range.begin - first, 0);
    const int64_t end = std::min(range.end - first, lookup.n);
    for (int64_t i = begin; i < end; ++i) {
      visit(lookup.table, lookup.keys[i], lookup.positions + i);
    }
    first += lookup.n;
  }
}

}  // namespace

Status KeyRoutes::Create(const std::vector<RoutedTable>& tables, int num_servers,
                         KeyRoutes* routes) {
  routes->num_servers_ = num_servers;
  routes->tables_.clear();
  for (const RoutedTable& table : tables) {
    if (!IsNumBuckets(table.num_buckets) || num_servers < 1 || num_servers > table.num_buckets) {
      return Error(Code::kInvalidArgument, "a table of ", table.num_buckets,
                   " buckets cannot be spread over ", num_servers,
                   " servers; each needs a bucket, and their number is a power of two up to ",
                   kMaxBuckets);
    }
    Table routed = {table.counted, 64, std::vector<int>(table.num_buckets)};
    for (int n = table.num_buckets; n > 1; n /= 2) --routed.bucket_shift;
    for (int s = 0; s < num_servers; ++s) {
      const ShardRange buckets = BucketsOfServer(table.num_buckets, num_servers, s);
      std::fill(routed.destinations.begin() + buckets.begin,
                routed.destinations.begin() + buckets.end,
                static_cast<int>(routes->tables_.size()) * num_servers + s);
    }
    routes->tables_.push_back(std::move(routed));
  }
  return Status();
}

void KeyRouter::Route(const KeyRoutes& routes, const std::vector<RoutedLookup>& lookups,
                      ParallelRunner* runner) {
  routes_ = &routes;
  int64_t total = 0;
  for (const RoutedLookup& lookup : lookups) total += lookup.n;
  const int shards = ShardsFor(*runner, total, kGrain);
  while (static_cast<int>(distinct_.size()) < shards) distinct_.emplace_back(new DistinctSet);
  arena_.Reset(total * (sizeof(Entry) + sizeof(int64_t) + sizeof(int32_t)), 3);
  entries_ = arena_.Take<Entry>(total);
  keys_ = arena_.Take<int64_t>(total);
  occurrences_ = arena_.Take<int32_t>(total);
  SortByDestination(lookups, total, shards, runner);
  sizes_.assign(offsets_.size() - 1, 0);
  ForEachDestination(shards, runner,
                     [this](int d, int shard) { Number(d, distinct_[shard].get()); });
  ForEachDestination(shards, runner, [this](int d, int) { AddBases(d); });
}

void KeyRouter::SortByDestination(const std::vector<RoutedLookup>& lookups, int64_t total,
                                  int shards, ParallelRunner* runner) {
  const int destinations = routes_->num_tables() * routes_->num_servers();
  // A counting sort over as many chunks as shards: next[chunk][destination].
  std::vector<std::vector<int64_t>> next(shards, std::vector<int64_t>(destinations, 0));
  runner->Run(shards, [&](int chunk) {
    std::vector<int64_t> counts(destinations, 0);
    ForEachIn(RangeOfShard(total, shards, chunk), lookups, [&](int table, int64_t key, int64_t*) {
      if (key != kNoKey) ++counts[routes_->Destination(table, key)];
    });
    next[chunk] = counts;
  });
  offsets_.assign(destinations + 1, 0);
  int64_t offset = 0;
  for (int d = 0; d < destinations; ++d) {
    for (int chunk = 0; chunk < shards; ++chunk) {
      const int64_t count = next[chunk][d];
      next[chunk][d] = offset;
      offset += count;
    }
    offsets_[d + 1] = offset;
  }
  runner->Run(shards, [&](int chunk) {
    std::vector<int64_t> at = next[chunk];
    ForEachIn(RangeOfShard(total, shards, chunk), lookups,
              [&](int table, int64_t key, int64_t* position) {
                if (key == kNoKey) {
                  *position = kNoAddress;
                } else {
                  entries_[at[routes_->Destination(table, key)]++] = {key, position};
                }
              });
  });
}

template <typename Each>
void KeyRouter::ForEachDestination(int shards, ParallelRunner* runner, const Each& each) const {
  const int destinations = static_cast<int>(offsets_.size()) - 1;
  const int64_t total = offsets_.back();
  runner->Run(shards, [&](int shard) {
    // Those that begin in this share of the entries.
    const ShardRange range = RangeOfShard(total, shards, shard);
    auto first = std::lower_bound(offsets_.begin(), offsets_.end() - 1, range.begin);
    for (int d = static_cast<int>(first - offsets_.begin()); d < destinations; ++d) {
      if (offsets_[d] >= range.end) break;
      each(d, shard);
    }
  });
}

void KeyRouter::Number(int destination, DistinctSet* distinct) {
  const int64_t begin = offsets_[destination];
  const int64_t end = offsets_[destination + 1];
  distinct->Reset(end - begin);
  for (int64_t i = begin; i < end; ++i) {
    if (i + kAhead < end) distinct->Prefetch(MixKey(entries_[i + kAhead].key));
    const Entry& entry = entries_[i];
    const uint32_t known = distinct->size();
    const uint32_t number = distinct->Add(entry.key, MixKey(entry.key));
    if (number == known) {
      keys_[begin + number] = entry.key;
      occurrences_[begin + number] = 0;
    }
    ++occurrences_[begin + number];
    *entry.position = number;
  }
  sizes_[destination] = distinct->size();
}

void KeyRouter::AddBases(int destination) {
  const int first = destination - destination % routes_->num_servers();
  int64_t base = 0;
  for (int d = first; d < destination; ++d) base += sizes_[d];
  if (base == 0) return;
  for (int64_t i = offsets_[destination]; i < offsets_[destination + 1]; ++i) {
    *entries_[i].position += base;
  }
}

Request KeyRouter::RequestTo(int server, int64_t now) const {
  Request request;
  request.now = now;
  for (int t = 0; t < routes_->num_tables(); ++t) {
    const int destination = t * routes_->num_servers() + server;
    const int64_t begin = offsets_[destination];
    request.tables.push_back(
        {keys_ + begin, sizes_[destination], routes_->counted(t) ? occurrences_ + begin : nullptr});
  }
  return request;
}

}  // namespace estimator_plugin
