// The worker's side of a lookup on parameter servers: which keys go where.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_EXCHANGE_ROUTE_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_EXCHANGE_ROUTE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "distinct_set.h"
#include "exchange_format.h"
#include "hash.h"
#include "huge_buffer.h"
#include "parallel.h"

namespace estimator_plugin {

struct RoutedTable {
  int num_buckets;
  bool counted;  // Whether its server is told how often each key occurs.
};

// From a key to the number table * servers + server. Thread-safe.
class KeyRoutes {
 public:
  // InvalidArgument for a table that has no bucket for each server.
  static Status Create(const std::vector<RoutedTable>& tables, int num_servers, KeyRoutes* routes);

  int num_tables() const { return static_cast<int>(tables_.size()); }
  int num_servers() const { return num_servers_; }
  bool counted(int table) const { return tables_[table].counted; }

  int Destination(int table, int64_t key) const {
    const Table& routed = tables_[table];
    return routed.destinations[BucketOfHash(MixKey(key), routed.bucket_shift)];
  }

 private:
  struct Table {
    bool counted;
    int bucket_shift;
    std::vector<int> destinations;  // Of each bucket.
  };

  int num_servers_ = 0;
  std::vector<Table> tables_;
};

// The keys of one lookup, and where their positions go.
struct RoutedLookup {
  int table;
  const int64_t* keys;
  int64_t n;
  int64_t* positions;  // [n]
};

// Reusable: its memory grows to the largest batch and stays. Thread-compatible.
class KeyRouter {
 public:
  // Finds the distinct keys of each table and server, in order of first appearance over the
  // lookups. A key's position is its number among those of its table, server 0's first; kNoKey has
  // position -1 and goes nowhere. REQUIRES: fewer than 2^31 keys in all.
  void Route(const KeyRoutes& routes, const std::vector<RoutedLookup>& lookups,
             ParallelRunner* runner);

  // What the last Route has for one server, good until the next.
  Request RequestTo(int server, int64_t now) const;

 private:
  struct Entry {
    int64_t key;
    int64_t* position;
  };

  void SortByDestination(const std::vector<RoutedLookup>& lookups, int64_t total, int shards,
                         ParallelRunner* runner);
  void Number(int destination, DistinctSet* distinct);
  void AddBases(int destination);
  // Calls each(destination, shard) for all, in shards of about as many entries.
  template <typename Each>
  void ForEachDestination(int shards, ParallelRunner* runner, const Each& each) const;

  const KeyRoutes* routes_ = nullptr;
  HugeArena arena_;
  Entry* entries_ = nullptr;        // Grouped by destination.
  std::vector<int64_t> offsets_;    // [destinations + 1]: each one's part of the arrays.
  std::vector<int64_t> sizes_;      // Distinct keys of each destination.
  int64_t* keys_ = nullptr;         // Those, at the start of the destination's part.
  int32_t* occurrences_ = nullptr;  // Of each.
  std::vector<std::unique_ptr<DistinctSet>> distinct_;  // One for each shard.
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_EXCHANGE_ROUTE_H_
