#include "core/gradient_accumulator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "table_testing.h"

namespace estimator_plugin {
namespace testing {
namespace {

using Accumulator = GradientAccumulator<float>;
using Accumulated = AccumulatedGradients<float>;

OwnedGradients<float> Gradients(int64_t address, const Floats& gradient) {
  struct Memory {
    int64_t address;
    Floats gradient;
  };
  const auto memory = std::make_shared<Memory>(Memory{address, gradient});
  return {memory, {&memory->address, memory->gradient.data(), 1}};
}

// What a Take was told.
struct Told {
  Accumulator::Ready Ready() {
    return [this](const Status& status, Accumulated accumulated) {
      ++calls;
      last = status;
      gradients = std::move(accumulated);
    };
  }
  int calls = 0;
  Status last;
  Accumulated gradients;
};

TEST(GradientAccumulatorTest, TakesWhatReplicasCompleted) {
  Accumulator accumulator;
  EXPECT_TRUE(accumulator.Add(0, Gradients(1, {1}), true));
  Told told;
  accumulator.Take(2, &told, told.Ready());
  EXPECT_EQ(told.calls, 0);
  EXPECT_TRUE(accumulator.Add(0, Gradients(2, {2}), false));
  EXPECT_EQ(told.calls, 0) << "the second replica has more to come";
  EXPECT_TRUE(accumulator.Add(0, Gradients(3, {3}), true));
  ASSERT_EQ(told.calls, 1);
  EXPECT_OK(told.last);
  EXPECT_EQ(told.gradients.replicas, 2);
  ASSERT_EQ(told.gradients.gradients.size(), 3u);
  EXPECT_EQ(*told.gradients.gradients[2].segment.addresses, 3);
  EXPECT_EQ(*told.gradients.gradients[1].segment.gradients, 2);
}

TEST(GradientAccumulatorTest, MoreThanEnoughAreTakenAtOnce) {
  Accumulator accumulator;
  for (int i = 0; i < 3; ++i) accumulator.Add(0, Gradients(i, {1}), true);
  Told told;
  accumulator.Take(2, &told, told.Ready());
  EXPECT_EQ(told.calls, 1);
  EXPECT_EQ(told.gradients.replicas, 3);
}

TEST(GradientAccumulatorTest, StaleGradientsDoNotCount) {
  Accumulator accumulator;
  Told told;
  accumulator.Take(1, &told, told.Ready());
  EXPECT_TRUE(accumulator.Add(0, Gradients(1, {1}), true));
  EXPECT_EQ(accumulator.version(), 0) << "the update is not in the table yet";
  EXPECT_FALSE(accumulator.Add(0, Gradients(1, {1}), true));
  accumulator.Finish();
  EXPECT_EQ(accumulator.version(), 1);
  EXPECT_FALSE(accumulator.Add(0, Gradients(1, {1}), true));
  EXPECT_FALSE(accumulator.Add(2, Gradients(1, {1}), true));
  EXPECT_TRUE(accumulator.Add(1, Gradients(7, {1}), true));
  accumulator.Take(1, &told, told.Ready());
  ASSERT_EQ(told.gradients.gradients.size(), 1u);
  EXPECT_EQ(*told.gradients.gradients[0].segment.addresses, 7);
}

TEST(GradientAccumulatorTest, AWaitEndsOnce) {
  Accumulator accumulator;
  Told first, second, third;
  accumulator.Take(1, &first, first.Ready());
  EXPECT_FALSE(accumulator.CancelTake(&second));
  accumulator.Take(1, &second, second.Ready());
  EXPECT_ERROR(first.last, Code::kAborted, "another update");
  EXPECT_FALSE(accumulator.CancelTake(&first));
  EXPECT_TRUE(accumulator.CancelTake(&second));
  EXPECT_FALSE(accumulator.CancelTake(&second));
  EXPECT_TRUE(accumulator.Add(0, Gradients(1, {1}), true));
  EXPECT_EQ(second.calls, 0);
  accumulator.Take(2, &third, third.Ready());
  accumulator.Reset();
  EXPECT_ERROR(third.last, Code::kAborted, "replaced");
  EXPECT_FALSE(accumulator.CancelTake(&third));
  EXPECT_EQ(first.calls + third.calls, 2);
}

TEST(GradientAccumulatorTest, ResetForgetsAndMakesStale) {
  Accumulator accumulator;
  accumulator.Add(0, Gradients(1, {1}), true);
  accumulator.Reset();
  EXPECT_FALSE(accumulator.Add(0, Gradients(2, {1}), true));
  Told told;
  accumulator.Take(1, &told, told.Ready());
  EXPECT_EQ(told.calls, 0);
  EXPECT_TRUE(accumulator.Add(accumulator.version(), Gradients(3, {1}), true));
  EXPECT_EQ(told.gradients.gradients.size(), 1u);
  accumulator.Reset();  // While the update is under way.
  const int64_t version = accumulator.version();
  accumulator.Finish();
  EXPECT_EQ(accumulator.version(), version);
}

TEST(GradientAccumulatorTest, TheMeanIsAppliedOnce) {
  const auto table = MakeTable(2);
  const Keys a = Lookup(table.get(), {5}).addresses;
  const Floats before = Lookup(table.get(), {5}).embeddings;
  const auto sgd = MakeRule("sgd", {0.5, 0});
  EXPECT_OK(Apply(table.get(), MeanRule<float>(*sgd, 4), {a[0], a[0]}, {1, 2, 3, 6}));
  EXPECT_EQ(Lookup(table.get(), {5}).embeddings, (Floats{before[0] - 0.5f, before[1] - 1.0f}));
  const auto adagrad = MakeRule("adagrad", {0.1, 0, 0.5});
  EXPECT_EQ(MeanRule<float>(*adagrad, 4).slots(), adagrad->slots());
}

// Eight replicas push as fast as they can, each to the version that it sees; one thread updates.
// Every update has gradients of the one version, and none is lost or counted twice.
TEST(GradientAccumulatorTest, ConcurrentReplicas) {
  constexpr int kReplicas = 8;
  constexpr int kUpdates = 300;
  Accumulator accumulator;
  std::atomic<bool> done{false};
  std::atomic<int64_t> counted{0};
  std::vector<std::thread> threads;
  for (int r = 0; r < kReplicas; ++r) {
    threads.emplace_back([&] {
      while (!done) {
        const int64_t version = accumulator.version();
        counted += accumulator.Add(version, Gradients(version, {1}), true);
        std::this_thread::yield();
      }
    });
  }
  int64_t taken = 0;
  for (int update = 0; update < kUpdates; ++update) {
    Told told;
    std::atomic<bool> ready{false};
    accumulator.Take(3, &told, [&](const Status& status, Accumulated accumulated) {
      told.Ready()(status, std::move(accumulated));
      ready = true;
    });
    while (!ready) std::this_thread::yield();
    EXPECT_GE(told.gradients.replicas, 3);
    for (const auto& each : told.gradients.gradients) EXPECT_EQ(*each.segment.addresses, update);
    taken += told.gradients.replicas;
    accumulator.Finish();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  Told rest;
  accumulator.Take(0, &rest, rest.Ready());
  EXPECT_EQ(taken + rest.gradients.replicas, counted);
}

}  // namespace
}  // namespace testing
}  // namespace estimator_plugin
