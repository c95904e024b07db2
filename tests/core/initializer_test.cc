#include "core/initializer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "core/hash.h"
#include "status_testing.h"

namespace estimator_plugin {
namespace {

using Pointer = std::unique_ptr<Initializer<float>>;

InitializerSpec Spec(const std::string& kind, std::vector<double> arguments, uint64_t seed = 0) {
  InitializerSpec spec;
  spec.kind = kind;
  spec.arguments = std::move(arguments);
  spec.seed = seed;
  return spec;
}

Pointer Make(const InitializerSpec& spec, int64_t dim = 16) {
  Pointer initializer;
  EXPECT_OK(MakeInitializer<float>(spec, dim, nullptr, 0, &initializer));
  return initializer;
}

std::vector<float> Row(const Initializer<float>& initializer, int64_t key, int64_t dim = 16) {
  std::vector<float> row(dim + 1, 123.0f);
  initializer.Fill(key, row.data(), dim);
  EXPECT_EQ(row.back(), 123.0f) << "wrote behind the row";
  row.pop_back();
  return row;
}

// One million values: 62,500 consecutive keys, as a fresh vocabulary brings them.
std::vector<float> Sample(const InitializerSpec& spec) {
  const Pointer initializer = Make(spec);
  std::vector<float> sample(1000000);
  for (int64_t key = 0; key < 62500; ++key) initializer->Fill(key, &sample[key * 16], 16);
  return sample;
}

double NormalCdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

struct Moments {
  double mean;
  double stddev;
};

Moments MomentsOf(const std::vector<float>& sample) {
  double sum = 0, squares = 0;
  for (float value : sample) sum += value;
  const double mean = sum / sample.size();
  for (float value : sample) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / sample.size())};
}

// Within five standard errors: stddev / sqrt(n) of the mean and, for a distribution whose kurtosis
// is at most the normal one's, stddev / sqrt(2 n) of the standard deviation.
void ExpectMoments(const std::vector<float>& sample, double mean, double stddev) {
  const Moments moments = MomentsOf(sample);
  const double n = static_cast<double>(sample.size());
  EXPECT_NEAR(moments.mean, mean, 5 * stddev / std::sqrt(n));
  EXPECT_NEAR(moments.stddev, stddev, 5 * stddev / std::sqrt(2 * n));
}

// Kolmogorov and Smirnov's distance; above 1.95 / sqrt(n) in one sample of a thousand. The samples
// are fixed by their seeds, so this never flickers.
void ExpectDistribution(std::vector<float> sample, const std::function<double(double)>& cdf) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double distance = 0;
  for (size_t i = 0; i < sample.size(); ++i) {
    const double expected = cdf(sample[i]);
    distance = std::max(distance, std::fabs(expected - i / n));
    distance = std::max(distance, std::fabs(expected - (i + 1) / n));
  }
  EXPECT_LT(distance * std::sqrt(n), 1.95);
}

TEST(InitializerTest, ConstantFillsTheRow) {
  EXPECT_EQ(Row(*Make(Spec("constant", {0.25})), 7), std::vector<float>(16, 0.25f));
  EXPECT_EQ(Row(*Make(InitializerSpec()), 7), std::vector<float>(16, 0.0f));
}

TEST(InitializerTest, UniformHasItsDistributionAndBounds) {
  const std::vector<float> sample = Sample(Spec("uniform", {-0.05, 0.15}, 11));
  ExpectMoments(sample, 0.05, 0.2 / std::sqrt(12.0));
  ExpectDistribution(sample, [](double x) { return (x + 0.05) / 0.2; });
  EXPECT_GE(*std::min_element(sample.begin(), sample.end()), -0.05f);
  EXPECT_LT(*std::max_element(sample.begin(), sample.end()), 0.15f);
}

TEST(InitializerTest, UniformNeverReachesItsOpenEnd) {
  const float next = std::nextafter(1.0f, 2.0f);
  for (float value : Sample(Spec("uniform", {1.0, next}, 3))) ASSERT_EQ(value, 1.0f);
  for (float value : Row(*Make(Spec("uniform", {0.5, 0.5})), 3)) EXPECT_EQ(value, 0.5f);
}

TEST(InitializerTest, NormalHasItsDistributionAndTails) {
  const std::vector<float> sample = Sample(Spec("normal", {0.5, 0.02}, 12));
  ExpectMoments(sample, 0.5, 0.02);
  ExpectDistribution(sample, [](double x) { return NormalCdf((x - 0.5) / 0.02); });
  // 63 of a million are expected beyond four standard deviations; five standard errors are 40.
  const auto far = [](float x) { return std::fabs(x - 0.5) > 4 * 0.02; };
  EXPECT_NEAR(std::count_if(sample.begin(), sample.end(), far), 63, 40);
}

