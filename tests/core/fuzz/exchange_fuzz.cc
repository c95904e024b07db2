// What comes over a wire, as any bytes: requests, rows and positions are refused or read within
// their bounds, and an accepted request is the one that its parts would be written as.
//
// The input is: tables (1 byte), their dims (1 byte each), the words of the request (1 byte), those
// words, and what is left: alternately the words of a response and positions.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "core/exchange_gradients.h"
#include "core/exchange_rows.h"

namespace {

using namespace estimator_plugin;  // NOLINT: a fuzz target is one program.

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  int Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  // At most n words, in memory of exactly their size, so that the sanitizer sees what is beyond.
  template <typename Word>
  std::vector<Word> Words(size_t n) {
    std::vector<Word> words(std::min(n, size_ / sizeof(Word)));
    if (!words.empty()) std::memcpy(words.data(), data_, words.size() * sizeof(Word));
    data_ += words.size() * sizeof(Word);
    size_ -= words.size() * sizeof(Word);
    return words;
  }
  size_t left() const { return size_; }

 private:
  const uint8_t* data_;
  size_t size_;
};

void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// A response may have the float words that it announces: random ones nearly never do.
void Complete(const Request& request, const std::vector<int64_t>& dims, std::vector<float>* words) {
  const int64_t bits = BitWords(request.num_keys());
  if (static_cast<int64_t>(words->size()) < bits) return;
  int64_t size = bits;
  int64_t key = 0;
  for (size_t t = 0; t < dims.size(); ++t) {
    for (int64_t i = 0; i < request.tables[t].n; ++i, ++key) {
      uint32_t word;
      std::memcpy(&word, words->data() + key / 32, sizeof(word));
      if (word >> key % 32 & 1) size += dims[t];
    }
  }
  words->resize(size);
}

void TryRows(const std::vector<Request>& requests, const std::vector<int64_t>& dims, Input* input) {
  std::vector<float> words = input->Words<float>(input->left() / 8);
  if (input->Byte() % 2 == 0) Complete(requests[0], dims, &words);
  std::vector<KeyedRows> rows(1);
  if (!rows[0].Parse(requests[0], dims, words.data(), words.size()).ok()) return;
  std::vector<int64_t> addresses(requests[0].num_keys());
  AddressesOf(requests[0], rows[0], addresses.data());
  std::vector<int64_t> positions = input->Words<int64_t>(64);
  const int table = static_cast<int>(dims.size()) - 1;
  if (input->Byte() % 2 == 0 && requests[0].tables[table].n > 0) {
    for (int64_t& position : positions) position = (position & 0xff) % requests[0].tables[table].n;
  }
  const std::vector<float> zeros(dims[table]);
  std::vector<float> embeddings(positions.size() * dims[table]);
  InlineRunner runner;
  const bool unpacked = UnpackRows(requests, rows, table, dims[table], positions.data(),
                                   positions.size(), zeros.data(), embeddings.data(), &runner)
                            .ok();
  GradientPacker packer;
  const std::vector<PositionedGradients> gradients = {
      {table, {positions.data(), embeddings.data(), static_cast<int64_t>(positions.size())}}};
  const bool begun = packer.Begin(requests, dims, gradients).ok();
  if (begun != unpacked) Fail("a position is in range for one only");
  if (!begun) return;
  std::vector<float> packed(packer.words(0));
  packer.Pack({packed.data()}, &runner);
  if (!rows[0].Parse(requests[0], dims, packed.data(), packed.size()).ok()) {
    Fail("what was packed cannot be parsed");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  std::vector<int64_t> dims(1 + input.Byte() % 3);
  for (int64_t& dim : dims) dim = 1 + input.Byte() % 5;
  const std::vector<int64_t> words = input.Words<int64_t>(input.Byte());
  std::vector<Request> requests(1);
  const int tables = static_cast<int>(dims.size());
  if (!ParseRequest(words.data(), words.size(), tables, &requests[0]).ok()) return 0;
  if (RequestWords(requests[0]) != static_cast<int64_t>(words.size())) Fail("words are left over");
  std::vector<int64_t> again(words.size());
  WriteRequest(requests[0], again.data());
  Request reread;
  if (!ParseRequest(again.data(), again.size(), tables, &reread).ok() ||
      reread.num_keys() != requests[0].num_keys()) {
    Fail("accepted, but does not survive a round trip");
  }
  TryRows(requests, dims, &input);
  return 0;
}
