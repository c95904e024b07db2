// The exchange from end to end in memory: route, serve, unpack, pack; the formats by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "core/exchange_gradients.h"
#include "core/exchange_route.h"
#include "core/exchange_rows.h"
#include "table_testing.h"
#include "thread_runner.h"

namespace estimator_plugin {
namespace testing {
namespace {

using Words = std::vector<int64_t>;

Words Write(const Request& request) {
  Words words(RequestWords(request), -77);
  WriteRequest(request, words.data());
  return words;
}

Status Parse(const Words& words, int num_tables, Request* request) {
  return ParseRequest(words.data(), static_cast<int64_t>(words.size()), num_tables, request);
}

float Bits(uint32_t bits) {
  float word;
  std::memcpy(&word, &bits, sizeof(word));
  return word;
}

TEST(ExchangeFormatTest, ARequestByHand) {
  const Keys first = {10, 20, 30};
  const std::vector<int32_t> occurrences = {1, 2, 3};
  const Keys third = {40};
  Request request;
  request.now = 99;
  request.tables = {
      {first.data(), 3, occurrences.data()}, {nullptr, 0, nullptr}, {third.data(), 1, nullptr}};
  const int64_t one_two = (int64_t{2} << 32) | 1;
  const Words words = {99, 7, 0, 2, 10, 20, 30, one_two, 3, 40};
  EXPECT_EQ(Write(request), words);
  Request parsed;
  ASSERT_OK(Parse(words, 3, &parsed));
  EXPECT_EQ(parsed.now, 99);
  EXPECT_EQ(parsed.num_keys(), 4);
  EXPECT_EQ(parsed.tables[0].occurrences[2], 3);
  EXPECT_EQ(parsed.tables[1].n, 0);
  EXPECT_EQ(parsed.tables[2].keys[0], 40);
  EXPECT_EQ(parsed.tables[2].occurrences, nullptr);
}

TEST(ExchangeFormatTest, AnyOtherLengthIsRefused) {
  const Words words = {99, 7, 0, 2, 10, 20, 30, 5, 3, 40};
  Request request;
  for (size_t n = 0; n < words.size(); ++n) {
    EXPECT_ERROR(Parse(Words(words.begin(), words.begin() + n), 3, &request),
                 Code::kInvalidArgument, "a request of");
  }
  Words more = words;
  more.push_back(1);
  EXPECT_ERROR(Parse(more, 3, &request), Code::kInvalidArgument, "ends after 10");
  for (int64_t head : {INT64_MIN, int64_t{-1}, INT64_MAX, INT64_MAX - 1}) {
    EXPECT_ERROR(Parse({0, head, 1}, 1, &request), Code::kInvalidArgument, "announces");
  }
}

TEST(ExchangeFormatTest, RowsByHand) {
  const Words words = {0, 4, 6, 1, 2, 3, 4, 5};  // Two keys, three keys.
  Request request;
  ASSERT_OK(Parse(words, 2, &request));
  const Floats values = {Bits(0x1a), 1, 2, 3, 4, 5};  // Keys 1 | 1 and 2 of the second: 01 011.
  KeyedRows rows;
  ASSERT_OK(rows.Parse(request, {1, 2}, values.data(), values.size()));
  EXPECT_EQ(rows.num_rows(0), 1);
  EXPECT_EQ(rows.num_rows(1), 2);
  EXPECT_EQ(rows.Find(0, 0), nullptr);
  EXPECT_EQ(*rows.Find(0, 1), 1);
  EXPECT_EQ(rows.Find(1, 0), nullptr);
  EXPECT_EQ(*rows.Find(1, 1), 2);
  EXPECT_EQ(*rows.Find(1, 2), 4);
  for (size_t n = 0; n < values.size(); ++n) {
    EXPECT_ERROR(rows.Parse(request, {1, 2}, values.data(), n), Code::kInvalidArgument, "words");
  }
  const Floats beyond = {Bits(0x3a), 1, 2, 3, 4, 5, 6, 7};
  EXPECT_ERROR(rows.Parse(request, {1, 2}, beyond.data(), 8), Code::kInvalidArgument, "beyond");
}

TEST(ExchangeFormatTest, RowsAcrossWordsOfBits) {
  const int64_t n = 32 * 3 + 7;
  Words words = {0, 2 * n};
  for (int64_t key = 0; key < n; ++key) words.push_back(key);
  Request request;
  ASSERT_OK(Parse(words, 1, &request));
  Keys addresses(n, kNoAddress);
  Floats response(MostResponseWords(request, {1}));
  for (int64_t key = 0; key < n; ++key) {
    response[BitWords(n) + key] = static_cast<float>(key);
    if (key % 5 != 2) addresses[key] = key;
  }
  const int64_t size = FinishResponse(request, {1}, addresses.data(), response.data());
  KeyedRows rows;
  ASSERT_OK(rows.Parse(request, {1}, response.data(), size));
  for (int64_t key = 0; key < n; ++key) {
    const float* const row = rows.Find(0, key);
    ASSERT_EQ(row != nullptr, key % 5 != 2) << key;
    if (row != nullptr) {
      EXPECT_EQ(*row, key);
    }
  }
}

TEST(KeyRoutesTest, EveryServerNeedsABucket) {
  KeyRoutes routes;
  EXPECT_ERROR(KeyRoutes::Create({{4, false}}, 5, &routes), Code::kInvalidArgument, "5 servers");
  EXPECT_ERROR(KeyRoutes::Create({{3, false}}, 1, &routes), Code::kInvalidArgument, "3 buckets");
  EXPECT_ERROR(KeyRoutes::Create({{4, false}}, 0, &routes), Code::kInvalidArgument, "0 servers");
  EXPECT_OK(KeyRoutes::Create({{4, false}, {1, true}}, 1, &routes));
}

// Lookups of two tables, of dims 3 and 2, that are spread over servers.
class Exchange {
 public:
  Exchange(int servers, ParallelRunner* runner) : runner_(runner) {
    EXPECT_OK(KeyRoutes::Create({{16, false}, {8, true}}, servers, &routes_));
    for (int s = 0; s < servers; ++s) {
      for (int t : {0, 1}) {
        TableOptions options = Options(dims_[t], t == 0 ? 16 : 8);
        const ShardRange owned = BucketsOfServer(options.num_buckets, servers, s);
        options.first_bucket = static_cast<int>(owned.begin);
        options.end_bucket = static_cast<int>(owned.end);
        tables_.push_back(MakeTable(options));
      }
    }
  }