TEST(InitializerTest, TruncatedNormalStaysWithinTwoStandardDeviations) {
  const std::vector<float> sample = Sample(Spec("truncated_normal", {-1.0, 0.5}, 13));
  ExpectMoments(sample, -1.0, 0.5 * 0.87962566103423978);
  const double below = NormalCdf(-2);
  ExpectDistribution(
      sample, [below](double x) { return (NormalCdf((x + 1.0) / 0.5) - below) / (1 - 2 * below); });
  EXPECT_GE(*std::min_element(sample.begin(), sample.end()), -2.0f);
  EXPECT_LE(*std::max_element(sample.begin(), sample.end()), 0.0f);
}

TEST(InitializerTest, NoSpreadMeansTheMean) {
  EXPECT_EQ(Row(*Make(Spec("normal", {3, 0})), 1), std::vector<float>(16, 3.0f));
  EXPECT_EQ(Row(*Make(Spec("truncated_normal", {3, 0})), 1), std::vector<float>(16, 3.0f));
}

// Computed apart from the C++, with Python's integers and statistics.NormalDist. Models that grow
// after a restart depend on them.
TEST(InitializerTest, DrawsAreFixedForever) {
  struct Vector {
    uint64_t seed;
    int64_t key;
    double uniform[4], normal[4], truncated[4];
  };
  const Vector vectors[] = {
      {0ull,
       0,
       {0.222606539726, 0.138709366322, 0.709017515182, 0.971102058887},
       {-0.763419679, -1.08613602, 0.550516839, 1.8972433},
       {-0.721737153, -1.01460018, 0.522983643, 1.64163161}},
      {7ull,
       42,
       {0.845701336861, 0.151850521564, 0.583528995514, 0.0635442733765},
       {1.01816989, -1.02852886, 0.210929977, -1.52568368},
       {0.954054145, -0.963328086, 0.201198839, -1.3825387}},
      {9223372036854775813ull,
       INT64_MIN,
       {0.457806944847, 0.00122058391571, 0.555912315845, 0.270104050636},
       {-0.105960115, -3.03052577, 0.140613405, -0.612498238},
       {-0.101122039, -1.97887157, 0.134175994, -0.581165654}},
  };
  for (const Vector& vector : vectors) {
    const auto uniform = Row(*Make(Spec("uniform", {0, 1}, vector.seed)), vector.key);
    const auto normal = Row(*Make(Spec("normal", {0, 1}, vector.seed)), vector.key);
    const auto truncated = Row(*Make(Spec("truncated_normal", {0, 1}, vector.seed)), vector.key);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(uniform[i], static_cast<float>(vector.uniform[i]));
      EXPECT_NEAR(normal[i], vector.normal[i], 3e-6);
      EXPECT_NEAR(truncated[i], vector.truncated[i], 3e-6);
    }
  }
}

const InitializerSpec kDrawn[] = {Spec("uniform", {0, 1}, 5), Spec("normal", {0, 1}, 5),
                                  Spec("truncated_normal", {0, 1}, 5)};

TEST(InitializerTest, TheSameKeyAndSeedStartTheSame) {
  for (const InitializerSpec& spec : kDrawn) {
    const Pointer first = Make(spec), second = Make(spec);
    (void)Row(*second, 1);  // What was asked before does not matter.
    for (int64_t key : {int64_t{0}, int64_t{1}, int64_t{-2}, INT64_MIN, INT64_MAX}) {
      EXPECT_EQ(Row(*first, key), Row(*second, key)) << spec.kind << " key " << key;
    }
  }
}

TEST(InitializerTest, AnElementDoesNotDependOnTheWidth) {
  for (const InitializerSpec& spec : kDrawn) {
    const std::vector<float> wide = Row(*Make(spec), 99, 64);
    for (int64_t dim : {1, 3, 7, 8, 15, 16, 17, 33}) {
      EXPECT_EQ(Row(*Make(spec), 99, dim), std::vector<float>(wide.begin(), wide.begin() + dim))
          << spec.kind << " dim " << dim;
    }
  }
}

TEST(InitializerTest, OtherKeysAndSeedsStartDifferently) {
  for (InitializerSpec spec : kDrawn) {
    std::set<std::vector<float>> rows;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      spec.seed = seed;
      for (int64_t key = -50; key < 50; ++key) rows.insert(Row(*Make(spec), key));
    }
    EXPECT_EQ(rows.size(), 10000u) << spec.kind;
  }
}

