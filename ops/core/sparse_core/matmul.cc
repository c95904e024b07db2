#include "matmul.h"

#include <algorithm>

#include "../multiversion.h"
#include "../row_copy.h"

namespace estimator_plugin {
namespace sparse_core {
namespace {

// Entries ahead that a row is asked for.
constexpr int64_t kAhead = 8;

// One piece of work: some samples of one core.
struct Piece {
  int64_t begin;  // Samples of the core.
  int64_t end;
  float* activations;  // Of the core.
};

struct ReadPlain {
  float operator()(float value) const { return value; }
};

struct ReadQuantized {
  Quantization quantization;
  float step;
  float operator()(float value) const { return Quantize(value, quantization, step); }
};

// kWidth 0: any width. A width known at compile time needs no loop.
template <int kWidth, typename Read>
inline __attribute__((always_inline)) void AddEntries(const Entries& entries, const float* rows,
                                                      int64_t any_width, const Piece& piece,
                                                      const Read& read) {
  const int64_t width = kWidth > 0 ? kWidth : any_width;
  const int64_t row_bytes = width * static_cast<int64_t>(sizeof(float));
  const uint32_t samples = static_cast<uint32_t>(piece.end - piece.begin);
  for (int64_t j = 0; j < entries.size; ++j) {
    if (j + kAhead < entries.size) {
      PrefetchBytes(rows + entries.tokens[j + kAhead] * width, row_bytes);
    }
    const int64_t sample = entries.samples[j];
    if (static_cast<uint32_t>(sample - piece.begin) >= samples) continue;
    const float* __restrict__ const row = rows + entries.tokens[j] * width;
    float* __restrict__ const sum = piece.activations + sample * width;
    const float gain = entries.gains[j];
    // Unrolled before it is vectorized, a loop of known width would stay scalar.
#pragma GCC unroll 1
    for (int64_t i = 0; i < width; ++i) sum[i] += gain * read(row[i]);
  }
}

EP_MULTIVERSION void AddPlain(const Entries& entries, const float* rows, int64_t width,
                              const Piece& piece) {
  const ReadPlain read;
  switch (width) {
    case 8:
      return AddEntries<8>(entries, rows, width, piece, read);
    case 16:
      return AddEntries<16>(entries, rows, width, piece, read);
    case 32:
      return AddEntries<32>(entries, rows, width, piece, read);
    case 64:
      return AddEntries<64>(entries, rows, width, piece, read);
    default:
      return AddEntries<0>(entries, rows, width, piece, read);
  }
}

EP_MULTIVERSION void AddQuantized(const Entries& entries, const float* rows, int64_t width,
                                  const Piece& piece, const Quantization& quantization) {
  AddEntries<0>(entries, rows, width, piece, ReadQuantized{quantization, quantization.step()});
}

void MatmulPiece(const CsrView& csr, const float* table, int64_t width,
                 const Quantization& quantization, int64_t core, const Piece& piece) {
  std::fill(piece.activations + piece.begin * width, piece.activations + piece.end * width, 0.0f);
  const int64_t shard_size = csr.extent().rows_per_shard * width;
  for (int64_t b = 0; b < csr.minibatches(); ++b) {
    for (int64_t shard = 0; shard < csr.cores(); ++shard) {
      const Entries entries = csr.segment(core, b, shard);
      const float* const rows = table + shard * shard_size;
      if (quantization.enabled()) {
        AddQuantized(entries, rows, width, piece, quantization);
      } else {
        AddPlain(entries, rows, width, piece);
      }
    }
  }
}

}  // namespace

void Matmul(const CsrView& csr, const float* table, int64_t width, const Quantization& quantization,
            ParallelRunner* runner, float* activations) {
  const int64_t per_core = csr.extent().samples_per_core;
  // With more threads than cores, a core's samples are split: each thread reads all its entries.
  const int64_t parts = (runner->max_shards() + csr.cores() - 1) / csr.cores();
  const int64_t pieces = csr.cores() * parts;
  const int shards = ShardsFor(*runner, pieces, 1);
  runner->Run(shards, [&](int s) {
    const ShardRange range = RangeOfShard(pieces, shards, s);
    for (int64_t p = range.begin; p < range.end; ++p) {
      const int64_t core = p / parts;
      const ShardRange samples =
          RangeOfShard(per_core, static_cast<int>(parts), static_cast<int>(p % parts));
      MatmulPiece(csr, table, width, quantization, core,
                  {samples.begin, samples.end, activations + core * per_core * width});
    }
  });
}

}  // namespace sparse_core
}  // namespace estimator_plugin
