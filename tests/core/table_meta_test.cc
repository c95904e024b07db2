#include "core/table_meta.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>
#include <random>

#include "status_testing.h"

namespace estimator_plugin {
namespace {

TableMeta Example() {
  TableMeta meta;
  meta.hash_version = 1;
  meta.key_dtype = "int32";
  meta.num_buckets = 64;
  meta.layout.dim = 16;
  meta.layout.slots = {{"m", 0.0}, {"accumulator", 0.1}};
  meta.initializer.kind = "truncated_normal";
  meta.initializer.arguments = {0.0, 0.05};
  meta.initializer.seed = ~uint64_t{0};
  meta.save_id = ~uint64_t{1};
  meta.parent = "model.ckpt-7";
  meta.parent_id = 3;
  meta.admission.clock = 1700000000;
  meta.admission.threshold = 5;
  meta.admission.configured = 2;
  meta.admission.frozen = true;
  return meta;
}

void ExpectSame(const TableMeta& a, const TableMeta& b) {
  EXPECT_EQ(a.format_version, b.format_version);
  EXPECT_EQ(a.hash_version, b.hash_version);
  EXPECT_EQ(a.key_dtype, b.key_dtype);
  EXPECT_EQ(a.value_dtype, b.value_dtype);
  EXPECT_EQ(a.num_buckets, b.num_buckets);
  EXPECT_EQ(a.layout.dim, b.layout.dim);
  EXPECT_EQ(a.layout.slots, b.layout.slots);
  EXPECT_EQ(a.initializer.kind, b.initializer.kind);
  EXPECT_EQ(a.initializer.arguments, b.initializer.arguments);
  EXPECT_EQ(a.initializer.seed, b.initializer.seed);
  EXPECT_EQ(a.save_id, b.save_id);
  EXPECT_EQ(a.parent, b.parent);
  EXPECT_EQ(a.parent_id, b.parent_id);
  EXPECT_EQ(a.admission.clock, b.admission.clock);
  EXPECT_EQ(a.admission.threshold, b.admission.threshold);
  EXPECT_EQ(a.admission.configured, b.admission.configured);
  EXPECT_EQ(a.admission.frozen, b.admission.frozen);
}

void ExpectRoundTrip(const TableMeta& meta) {
  TableMeta parsed;
  ASSERT_OK(ParseTableMeta(SerializeTableMeta(meta), &parsed));
  ExpectSame(parsed, meta);
}

// Checkpoints that are out there hold this text.
TEST(TableMetaTest, TheTextIsFixed) {
  EXPECT_EQ(SerializeTableMeta(Example()),
            "format_version=1\nhash_version=1\nkey_dtype=int32\nvalue_dtype=float32\n"
            "num_buckets=64\ndim=16\nslots=m:0,accumulator:0.10000000000000001\n"
            "initializer=truncated_normal\ninitializer_arguments=0,0.050000000000000003\n"
            "seed=18446744073709551615\nsave_id=18446744073709551614\nparent=model.ckpt-7\n"
            "parent_id=3\nclock=1700000000\naccess_threshold=5\nconfigured_threshold=2\n"
            "frozen=1\n");
}

TEST(TableMetaTest, ARoundTripKeepsEveryFact) {
  ExpectRoundTrip(Example());
  TableMeta bare = Example();
  bare.layout.slots.clear();
  bare.initializer.kind = "bank";
  bare.initializer.arguments.clear();
  bare.initializer.seed = 0;
  bare.parent.clear();
  bare.admission = AdmissionState();
  ExpectRoundTrip(bare);
}

TEST(TableMetaTest, ARoundTripKeepsEveryBitOfANumber) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-300, 300);
  TableMeta meta = Example();
  for (int i = 0; i < 300; ++i) {
    meta.initializer.arguments = {std::pow(10, exponent(random)), -std::pow(10, exponent(random))};
    meta.layout.slots[1].initial_value = std::pow(10, exponent(random));
    ExpectRoundTrip(meta);
  }
  meta.initializer.arguments = {std::numeric_limits<double>::denorm_min(),
                                std::numeric_limits<double>::max(), -0.0, 0.1, 1e22};
  ExpectRoundTrip(meta);
}

// A process whose locale writes decimal commas reads and writes the same text.
TEST(TableMetaTest, TheLocaleDoesNotMatter) {
  const std::string text = SerializeTableMeta(Example());
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;
    EXPECT_EQ(SerializeTableMeta(Example()), text) << name;
    ExpectRoundTrip(Example());
  }
  std::setlocale(LC_ALL, before.c_str());
}

Status Parse(const std::string& text) {
  TableMeta untouched = Example();
  const Status status = ParseTableMeta(text, &untouched);
  if (!status.ok()) ExpectSame(untouched, Example());
  return status;
}

TEST(TableMetaTest, TextThatIsNoMetaIsDataLoss) {
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("=\n"), std::string("format_version"),
        std::string("format_version=\n"), std::string("format_version=one\n"),
        std::string(1000, '='), std::string("\0\xff\x80", 3), std::string(100000, 'a')}) {
    EXPECT_ERROR(Parse(text), Code::kDataLoss, "") << text.substr(0, 40);
  }
}

