#include "initializer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hash.h"
#include "multiversion.h"

namespace estimator_plugin {
namespace {

// Element pairs are SplitMix64's output sequence, seeded per (seed, key).
constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ull;

uint64_t StreamOf(uint64_t seed, int64_t key) {
  return MixKey(
      static_cast<int64_t>(MixKey(static_cast<int64_t>(seed)) ^ static_cast<uint64_t>(key)));
}

// 32 random bits for element `i` of the stream.
inline uint32_t Draw(uint64_t stream, int64_t i) {
  const uint64_t pair =
      MixKey(static_cast<int64_t>(stream + kGolden * static_cast<uint64_t>(i / 2)));
  return static_cast<uint32_t>(i % 2 == 0 ? pair : pair >> 32);
}

// The inverse of the standard normal distribution function: Wichura's AS 241, routine PPND7
// (Applied Statistics 37, 1988), about 1 part in 10^7. This is its branch for |p - 0.5| <= 0.425.
template <typename V>
inline V CentralQuantile(V q) {
  const V r = V(0.180625) - q * q;
  return q *
         (((V(59.109374720) * r + V(159.29113202)) * r + V(50.434271938)) * r + V(3.3871327179)) /
         (((V(67.187563600) * r + V(78.757757664)) * r + V(17.895169469)) * r + V(1));
}

double TailQuantile(double p) {
  double r = std::sqrt(-std::log(std::min(p, 1 - p)));
  double z;
  if (r <= 5) {
    r -= 1.6;
    z = (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
        ((0.12021132975 * r + 0.73700164250) * r + 1);
  } else {
    r -= 5;
    z = (((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150) /
        ((0.012258202635 * r + 0.24197894225) * r + 1);
  }
  return p < 0.5 ? -z : z;
}

constexpr double kCentral = 0.425;
constexpr double kTwoToMinus24 = 1.0 / (1 << 24);  // C++14 has no hexadecimal floats.
constexpr double kTwoToMinus32 = kTwoToMinus24 / (1 << 8);
// The share of a normal distribution below two standard deviations under the mean.
constexpr double kBelowTwoStddev = 0.022750131948179209;

// A probability strictly between `low` and 1 - `low`.
inline double Probability(uint32_t bits, double low) {
  return low + (static_cast<double>(bits) + 0.5) * kTwoToMinus32 * (1 - 2 * low);
}

template <typename V>
EP_MULTIVERSION void FillUniform(uint64_t stream, V minimum, V maximum, V* row, int64_t dim) {
  const V range = maximum - minimum;
  for (int64_t i = 0; i < dim; ++i) {
    const V unit = static_cast<V>(static_cast<int32_t>(Draw(stream, i) >> 8)) * V(kTwoToMinus24);
    const V value = minimum + unit * range;
    row[i] = value < maximum ? value : minimum;  // Rounding must not reach the open end.
  }
}

template <typename V>
EP_MULTIVERSION void FillNormal(uint64_t stream, double low, V mean, V stddev, V* row,
                                int64_t dim) {
  for (int64_t i = 0; i < dim; ++i) {
    const V q = static_cast<V>(Probability(Draw(stream, i), low) - 0.5);
    row[i] = mean + stddev * CentralQuantile(q);
  }
  // The tails are rare and need logarithms: a second pass keeps the first one vectorised.
  for (int64_t i = 0; i < dim; ++i) {
    const double p = Probability(Draw(stream, i), low);
    if (std::fabs(p - 0.5) > kCentral) row[i] = mean + stddev * static_cast<V>(TailQuantile(p));
  }
}

template <typename V>
class ConstantInitializer : public Initializer<V> {
 public:
  explicit ConstantInitializer(const InitializerSpec& spec)
      : value_(static_cast<V>(spec.arguments[0])) {}
  void Fill(int64_t, V* row, int64_t dim) const override { std::fill_n(row, dim, value_); }

 private:
  const V value_;
};

template <typename V>
class UniformInitializer : public Initializer<V> {
 public:
  explicit UniformInitializer(const InitializerSpec& spec)
      : seed_(spec.seed),
        minimum_(static_cast<V>(spec.arguments[0])),
        maximum_(static_cast<V>(spec.arguments[1])) {}
  void Fill(int64_t key, V* row, int64_t dim) const override {
    FillUniform(StreamOf(seed_, key), minimum_, maximum_, row, dim);
  }

 private:
  const uint64_t seed_;
  const V minimum_;
  const V maximum_;
};

template <typename V>
class NormalInitializer : public Initializer<V> {
 public:
  NormalInitializer(const InitializerSpec& spec, double low)
      : seed_(spec.seed),
        low_(low),
        mean_(static_cast<V>(spec.arguments[0])),
        stddev_(static_cast<V>(spec.arguments[1])) {}
  void Fill(int64_t key, V* row, int64_t dim) const override {
    FillNormal(StreamOf(seed_, key), low_, mean_, stddev_, row, dim);
  }

 private:
  const uint64_t seed_;
  const double low_;
  const V mean_;
  const V stddev_;
};

template <typename V>
class BankInitializer : public Initializer<V> {
 public:
  BankInitializer(const InitializerSpec& spec, const V* bank, int64_t rows, int64_t dim)
      : seed_(spec.seed), rows_(static_cast<uint64_t>(rows)), bank_(bank, bank + rows * dim) {}
  void Fill(int64_t key, V* row, int64_t dim) const override {
    const uint64_t hash = MixKey(static_cast<int64_t>(static_cast<uint64_t>(key) ^ seed_));
    std::copy_n(&bank_[(hash % rows_) * static_cast<uint64_t>(dim)], dim, row);
  }

 private:
  const uint64_t seed_;
  const uint64_t rows_;
  const std::vector<V> bank_;
};

// `reach` bounds every value and difference that is drawn: it must be a finite V.
template <typename V>
Status CheckReach(const InitializerSpec& spec, double reach) {
  if (std::isfinite(static_cast<V>(reach))) return Status();
  return Error(Code::kInvalidArgument, "initializer '", spec.kind,
               "' would draw values that are not finite (up to ", reach, ")");
}

template <typename V>
Status CheckArguments(const InitializerSpec& spec, size_t count) {
  if (spec.arguments.size() != count) {
    return Error(Code::kInvalidArgument, "initializer '", spec.kind, "' takes ", count,
                 " arguments, got ", spec.arguments.size());
  }
  for (double argument : spec.arguments) {
    if (!std::isfinite(static_cast<V>(argument))) {
      return Error(Code::kInvalidArgument, "initializer '", spec.kind, "' got the argument ",
                   argument, "; it must be finite");
    }
  }
  return Status();
}

}  // namespace

template <typename V>
Status MakeInitializer(const InitializerSpec& spec, int64_t dim, const V* bank, int64_t bank_rows,
                       std::unique_ptr<Initializer<V>>* initializer) {
  if (spec.kind == "constant") {
    EP_RETURN_IF_ERROR(CheckArguments<V>(spec, 1));
    initializer->reset(new ConstantInitializer<V>(spec));
  } else if (spec.kind == "uniform") {
    EP_RETURN_IF_ERROR(CheckArguments<V>(spec, 2));
    if (spec.arguments[0] > spec.arguments[1]) {
      return Error(Code::kInvalidArgument, "initializer 'uniform' got minimum ", spec.arguments[0],
                   " above maximum ", spec.arguments[1]);
    }
    EP_RETURN_IF_ERROR(CheckReach<V>(spec, spec.arguments[1] - spec.arguments[0]));
    initializer->reset(new UniformInitializer<V>(spec));
  } else if (spec.kind == "normal" || spec.kind == "truncated_normal") {
    EP_RETURN_IF_ERROR(CheckArguments<V>(spec, 2));
    if (spec.arguments[1] < 0) {
      return Error(Code::kInvalidArgument, "initializer '", spec.kind, "' got stddev ",
                   spec.arguments[1], "; it must be at least 0");
    }
    // No draw of 32 bits is seven standard deviations away.
    EP_RETURN_IF_ERROR(CheckReach<V>(spec, std::fabs(spec.arguments[0]) + 7 * spec.arguments[1]));
    initializer->reset(
        new NormalInitializer<V>(spec, spec.kind == "normal" ? 0.0 : kBelowTwoStddev));
  } else if (spec.kind == "bank") {
    EP_RETURN_IF_ERROR(CheckArguments<V>(spec, 0));
    if (bank == nullptr || bank_rows < 1) {
      return Error(Code::kInvalidArgument, "initializer 'bank' needs at least one drawn row");
    }
    initializer->reset(new BankInitializer<V>(spec, bank, bank_rows, dim));
  } else {
    return Error(Code::kInvalidArgument, "unknown initializer '", spec.kind,
                 "'; known are constant, uniform, normal, truncated_normal and bank");
  }
  return Status();
}

template Status MakeInitializer<float>(const InitializerSpec&, int64_t, const float*, int64_t,
                                       std::unique_ptr<Initializer<float>>*);

}  // namespace estimator_plugin
