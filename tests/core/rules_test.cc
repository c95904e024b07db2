#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/update_rule.h"
#include "rule_reference.h"
#include "status_testing.h"

namespace estimator_plugin {
namespace {

using Numbers = std::vector<double>;

std::unique_ptr<UpdateRule<float>> MakeRule(const std::string& name, const Numbers& h) {
  std::unique_ptr<UpdateRule<float>> rule;
  EXPECT_OK(MakeUpdateRule<float>(name, h, &rule));
  return rule;
}

// What TensorFlow 2.15.1's own float64 operation (ResourceApplyAdagrad and so on) makes of the
// weights {0.5, -0.25, 0} and of its slots after four steps with kGradients.
struct Vector {
  const char* rule;
  Numbers hyperparameters;  // Of step 1: Adam's beta powers are raised step by step.
  std::vector<Numbers> expected;
};

const Numbers kGradients[] = {
    {0.1, -0.3, 0.0}, {0.25, 0.02, 1e-3}, {-0.4, 0.7, -2.0}, {0.01, 0.0, 0.1}};

const Vector kVectors[] = {
    {"sgd", {0.1, 0}, {{0.504, -0.292, 0.1899}}},
    {"momentum", {0.1, 0.9, 0}, {{0.47286, -0.28525, 0.369729}, {-0.0746, 0.4275, -1.69919}}},
    {"momentum", {0.1, 0.9, 1}, {{0.479574, -0.323725, 0.5226561}, {-0.0746, 0.4275, -1.69919}}},
    {"adagrad",
     {0.1, 0, 0.1},
     {{0.477290777348, -0.270621285194, 0.093524085798}, {0.3326, 0.6804, 4.110001}}},
    {"adam",
     {0.1, 0.9, 0.99, 1e-3, 0.9, 0.99},
     {{0.33960758666, -0.164563254317, 0.105478559005},
      {-0.00746, 0.04275, -0.169919},
      {0.0022945924, 0.0057281895, 0.039700009801}}},
    {"amsgrad",
     {0.1, 0.8, 0.5, 1e-3, 0.8, 0.5},
     {{0.342514146013, -0.167507146167, 0.0607224391488},
      {-0.01976, 0.08384, -0.299872},
      {0.0484875, 0.128175, 1.005000125},
      {0.096875, 0.25635, 2.00000025}}},
    {"rmsprop",
     {0.1, 0.9, 0.8, 1e-3},
     {{0.483267069418, -0.304647650653, 0.328477845333},
      {0.6763015, 0.7067934, 1.017100081},
      {-0.012595511814, 0.0484645520971, -0.140533555794}}},
    {"ftrl",
     {0.1, -0.5, 0, 0, 0, 0.1, 0},
     {{0.000559482725569, -0.089252222666, 0.093524085798},
      {0.3326, 0.6804, 4.110001},
      {-0.00322661987321, 0.736209119358, -1.8960266415}}},
    {"ftrl",
     {0.1, -0.5, 0.2, 0.3, 0, 0.1, 0},
     {{0, -0.0586706590848, 0.0814985037077},
      {0.3326, 0.6804, 4.110001},
      {-0.0924609415115, 0.719155320843, -1.90112946571}}},
    {"ftrl",
     {0.1, -0.5, 0.2, 0.3, 0.4, 0.1, 0},
     {{-0.0230149617715, -0.032821319133, 0.0781913113604},
      {0.3326, 0.6804, 4.110001},
      {0.346539675688, 0.490423914283, -1.83209798544}}},
    {"ftrl",
     {0.1, -0.7, 0.2, 0.3, 0.4, 0.1, 0},
     {{-0.0348987079748, -0.0336037394944, 0.0599930078668},
      {0.3326, 0.6804, 4.110001},
      {0.38243267763, 0.476801225004, -1.84957388654}}},
    // TensorFlow's optimizers hand beta over as beta / (2 lr) more of l2.
    {"ftrl",
     {0.1, -0.5, 0.2, 0.3, 0.4, 0.1, 2.0},
     {{-0.00364164452157, -0.0107572160931, 0.0407322337159},
      {0.3326, 0.6804, 4.110001},
      {0.296019781309, 0.510331014142, -1.86485418524}}},
};

bool IsAdam(const std::string& rule) { return rule.find("adam") == 0 || rule == "amsgrad"; }

// The hyperparameters of step `step`, counted from 0.
Numbers AtStep(const std::string& rule, Numbers h, int step) {
  if (IsAdam(rule)) {
    h[4] = std::pow(h[1], step + 1);
    h[5] = std::pow(h[2], step + 1);
  }
  return h;
}

std::vector<float> FreshRow(const UpdateRule<float>& rule, const std::vector<float>& weights) {
  std::vector<float> row = weights;
  for (const SlotSpec& slot : rule.slots()) {
    row.insert(row.end(), weights.size(), static_cast<float>(slot.initial_value));
  }
  return row;
}

TEST(RulesTest, FourStepsMatchTensorFlow) {
  for (const Vector& vector : kVectors) {
    SCOPED_TRACE(::testing::Message() << vector.rule << " case " << &vector - kVectors);
    std::vector<float> row;
    for (int step = 0; step < 4; ++step) {
      const auto rule = MakeRule(vector.rule, AtStep(vector.rule, vector.hyperparameters, step));
      if (step == 0) row = FreshRow(*rule, {0.5f, -0.25f, 0.0f});
      const std::vector<float> gradient(kGradients[step].begin(), kGradients[step].end());
      rule->Apply(row.data(), gradient.data(), 3);
    }
    ASSERT_EQ(row.size(), 3 * vector.expected.size());
    for (size_t i = 0; i < row.size(); ++i) {
      const double expected = vector.expected[i / 3][i % 3];
      EXPECT_NEAR(row[i], expected, 3e-6 * (std::fabs(expected) + 0.1)) << "value " << i;
    }
  }
}

// Arguments that reach every term of every rule.
const std::vector<std::pair<std::string, Numbers>>& Settings() {
  static const std::vector<std::pair<std::string, Numbers>> settings = {
      {"sgd", {0.05, 0}},
      {"sgd", {0.05, 0.01}},
      {"momentum", {0.05, 0.7, 0}},
      {"momentum", {0.05, 0.7, 1}},
      {"adagrad", {0.05, 0, 0.9}},
      {"adagrad", {0.05, 0.25, 0.1}},
      {"adam", {0.01, 0.9, 0.999, 1e-8, 0.9, 0.999}},
      {"amsgrad", {0.01, 0.7, 0.9, 1e-6, 0.7, 0.9}},
      {"rmsprop", {0.01, 0.8, 0, 1e-6}},
      {"rmsprop", {0.01, 0.8, 0.5, 0.1}},
      {"adagrad_momentum", {0.05, 0.7, 0, 2, 1, 1e-6}},
      {"adagrad_momentum", {0.05, 0.7, 1, 3, 0.9, 0.1}},
      {"adam_sum_inside_sqrt", {0.01, 0.9, 0.99, 1e-3, 0.9, 0.99}},
      {"ftrl", {0.1, -0.5, 0.01, 0.02, 0, 0.1, 0}},
      {"ftrl", {0.1, -0.3, 0.01, 0.02, 0.03, 0.2, 0.5}},
      {"ftrl_multiply_linear", {0.1, -0.5, 0.01, 0.02, 0.03, 0.1, 0.5}},
      {"ftrl_multiply_linear", {0.1, -0.3, 0.01, 0.02, 0.03, 0.2, 0.5}},
  };
  return settings;
}

void CompareWithReference(const std::string& name, const Numbers& h, int64_t dim) {
  SCOPED_TRACE(::testing::Message() << name << " dim " << dim);
  std::mt19937_64 random(dim);
  std::normal_distribution<float> normal;
  std::vector<float> weights(dim), gradient(dim);
  for (float& weight : weights) weight = normal(random);
  std::vector<float> row = FreshRow(*MakeRule(name, h), weights);
  const int64_t width = row.size() / dim;
  std::vector<Numbers> states(dim, Numbers(width));
  for (size_t i = 0; i < row.size(); ++i) states[i % dim][i / dim] = row[i];
  row.push_back(123.0f);  // The neighbour's first value.
  for (int step = 0; step < 5; ++step) {
    const Numbers now = AtStep(name, h, step);
    for (int64_t i = 0; i < dim; ++i) {
      gradient[i] = step == 2 ? 0.0f : normal(random);
      testing::ReferenceUpdate(name, now, gradient[i], &states[i]);
    }
    MakeRule(name, now)->Apply(row.data(), gradient.data(), dim);
  }
  for (int64_t i = 0; i < dim * width; ++i) {
    const double expected = states[i % dim][i / dim];
    ASSERT_NEAR(row[i], expected, 1e-5 * (std::fabs(expected) + 1)) << "value " << i;
  }
  EXPECT_EQ(row.back(), 123.0f) << "wrote behind the row";
}

TEST(RulesTest, MatchesTheFormulasAtEveryWidth) {
  for (const auto& setting : Settings()) {
    for (int64_t dim : {1, 3, 7, 8, 15, 16, 17, 33, 64}) {
      CompareWithReference(setting.first, setting.second, dim);
    }
  }
}

// An element's bits depend neither on the row's width nor on the instruction set its place in the
// row is worked with.
TEST(RulesTest, ElementsAreIndependentToTheBit) {
  const int64_t dim = 33;
  for (const auto& setting : Settings()) {
    SCOPED_TRACE(setting.first);
    const auto rule = MakeRule(setting.first, setting.second);
    std::mt19937_64 random(9);
    std::normal_distribution<float> normal;
    std::vector<float> gradient(dim);
    for (float& value : gradient) value = normal(random);
    std::vector<float> row(dim * (1 + rule->slots().size()));
    for (float& value : row) value = std::fabs(normal(random));
    std::vector<float> expected = row;
    for (int64_t i = 0; i < dim; ++i) {
      std::vector<float> element;
      for (size_t at = i; at < row.size(); at += dim) element.push_back(row[at]);
      rule->Apply(element.data(), &gradient[i], 1);
      for (size_t k = 0; k < element.size(); ++k) expected[k * dim + i] = element[k];
    }
    rule->Apply(row.data(), gradient.data(), dim);
    EXPECT_EQ(row, expected);
  }
}

TEST(RulesTest, SlotsHaveNamesOfTheirOwnAndTheirInitialValues) {
  for (const auto& setting : Settings()) {
    SCOPED_TRACE(setting.first);
    const std::vector<SlotSpec> slots = MakeRule(setting.first, setting.second)->slots();
    for (size_t i = 0; i < slots.size(); ++i) {
      EXPECT_NE(slots[i].name, "");
      for (size_t j = 0; j < i; ++j) EXPECT_NE(slots[i].name, slots[j].name);
    }
  }
  EXPECT_EQ(MakeRule("adagrad", {1, 0, 0.3})->slots()[0].initial_value, 0.3);
  EXPECT_EQ(MakeRule("ftrl", {1, -0.5, 0, 0, 0, 0.7, 0})->slots()[0].initial_value, 0.7);
  EXPECT_EQ(MakeRule("ftrl", {1, -0.5, 0, 0, 0, 0.7, 0})->slots()[1].initial_value, 0.0);
  EXPECT_EQ(MakeRule("rmsprop", {1, 0.9, 0, 1e-8})->slots()[0].initial_value, 1.0);
  EXPECT_TRUE(MakeRule("sgd", {1, 0})->slots().empty());
}

TEST(RulesTest, AFirstFtrlStepInsideL1SetsTheWeightToZero) {
  const auto rule = MakeRule("ftrl", {0.1, -0.5, 10.0, 0, 0, 0.1, 0});
  std::vector<float> row = FreshRow(*rule, {0.5f});
  const float gradient = 0.1f;
  rule->Apply(row.data(), &gradient, 1);
  EXPECT_EQ(row[0], 0.0f);
}

// A stack's rows lie in a variable for each part.
TEST(RulesTest, PartsMayLieAnywhere) {
  const int64_t dim = 9;
  for (const auto& setting : Settings()) {
    SCOPED_TRACE(setting.first);
    const auto rule = MakeRule(setting.first, setting.second);
    std::vector<float> row = FreshRow(*rule, std::vector<float>(dim, 0.5f));
    std::vector<std::vector<float>> parts;
    std::vector<float*> pointers;
    for (size_t at = 0; at < row.size(); at += dim) {
      parts.emplace_back(row.begin() + at, row.begin() + at + dim);
    }
    for (auto& part : parts) pointers.push_back(part.data());
    const std::vector<float> gradient(dim, -0.25f);
    rule->Apply(row.data(), gradient.data(), dim);
    rule->Update(pointers.data(), gradient.data(), dim);
    std::vector<float> joined;
    for (const auto& part : parts) joined.insert(joined.end(), part.begin(), part.end());
    EXPECT_EQ(joined, row);
  }
}

TEST(RulesTest, RejectsWhatIsNotARule) {
  std::unique_ptr<UpdateRule<float>> rule;
  EXPECT_ERROR(MakeUpdateRule<float>("adamw", {0.1}, &rule), Code::kInvalidArgument, "adamw");
  EXPECT_ERROR(MakeUpdateRule<float>("", {}, &rule), Code::kInvalidArgument, "rule");
  EXPECT_EQ(rule, nullptr);
}

TEST(RulesTest, RejectsAWrongCountOfHyperparameters) {
  std::unique_ptr<UpdateRule<float>> rule;
  for (const auto& setting : Settings()) {
    Numbers h = setting.second;
    h.pop_back();
    EXPECT_ERROR(MakeUpdateRule<float>(setting.first, h, &rule), Code::kInvalidArgument,
                 setting.first);
    h.assign(setting.second.size() + 1, 0.5);
    EXPECT_ERROR(MakeUpdateRule<float>(setting.first, h, &rule), Code::kInvalidArgument,
                 std::to_string(h.size()));
  }
  EXPECT_EQ(rule, nullptr);
}

TEST(RulesTest, RejectsAHyperparameterThatIsNotFinite) {
  std::unique_ptr<UpdateRule<float>> rule;
  for (const auto& setting : Settings()) {
    for (size_t i = 0; i < setting.second.size(); ++i) {
      for (double bad :
           {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
            -std::numeric_limits<double>::infinity()}) {
        Numbers h = setting.second;
        h[i] = bad;
        EXPECT_ERROR(MakeUpdateRule<float>(setting.first, h, &rule), Code::kInvalidArgument,
                     setting.first);
      }
    }
  }
}

// A finite hyperparameter can make an infinite step: it would turn every touched weight into NaN.
TEST(RulesTest, RejectsHyperparametersWithoutAFiniteStep) {
  std::unique_ptr<UpdateRule<float>> rule;
  const Numbers first_step_powers_of_zero = {0.1, 0.9, 0.99, 1e-8, 1.0, 1.0};
  for (const char* name : {"adam", "amsgrad"}) {
    EXPECT_ERROR(MakeUpdateRule<float>(name, first_step_powers_of_zero, &rule),
                 Code::kInvalidArgument, "beta1_power");
    EXPECT_ERROR(MakeUpdateRule<float>(name, {0.1, 0.9, 0.99, 1e-8, 0.9, 1.5}, &rule),
                 Code::kInvalidArgument, "beta2_power");
  }
  EXPECT_ERROR(MakeUpdateRule<float>("ftrl", {0, -0.5, 0, 0, 0, 0.1, 0}, &rule),
               Code::kInvalidArgument, "learning_rate");
  EXPECT_ERROR(MakeUpdateRule<float>("adagrad_momentum", {0.1, 0, 0, 0, 1, 1e-9}, &rule),
               Code::kInvalidArgument, "exponent");
  EXPECT_ERROR(MakeUpdateRule<float>("sgd", {1e300, 0}, &rule), Code::kInvalidArgument, "1e+300");
}

}  // namespace
}  // namespace estimator_plugin