  int servers() const { return routes_.num_servers(); }

  void Look(const std::vector<Keys>& keys, const std::vector<int>& table_of) {
    positions_.clear();
    for (const Keys& of_lookup : keys) positions_.emplace_back(of_lookup.size(), -77);
    std::vector<RoutedLookup> lookups;
    for (size_t l = 0; l < keys.size(); ++l) {
      lookups.push_back({table_of[l], keys[l].data(), static_cast<int64_t>(keys[l].size()),
                         positions_[l].data()});
    }
    table_of_ = table_of;
    router_.Route(routes_, lookups, runner_);
    requests_.assign(servers(), Request());
    words_.clear();
    for (int s = 0; s < servers(); ++s) words_.push_back(Write(router_.RequestTo(s, 7)));
    for (int s = 0; s < servers(); ++s) EXPECT_OK(Parse(words_[s], 2, &requests_[s]));
    Serve();
  }

  Floats Embeddings(int lookup) const {
    const int table = table_of_[lookup];
    std::vector<KeyedRows> rows(servers());
    for (int s = 0; s < servers(); ++s) {
      EXPECT_OK(rows[s].Parse(requests_[s], dims_, responses_[s].data(), responses_[s].size()));
    }
    const int64_t n = static_cast<int64_t>(positions_[lookup].size());
    Floats embeddings(n * dims_[table]);
    const Floats zeros(dims_[table]);
    EXPECT_OK(UnpackRows(requests_, rows, table, dims_[table], positions_[lookup].data(), n,
                         zeros.data(), embeddings.data(), runner_));
    return embeddings;
  }

  // The gradients of lookup l are gradients[l].
  Status Pack(const std::vector<Floats>& gradients) {
    std::vector<PositionedGradients> positioned;
    for (size_t l = 0; l < gradients.size(); ++l) {
      positioned.push_back({table_of_[l],
                            {positions_[l].data(), gradients[l].data(),
                             static_cast<int64_t>(positions_[l].size())}});
    }
    EP_RETURN_IF_ERROR(packer_.Begin(requests_, dims_, positioned));
    packed_.clear();
    std::vector<float*> places;
    for (int s = 0; s < servers(); ++s) packed_.emplace_back(packer_.words(s), -77.0f);
    for (Floats& words : packed_) places.push_back(words.data());
    packer_.Pack(places, runner_);
    return packer_.CheckFinite({"first", "second"});
  }

  void Update(const UpdateRule<float>& rule) {
    for (int s = 0; s < servers(); ++s) {
      KeyedRows sums;
      ASSERT_OK(sums.Parse(requests_[s], dims_, packed_[s].data(), packed_[s].size()));
      const auto addresses = AddressesOf(requests_[s], sums, addresses_[s].data());
      for (int t : {0, 1}) {
        UpdateResult result;
        const GradientSegment<float> segment = {addresses[t].data(), sums.rows(t), sums.num_rows(t),
                                                true};
        ASSERT_OK(tables_[2 * s + t]->ApplyGradients(rule, {segment}, OnNonFinite::kReject, runner_,
                                                     &result));
      }
    }
  }

