// What a worker and a parameter server send each other: the keys of a step, their rows, the sums of
// their gradients. The formats, and nothing else; docs/distributed.md draws them.
//
// A request is int64 words:
//   now
//   for each table of the exchange: 2 * keys + (1 if their occurrences follow)
//   for each table: its keys, then their occurrences, two int32 in a word
// The answer to it, and the gradients that follow, are float words:
//   bits, 32 in a word: whether key k of the request, counted over all tables, has a row here
//   the rows of those that have one, in the order of the keys, dim of its table words each
//
// What came over a wire may be anything: parsing checks every count against what is there.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_EXCHANGE_FORMAT_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_EXCHANGE_FORMAT_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "parallel.h"
#include "status.h"

namespace estimator_plugin {

// The buckets of a table that server `server` of `num_servers` owns.
inline ShardRange BucketsOfServer(int num_buckets, int num_servers, int server) {
  return RangeOfShard(num_buckets, num_servers, server);
}

struct RequestedKeys {
  const int64_t* keys = nullptr;
  int64_t n = 0;
  const int32_t* occurrences = nullptr;  // [n], or null.
};

// A request, or a view of one: the words outlive it.
struct Request {
  int64_t now = 0;
  std::vector<RequestedKeys> tables;

  int64_t num_keys() const;
};

int64_t RequestWords(const Request& request);
void WriteRequest(const Request& request, int64_t* words);
// InvalidArgument unless `words` is a request to `num_tables` tables.
Status ParseRequest(const int64_t* words, int64_t n, int num_tables, Request* request);

inline int64_t BitWords(int64_t keys) { return (keys + 31) / 32; }
// REQUIRES: the word was zero before its first bit is set.
inline void SetBit(float* words, int64_t bit) {
  uint32_t word;
  std::memcpy(&word, words + bit / 32, sizeof(word));
  word |= 1u << bit % 32;
  std::memcpy(words + bit / 32, &word, sizeof(word));
}

// Rows of some keys of a request: a view of the words, which outlive it.
class KeyedRows {
 public:
  // InvalidArgument unless `words` is rows for this request to tables of these dims.
  Status Parse(const Request& request, const std::vector<int64_t>& dims, const float* words,
               int64_t n);

  // Rows of table `table`, side by side.
  int64_t num_rows(int table) const { return tables_[table].num_rows; }
  const float* rows(int table) const { return tables_[table].rows; }

  // Whether key `i` of a table has one. REQUIRES: 0 <= i < the keys of the table.
  bool Has(int table, int64_t i) const {
    const int64_t bit = tables_[table].first_key + i;
    return Word(bit / 32) >> bit % 32 & 1;
  }
  // The row of key `i` of a table, null if it has none.
  const float* Find(int table, int64_t i) const {
    const Part& part = tables_[table];
    if (part.num_rows == part.num_keys) return part.rows + i * part.dim;  // As usual in training.
    if (!Has(table, i)) return nullptr;
    return part.rows + (Rank(part.first_key + i) - part.first_row) * part.dim;
  }

 private:
  struct Part {
    int64_t dim;
    int64_t first_key;  // Counted over all tables, as is first_row.
    int64_t num_keys;
    int64_t first_row;
    int64_t num_rows;
    const float* rows;
  };

  uint32_t Word(int64_t index) const {
    uint32_t word;
    std::memcpy(&word, words_ + index, sizeof(word));
    return word;
  }
  // The rows of keys before `key`.
  int64_t Rank(int64_t key) const {
    return ranks_[key / 32] + __builtin_popcount(Word(key / 32) & ((1u << key % 32) - 1));
  }

  const float* words_ = nullptr;
  std::vector<int64_t> ranks_;  // Rows before each word of bits.
  std::vector<Part> tables_;
};

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_EXCHANGE_FORMAT_H_