// Takes one line out, or writes another value into it.
std::string With(const std::string& name, const std::string& value, bool keep = true) {
  const std::string text = SerializeTableMeta(Example());
  const size_t begin = text.find(name + "=");
  const size_t end = text.find('\n', begin) + 1;
  const std::string line = keep ? name + "=" + value + "\n" : "";
  return text.substr(0, begin) + line + text.substr(end);
}

TEST(TableMetaTest, AMissingFieldIsNamed) {
  for (const char* name :
       {"format_version", "hash_version", "key_dtype", "value_dtype", "num_buckets", "dim", "slots",
        "initializer", "initializer_arguments", "seed", "save_id", "parent", "parent_id"}) {
    EXPECT_ERROR(Parse(With(name, "", false)), Code::kDataLoss, name);
  }
}

// A checkpoint that was written before tables admitted keys.
TEST(TableMetaTest, WithoutAClockAdmissionIsAsItStarts) {
  const std::string text = SerializeTableMeta(Example());
  TableMeta parsed;
  ASSERT_OK(ParseTableMeta(text.substr(0, text.find("clock=")), &parsed));
  TableMeta expected = Example();
  expected.admission = AdmissionState();
  ExpectSame(parsed, expected);
}

TEST(TableMetaTest, AnAdmissionThatCannotBeIsDataLoss) {
  EXPECT_ERROR(Parse(With("clock", "-2")), Code::kDataLoss, "clock");
  EXPECT_ERROR(Parse(With("access_threshold", "-2")), Code::kDataLoss, "threshold");
  EXPECT_ERROR(Parse(With("configured_threshold", "2147483648")), Code::kDataLoss, "configured");
  EXPECT_ERROR(Parse(With("frozen", "2")), Code::kDataLoss, "frozen");
  EXPECT_ERROR(Parse(With("frozen", "", false)), Code::kDataLoss, "frozen");
}

TEST(TableMetaTest, AFieldOfTheWrongTypeIsDataLoss) {
  for (const char* name :
       {"format_version", "hash_version", "num_buckets", "dim", "seed", "save_id", "parent_id"}) {
    for (const char* value : {"", "x", "1x", "1.5", "99999999999999999999999999", "1 2", "--1"}) {
      EXPECT_ERROR(Parse(With(name, value)), Code::kDataLoss, name) << name << '=' << value;
    }
  }
  for (const char* value : {"-1", " -1", "+-1"}) {
    EXPECT_ERROR(Parse(With("seed", value)), Code::kDataLoss, "seed") << value;
  }
  for (const char* value :
       {"m", ":", ":0", "m:", "m:x", "m:0,", "m:0,,n:0", ",m:0", "m:0:1", "m:0 "}) {
    EXPECT_ERROR(Parse(With("slots", value)), Code::kDataLoss, "") << value;
  }
  for (const char* value : {"x", "1,", "1,,2", ",1", "1 2", "1;2"}) {
    EXPECT_ERROR(Parse(With("initializer_arguments", value)), Code::kDataLoss, "") << value;
  }
}

TEST(TableMetaTest, ANumberOutOfRangeIsDataLoss) {
  for (const char* value : {"0", "-16", "9223372036854775807"}) {
    EXPECT_ERROR(Parse(With("dim", value)), Code::kDataLoss, "dim") << value;
  }
  for (const char* value : {"0", "-64", "63", "2147483647"}) {
    EXPECT_ERROR(Parse(With("num_buckets", value)), Code::kDataLoss, "num_buckets") << value;
  }
}

TEST(TableMetaTest, ARepeatedFieldIsDataLoss) {
  EXPECT_ERROR(Parse(SerializeTableMeta(Example()) + "dim=32\n"), Code::kDataLoss, "dim");
}

// A later format may say more; what it says of itself decides.
TEST(TableMetaTest, ANewerFormatIsNamedAndAnUnknownFieldIsNot) {
  EXPECT_ERROR(Parse(With("format_version", "2")), Code::kDataLoss, "2");
  EXPECT_ERROR(Parse("format_version=7\nall=different\n"), Code::kDataLoss, "7");
  EXPECT_ERROR(Parse(With("format_version", "0")), Code::kDataLoss, "0");
  EXPECT_OK(Parse(SerializeTableMeta(Example()) + "weather=fine\n"));
}

TEST(TableMetaTest, CutAnywhereItIsRefused) {
  const std::string text = SerializeTableMeta(Example());
  // The last line's end may be missing; its last digits may not be noticed.
  for (size_t length = 0; length < text.find("\nparent_id="); ++length) {
    EXPECT_ERROR(Parse(text.substr(0, length)), Code::kDataLoss, "") << length;
  }
}

TEST(TableMetaTest, TensorNamesAreFixed) {
  EXPECT_EQ(MetaTensorName("user"), "user/meta");
  EXPECT_EQ(BankTensorName("user"), "user/bank");
  EXPECT_EQ(BucketTensorName("a/b", 0, "keys"), "a/b/bucket-0/keys");
  EXPECT_EQ(BucketTensorName("user", 4095, "last_seen"), "user/bucket-4095/last_seen");
}

}  // namespace
}  // namespace estimator_plugin