  std::map<int64_t, Floats> RowsOf(int table) const {
    std::map<int64_t, Floats> all;
    for (int s = 0; s < servers(); ++s) {
      for (const auto& row : Rows(*tables_[2 * s + table])) EXPECT_TRUE(all.insert(row).second);
    }
    return all;
  }

  const Request& request(int server) const { return requests_[server]; }
  const std::vector<Words>& words() const { return words_; }
  const std::vector<Keys>& positions() const { return positions_; }
  const std::vector<Floats>& packed() const { return packed_; }

 private:
  void Serve() {
    responses_.clear();
    addresses_.clear();
    for (int s = 0; s < servers(); ++s) {
      const Request& request = requests_[s];
      responses_.emplace_back(MostResponseWords(request, dims_));
      addresses_.emplace_back(request.num_keys());
      int64_t key = 0;
      int64_t at = BitWords(request.num_keys());
      for (int t : {0, 1}) {
        const RequestedKeys& asked = request.tables[t];
        EXPECT_OK(tables_[2 * s + t]->Lookup(asked.keys, asked.n, OnMissing::kInsert, nullptr,
                                             addresses_[s].data() + key, responses_[s].data() + at,
                                             runner_));
        key += asked.n;
        at += asked.n * dims_[t];
      }
      responses_[s].resize(
          FinishResponse(request, dims_, addresses_[s].data(), responses_[s].data()));
    }
  }

