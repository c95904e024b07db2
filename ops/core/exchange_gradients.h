// The sums of a step's gradients on the worker, and on the server the rows that they belong to.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_EXCHANGE_GRADIENTS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_EXCHANGE_GRADIENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "exchange_format.h"
#include "gradient_sums.h"
#include "parallel.h"
#include "status.h"

namespace estimator_plugin {

// Gradients of one table; the segment's addresses are positions in the exchange.
struct PositionedGradients {
  int table;
  GradientSegment<float> segment;
};

// Reusable: its memory grows to the largest batch and stays. Thread-compatible.
class GradientPacker {
 public:
  // Takes the exchange's requests and the step's gradients, in order; both outlive the packing.
  // InvalidArgument for a position that is out of range.
  Status Begin(const std::vector<Request>& requests, const std::vector<int64_t>& dims,
               const std::vector<PositionedGradients>& gradients);

  // The words that server `server` gets.
  int64_t words(int server) const { return words_[server]; }

  // Writes them: packed[server] has room for words(server) and lives as long as the packing. The
  // sums are those that GradientSums makes of the same gradients, to the bit.
  void Pack(const std::vector<float*>& packed, ParallelRunner* runner);

  // InvalidArgument if a sum that was packed is not finite.
  Status CheckFinite(const std::vector<std::string>& table_names) const;

 private:
  void Place();
  bool AllSumsFinite() const;
  void Sum(ShardRange keys);

  const std::vector<Request>* requests_ = nullptr;
  const std::vector<int64_t>* dims_ = nullptr;
  const std::vector<PositionedGradients>* gradients_ = nullptr;
  // Of the keys of all tables laid end to end, each table's in the order of positions.
  std::vector<int64_t> first_of_table_;  // [tables + 1]
  std::vector<uint8_t> states_;          // Whether the key has a gradient, and its sum has begun.
  std::vector<float*> sums_;
  std::vector<float*> packed_;
  std::vector<int64_t> words_;  // Of each.
};

// What a server does with packed gradients: for each table the addresses of its rows in `sums`.
// REQUIRES: as many addresses as keys in the request.
std::vector<std::vector<int64_t>> AddressesOf(const Request& request, const KeyedRows& sums,
                                              const int64_t* addresses);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_EXCHANGE_GRADIENTS_H_
