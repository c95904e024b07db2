// The chips and SparseCores that a stack is spread over, and what follows from their number.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_TOPOLOGY_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_TOPOLOGY_H_

#include <cstdint>
#include <string>

#include "../status.h"

namespace estimator_plugin {
namespace sparse_core {

// Segments of a CSR buffer begin at multiples of this.
constexpr int64_t kAlignment = 8;

inline int64_t Aligned(int64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

// A replica is a chip. Core k of replica r is the global core r * cores_per_replica + k; it looks
// up its share of the samples, and it keeps one shard of every table.
struct Topology {
  int64_t replicas = 1;
  int64_t cores_per_replica = 1;

  int64_t shards() const { return replicas * cores_per_replica; }
  // REQUIRES: the number of shards is a power of two.
  int shard_bits() const { return __builtin_ctzll(static_cast<uint64_t>(shards())); }
  // Row pointers of one core and minibatch, those that only align included.
  int64_t pointers_per_minibatch() const { return Aligned(shards()); }
};

inline bool IsPowerOfTwo(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

// The shard of a row is in the low bits of its column: their number must be a power of two.
inline Status CheckTopology(const std::string& table, const Topology& topology) {
  if (IsPowerOfTwo(topology.shards())) return Status();
  return Error(Code::kFailedPrecondition, "table '", table, "': ", topology.replicas,
               " replicas of ", topology.cores_per_replica, " SparseCores are ", topology.shards(),
               " shards; the number must be a power of two");
}

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_TOPOLOGY_H_