  const std::vector<int64_t> dims_ = {3, 2};
  ParallelRunner* const runner_;
  KeyRoutes routes_;
  KeyRouter router_;
  GradientPacker packer_;
  std::vector<std::unique_ptr<FloatTable>> tables_;  // 2 * server + table
  std::vector<int> table_of_;
  std::vector<Keys> positions_;
  std::vector<Words> words_;
  std::vector<Request> requests_;
  std::vector<Floats> responses_;
  std::vector<Keys> addresses_;
  std::vector<Floats> packed_;
};

// Ids as they come: few are frequent, many rare, some are none.
Keys Draw(std::mt19937_64* random, int64_t n, int64_t distinct) {
  Keys keys(n);
  for (int64_t& key : keys) {
    const double uniform = static_cast<double>((*random)() >> 11) / 9007199254740992.0;
    key = static_cast<int64_t>(static_cast<double>(distinct) * uniform * uniform * uniform) - 1;
  }
  return keys;
}

TEST(KeyRouterTest, NumbersKeysByServerInOrderOfAppearance) {
  std::mt19937_64 random(5);
  const std::vector<Keys> keys = {
      Draw(&random, 30000, 9000), Draw(&random, 50, 9), {}, Draw(&random, 25000, 9000)};
  const std::vector<int> table_of = {0, 1, 1, 0};
  for (int servers : {1, 3, 8}) {
    std::vector<Words> first;
    for (int shards : {1, 2, 5}) {
      ThreadRunner runner(shards);
      Exchange exchange(servers, &runner);
      exchange.Look(keys, table_of);
      if (first.empty()) first = exchange.words();
      EXPECT_EQ(exchange.words(), first) << "the same bits with any number of threads";
      std::vector<Keys> numbered(2);
      for (int s = 0; s < servers; ++s) {
        EXPECT_EQ(exchange.request(s).now, 7);
        for (int t : {0, 1}) {
          const RequestedKeys& asked = exchange.request(s).tables[t];
          numbered[t].insert(numbered[t].end(), asked.keys, asked.keys + asked.n);
          const Keys all = t == 0 ? [&] {
            Keys both = keys[0];
            both.insert(both.end(), keys[3].begin(), keys[3].end());
            return both;
          }()
                                  : keys[1];
          auto from = all.begin();  // First appearances are in order.
          for (int64_t i = 0; i < asked.n; ++i) {
            const auto at = std::find(all.begin(), all.end(), asked.keys[i]);
            ASSERT_TRUE(at >= from && at != all.end());
            from = at;
            if (t == 0) {
              EXPECT_EQ(asked.occurrences, nullptr);
            } else {
              EXPECT_EQ(asked.occurrences[i], std::count(all.begin(), all.end(), asked.keys[i]));
            }
          }
        }
      }
      for (size_t l = 0; l < keys.size(); ++l) {
        for (size_t i = 0; i < keys[l].size(); ++i) {
          const int64_t position = exchange.positions()[l][i];
          ASSERT_EQ(position == kNoAddress, keys[l][i] == kNoKey);
          if (position != kNoAddress) {
            ASSERT_EQ(numbered[table_of[l]][position], keys[l][i]);
          }
        }
      }
    }
  }
}

TEST(ExchangeTest, TrainsAsOneTableDoes) {
  const auto rule = MakeRule("adagrad", {0.1, 0, 0.5});
  for (int servers : {1, 2, 5}) {
    for (int shards : {1, 3}) {
      ThreadRunner runner(shards);
      Exchange exchange(servers, &runner);
      const auto first = MakeTable(3, 16);
      const auto second = MakeTable(2, 8);
      std::mt19937_64 random(6);
      std::normal_distribution<float> normal;
      for (int step = 0; step < 3; ++step) {
        const std::vector<Keys> keys = {Draw(&random, 40000, 5000), Draw(&random, 300, 900),
                                        Draw(&random, 20000, 5000)};
        exchange.Look(keys, {0, 1, 0});
        std::vector<Found> found = {Lookup(first.get(), keys[0]), Lookup(second.get(), keys[1]),
                                    Lookup(first.get(), keys[2])};
        std::vector<Floats> gradients;
        for (int l = 0; l < 3; ++l) {
          EXPECT_EQ(exchange.Embeddings(l), found[l].embeddings);
          gradients.emplace_back(found[l].embeddings.size());
          for (float& value : gradients[l]) value = normal(random);
        }
        ASSERT_OK(exchange.Pack(gradients));
        exchange.Update(*rule);
        const auto segment = [&](int l) -> GradientSegment<float> {
          return {found[l].addresses.data(), gradients[l].data(),
                  static_cast<int64_t>(keys[l].size())};
        };
        UpdateResult result;
        ASSERT_OK(first->ApplyGradients(*rule, {segment(0), segment(2)}, OnNonFinite::kReject,
                                        &runner, &result));
        ASSERT_OK(
            second->ApplyGradients(*rule, {segment(1)}, OnNonFinite::kReject, &runner, &result));
      }
      for (int t : {0, 1}) {
        const auto wanted = Rows(t == 0 ? *first : *second);
        const auto rows = exchange.RowsOf(t);
        ASSERT_EQ(rows.size(), wanted.size());
        for (const auto& row : wanted) EXPECT_TRUE(SameBits(rows.at(row.first), row.second));
      }
    }
  }
}

TEST(ExchangeTest, OnlyKeysWithGradientsAreSent) {
  InlineRunner runner;
  Exchange exchange(1, &runner);
  exchange.Look({{5, 6, 7}, {8}, {6}}, {0, 1, 0});
  ASSERT_OK(exchange.Pack({}));
  EXPECT_EQ(exchange.packed()[0], Floats{0});
  exchange.Look({{6}, {8}, {5, 6, 7}}, {0, 1, 0});
  ASSERT_OK(exchange.Pack({{1, 2, 3}}));
  EXPECT_EQ(exchange.packed()[0], (Floats{Bits(1), 1, 2, 3}));
  ASSERT_OK(exchange.Pack({{1, 2, 3}, {4, 5}}));
  EXPECT_EQ(exchange.packed()[0], (Floats{Bits(9), 1, 2, 3, 4, 5}));
}

TEST(ExchangeTest, NonFiniteSumsAreNamed) {
  InlineRunner runner;
  Exchange exchange(2, &runner);
  exchange.Look({{5, 6}, {8, 8}}, {0, 1});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_ERROR(exchange.Pack({Floats(6, 1), {1, 1, 1, nan}}), Code::kInvalidArgument,
               "table 'second': gradients[1, 1] (position 0) is nan");
  EXPECT_ERROR(exchange.Pack({Floats(6, 1), Floats(4, 3e38f)}), Code::kInvalidArgument,
               "table 'second': the gradients of one key add up");
}

TEST(ExchangeTest, PositionsAreChecked) {
  const Words words = {0, 4, 1, 2};
  std::vector<Request> requests(1);
  ASSERT_OK(Parse(words, 1, &requests[0]));
  const Floats response = {Bits(3), 1, 2};
  std::vector<KeyedRows> rows(1);
  ASSERT_OK(rows[0].Parse(requests[0], {1}, response.data(), 3));
  InlineRunner runner;
  float embedding;
  const float zero = 0;
  GradientPacker packer;
  for (int64_t position : {int64_t{2}, int64_t{-2}, INT64_MAX, INT64_MIN}) {
    EXPECT_ERROR(UnpackRows(requests, rows, 0, 1, &position, 1, &zero, &embedding, &runner),
                 Code::kInvalidArgument, "out of range");
    EXPECT_ERROR(packer.Begin(requests, {1}, {{0, {&position, &zero, 1}}}), Code::kInvalidArgument,
                 "out of range");
  }
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