// Neighbours in a row, in the key and in the seed are not correlated: the correlation of n pairs of
// independent values has a standard error of 1 / sqrt(n).
TEST(InitializerTest, NeighboursAreIndependent) {
  const std::vector<float> sample = Sample(Spec("normal", {0, 1}, 0));
  const std::vector<float> other_seed = Sample(Spec("normal", {0, 1}, 1));
  const size_t n = sample.size() - 16;
  double in_row = 0, in_key = 0, in_seed = 0, across = 0;
  for (size_t i = 0; i < n; ++i) {
    in_row += sample[i] * sample[i + 1];
    in_key += sample[i] * sample[i + 16];
    in_seed += sample[i] * other_seed[i];
    across += sample[i] * other_seed[i + 16];  // Key k with seed 0 and key k + 1 with seed 1.
  }
  for (double sum : {in_row, in_key, in_seed, across}) EXPECT_LT(std::fabs(sum / n), 5e-3);
}

TEST(InitializerTest, BankPicksTheDocumentedRow) {
  const int64_t dim = 3, rows = 11;
  std::vector<float> bank(dim * rows);
  for (size_t i = 0; i < bank.size(); ++i) bank[i] = static_cast<float>(i);
  for (uint64_t seed : {uint64_t{0}, uint64_t{77}, ~uint64_t{0}}) {
    Pointer initializer;
    std::vector<float> copy = bank;
    ASSERT_OK(MakeInitializer<float>(Spec("bank", {}, seed), dim, copy.data(), rows, &initializer));
    std::fill(copy.begin(), copy.end(), -1.0f);  // The initializer keeps a copy.
    for (int64_t key : {int64_t{0}, int64_t{5}, int64_t{-2}, INT64_MIN, INT64_MAX}) {
      const uint64_t row = MixKey(key ^ static_cast<int64_t>(seed)) % rows;
      const auto begin = bank.begin() + row * dim;
      EXPECT_EQ(Row(*initializer, key, dim), std::vector<float>(begin, begin + dim));
    }
  }
}

TEST(InitializerTest, RejectsWhatItDoesNotKnow) {
  Pointer initializer;
  const auto make = [&initializer](const InitializerSpec& spec) {
    return MakeInitializer<float>(spec, 4, nullptr, 0, &initializer);
  };
  EXPECT_ERROR(make(Spec("zeros", {})), Code::kInvalidArgument, "zeros");
  EXPECT_ERROR(make(Spec("", {})), Code::kInvalidArgument, "initializer");
  EXPECT_ERROR(make(Spec("constant", {})), Code::kInvalidArgument, "constant");
  EXPECT_ERROR(make(Spec("constant", {1, 2})), Code::kInvalidArgument, "constant");
  EXPECT_ERROR(make(Spec("uniform", {1})), Code::kInvalidArgument, "uniform");
  EXPECT_ERROR(make(Spec("uniform", {2, 1})), Code::kInvalidArgument, "uniform");
  EXPECT_ERROR(make(Spec("normal", {0, -1})), Code::kInvalidArgument, "stddev");
  EXPECT_ERROR(make(Spec("truncated_normal", {0, -1})), Code::kInvalidArgument, "stddev");
  EXPECT_ERROR(make(Spec("bank", {})), Code::kInvalidArgument, "bank");
  EXPECT_EQ(initializer, nullptr);
}

TEST(InitializerTest, RejectsArgumentsThatAreNotFinite) {
  Pointer initializer;
  const double infinity = std::numeric_limits<double>::infinity();
  for (double bad : {infinity, -infinity, std::nan(""), 1e300}) {
    for (const char* kind : {"constant", "uniform", "normal", "truncated_normal"}) {
      std::vector<double> arguments = {0.5};
      if (kind != std::string("constant")) arguments.push_back(bad);
      arguments[0] = kind == std::string("constant") ? bad : 0.5;
      EXPECT_ERROR(MakeInitializer<float>(Spec(kind, arguments), 4, nullptr, 0, &initializer),
                   Code::kInvalidArgument, kind)
          << bad;
    }
  }
  // Finite arguments, infinite draws.
  EXPECT_ERROR(MakeInitializer<float>(Spec("uniform", {-3e38, 3e38}), 4, nullptr, 0, &initializer),
               Code::kInvalidArgument, "uniform");
  EXPECT_ERROR(MakeInitializer<float>(Spec("normal", {0, 1e38}), 4, nullptr, 0, &initializer),
               Code::kInvalidArgument, "normal");
}

}  // namespace
}  // namespace estimator_plugin
