#include "exchange_format.h"

#include <algorithm>

namespace estimator_plugin {
namespace {

int64_t WordsOfOccurrences(int64_t n) { return (n + 1) / 2; }

}  // namespace

int64_t Request::num_keys() const {
  int64_t keys = 0;
  for (const RequestedKeys& table : tables) keys += table.n;
  return keys;
}

int64_t RequestWords(const Request& request) {
  int64_t words = 1 + static_cast<int64_t>(request.tables.size());
  for (const RequestedKeys& table : request.tables) {
    words += table.n + (table.occurrences == nullptr ? 0 : WordsOfOccurrences(table.n));
  }
  return words;
}

void WriteRequest(const Request& request, int64_t* words) {
  *words++ = request.now;
  for (const RequestedKeys& table : request.tables) {
    *words++ = 2 * table.n + (table.occurrences == nullptr ? 0 : 1);
  }
  for (const RequestedKeys& table : request.tables) {
    words = std::copy_n(table.keys, table.n, words);
    if (table.occurrences == nullptr || table.n == 0) continue;
    const int64_t n = WordsOfOccurrences(table.n);
    words[n - 1] = 0;  // The last may be half used.
    std::memcpy(words, table.occurrences, static_cast<size_t>(table.n) * sizeof(int32_t));
    words += n;
  }
}

Status ParseRequest(const int64_t* words, int64_t n, int num_tables, Request* request) {
  if (n < 1 + num_tables) {
    return Error(Code::kInvalidArgument, "a request of ", n, " words has no head for ", num_tables,
                 " tables");
  }
  request->now = words[0];
  request->tables.assign(num_tables, RequestedKeys());
  int64_t at = 1 + num_tables;
  for (int t = 0; t < num_tables; ++t) {
    const int64_t head = words[1 + t];
    const int64_t keys = head >> 1;
    const bool counted = (head & 1) != 0;
    const int64_t left = n - at;
    if (keys < 0 || keys > left || (counted && WordsOfOccurrences(keys) > left - keys)) {
      return Error(Code::kInvalidArgument, "a request of ", n, " words announces ", keys,
                   " keys of table ", t, " where ", left, " words are left");
    }
    RequestedKeys& table = request->tables[t];
    table.keys = words + at;
    table.n = keys;
    at += keys;
    if (!counted) continue;
    table.occurrences = reinterpret_cast<const int32_t*>(words + at);
    at += WordsOfOccurrences(keys);
  }
  if (at == n) return Status();
  return Error(Code::kInvalidArgument, "a request of ", n, " words ends after ", at);
}

Status KeyedRows::Parse(const Request& request, const std::vector<int64_t>& dims,
                        const float* words, int64_t n) {
  const int64_t keys = request.num_keys();
  const int64_t bit_words = BitWords(keys);
  words_ = words;
  tables_.clear();
  ranks_.clear();
  if (n < bit_words) {
    return Error(Code::kInvalidArgument, n, " words have no bits for ", keys, " keys");
  }
  int64_t rows = 0;
  for (int64_t w = 0; w < bit_words; ++w) {
    ranks_.push_back(rows);
    rows += __builtin_popcount(Word(w));
  }
  ranks_.push_back(rows);
  if (keys % 32 != 0 && Word(keys / 32) >> keys % 32 != 0) {
    return Error(Code::kInvalidArgument, "bits are set beyond the ", keys, " keys");
  }
  const auto rank = [&](int64_t key) { return key == keys ? rows : Rank(key); };
  int64_t first_key = 0;
  int64_t at = bit_words;
  for (size_t t = 0; t < dims.size(); ++t) {
    const int64_t end_key = first_key + request.tables[t].n;
    Part part = {dims[t],         first_key, request.tables[t].n,
                 rank(first_key), 0,         words + std::min(at, n)};
    part.num_rows = rank(end_key) - part.first_row;
    at += part.num_rows * part.dim;
    tables_.push_back(part);
    first_key = end_key;
  }
  if (at == n) return Status();
  tables_.clear();
  return Error(Code::kInvalidArgument, n, " words do not hold the ", rows, " rows of ", keys,
               " keys that their bits announce; those take ", at);
}

}  // namespace estimator_plugin
