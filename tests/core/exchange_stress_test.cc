// Eight workers train one server's table at once, asynchronously, each by exchanges of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "core/exchange_gradients.h"
#include "core/exchange_route.h"
#include "core/exchange_rows.h"
#include "stress_time.h"
#include "table_testing.h"
#include "thread_runner.h"

namespace estimator_plugin {
namespace testing {
namespace {

constexpr int kWorkers = 8;
constexpr int64_t kDim = 4;
constexpr int64_t kBatch = 2000;
constexpr int64_t kKeys = 5000;

// A row starts at zero, and each occurrence of its key in a batch adds one to all its values: they
// count, exactly, and a row whose values differ is half-written.
TableOptions Counters() {
  TableOptions options = Options(kDim);
  options.initializer.kind = "constant";
  options.initializer.arguments = {0.0};
  return options;
}

class Worker {
 public:
  Worker(FloatTable* server, uint64_t seed)
      : server_(server), random_(seed), runner_(static_cast<int>(1 + seed % 2)) {
    EXPECT_OK(KeyRoutes::Create({{server->options().num_buckets, false}}, 1, &routes_));
  }

  const std::vector<int64_t>& pushed() const { return pushed_; }

  void Step(const UpdateRule<float>& rule) {
    Keys keys(kBatch);
    for (int64_t& key : keys) {  // A third of all ids is one hot key.
      key = random_() % 3 == 0 ? 0 : static_cast<int64_t>(random_() % kKeys);
    }
    Keys positions(kBatch);
    router_.Route(routes_, {{0, keys.data(), kBatch, positions.data()}}, &runner_);
    std::vector<int64_t> words(RequestWords(router_.RequestTo(0, 0)));
    WriteRequest(router_.RequestTo(0, 0), words.data());
    std::vector<Request> requests(1);
    ASSERT_OK(ParseRequest(words.data(), words.size(), 1, &requests[0]));
    Keys addresses(requests[0].num_keys());
    LookUp(requests, positions, &addresses);
    Push(rule, requests, positions, addresses);
    for (int64_t key : keys) ++pushed_[key];
  }

 private:
  void LookUp(const std::vector<Request>& requests, const Keys& positions, Keys* addresses) {
    const RequestedKeys& asked = requests[0].tables[0];
    Floats response(MostResponseWords(requests[0], {kDim}));
    ASSERT_OK(server_->Lookup(asked.keys, asked.n, OnMissing::kInsert, nullptr, addresses->data(),
                              response.data() + BitWords(asked.n), &runner_));
    const int64_t size = FinishResponse(requests[0], {kDim}, addresses->data(), response.data());
    std::vector<KeyedRows> rows(1);
    ASSERT_OK(rows[0].Parse(requests[0], {kDim}, response.data(), size));
    Floats embeddings(kBatch * kDim);
    const Floats zeros(kDim);
    ASSERT_OK(UnpackRows(requests, rows, 0, kDim, positions.data(), kBatch, zeros.data(),
                         embeddings.data(), &runner_));
    for (int64_t i = 0; i < kBatch * kDim; i += kDim) {
      for (int64_t d = 1; d < kDim; ++d) ASSERT_EQ(embeddings[i + d], embeddings[i]);
    }
  }

  void Push(const UpdateRule<float>& rule, const std::vector<Request>& requests,
            const Keys& positions, const Keys& addresses) {
    const Floats gradients(kBatch * kDim, -1.0f);
    const std::vector<PositionedGradients> positioned = {
        {0, {positions.data(), gradients.data(), kBatch}}};
    const std::vector<int64_t> dims = {kDim};
    ASSERT_OK(packer_.Begin(requests, dims, positioned));
    Floats packed(packer_.words(0));
    packer_.Pack({packed.data()}, &runner_);
    KeyedRows sums;
    ASSERT_OK(sums.Parse(requests[0], dims, packed.data(), packed.size()));
    const auto of_tables = AddressesOf(requests[0], sums, addresses.data());
    UpdateResult result;
    const GradientSegment<float> segment = {of_tables[0].data(), sums.rows(0), sums.num_rows(0),
                                            true};
    ASSERT_OK(server_->ApplyGradients(rule, {segment}, OnNonFinite::kReject, &runner_, &result));
  }

  FloatTable* const server_;
  std::mt19937_64 random_;
  ThreadRunner runner_;
  KeyRoutes routes_;
  KeyRouter router_;
  GradientPacker packer_;
  std::vector<int64_t> pushed_ = std::vector<int64_t>(kKeys);
};

TEST(ExchangeStressTest, NoPushIsLostOrAppliedTwice) {
  const auto table = MakeTable(Counters());
  const auto rule = MakeRule("sgd", {1, 0});
  std::vector<std::unique_ptr<Worker>> workers;
  for (int w = 0; w < kWorkers; ++w) workers.emplace_back(new Worker(table.get(), w));
  const auto end = std::chrono::steady_clock::now() + StressTime();
  std::vector<std::thread> threads;
  for (const auto& worker : workers) {
    threads.emplace_back([&] {
      while (std::chrono::steady_clock::now() < end) worker->Step(*rule);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& row : Rows(*table)) {
    int64_t pushes = 0;
    for (const auto& worker : workers) pushes += worker->pushed()[row.first];
    ASSERT_LT(pushes, 1 << 24) << "floats count no further: run for less time";
    for (float value : row.second) {
      ASSERT_EQ(value, static_cast<float>(pushes)) << "key " << row.first;
    }
  }
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
