// Rows between the words of a response and the embeddings of lookups.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_EXCHANGE_ROWS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_EXCHANGE_ROWS_H_

#include <cstdint>
#include <vector>

#include "exchange_format.h"
#include "parallel.h"
#include "status.h"

namespace estimator_plugin {

// The most words that an answer with rows of these dims takes.
int64_t MostResponseWords(const Request& request, const std::vector<int64_t>& dims);

// Completes a response that has a row for every key behind room for the bits: sets the bits and
// closes the gaps of keys whose address is kNoAddress. Returns the words that are left.
int64_t FinishResponse(const Request& request, const std::vector<int64_t>& dims,
                       const int64_t* addresses, float* words);

// Of one table of an exchange: from a position to its server.
class Positions {
 public:
  Positions(const std::vector<Request>& requests, int table);

  int64_t size() const { return ends_.back(); }

  // The server, and the key's number among those of the table in its request. REQUIRES: a position
  // from 0 to size() - 1.
  int Server(int64_t position, int64_t* key) const {
    int server = 0;  // Counted: a search would be guesses, half of them wrong.
    for (int64_t end : ends_) server += position >= end;
    *key = position - (server == 0 ? 0 : ends_[server - 1]);
    return server;
  }

  // InvalidArgument unless the position is kNoAddress or one that there is.
  Status Check(int64_t position) const;

 private:
  std::vector<int64_t> ends_;
};

// The embeddings of a lookup of table `table`: for each position the row of its key, `default_row`
// where there is none. InvalidArgument for a position that is out of range.
Status UnpackRows(const std::vector<Request>& requests, const std::vector<KeyedRows>& responses,
                  int table, int64_t dim, const int64_t* positions, int64_t n,
                  const float* default_row, float* embeddings, ParallelRunner* runner);

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_EXCHANGE_ROWS_H_
