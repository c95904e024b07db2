#include "core/status.h"

#include <gtest/gtest.h>

#include "status_testing.h"

namespace estimator_plugin {
namespace {

TEST(StatusTest, IsOkByDefault) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.message(), "");
}

// The numbers are absl::StatusCode's and TensorFlow's error::Code's: kernels cast them.
TEST(StatusTest, CodesAreThoseOfTensorFlow) {
  EXPECT_EQ(static_cast<int>(Code::kOk), 0);
  EXPECT_EQ(static_cast<int>(Code::kInvalidArgument), 3);
  EXPECT_EQ(static_cast<int>(Code::kNotFound), 5);
  EXPECT_EQ(static_cast<int>(Code::kResourceExhausted), 8);
  EXPECT_EQ(static_cast<int>(Code::kFailedPrecondition), 9);
  EXPECT_EQ(static_cast<int>(Code::kInternal), 13);
  EXPECT_EQ(static_cast<int>(Code::kDataLoss), 15);
}

TEST(StatusTest, ErrorJoinsItsPieces) {
  const Status status = Error(Code::kNotFound, "table '", std::string("t"), "': row ", 7, ' ', 0.5);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(), "table 't': row 7 0.5");
}

TEST(StatusTest, ErrorWithoutPiecesHasAnEmptyMessage) {
  EXPECT_EQ(Error(Code::kInternal).message(), "");
}

TEST(StatusTest, CopiesAreIndependent) {
  Status first = Error(Code::kDataLoss, "a");
  const Status second = first;
  first = Status();
  EXPECT_TRUE(first.ok());
  EXPECT_ERROR(second, Code::kDataLoss, "a");
}

Status ReturnsWhatItGets(const Status& status, int* evaluations) {
  const auto evaluate = [&] {
    ++*evaluations;
    return status;
  };
  EP_RETURN_IF_ERROR(evaluate());
  return Error(Code::kInternal, "went on");
}

TEST(StatusTest, ReturnIfErrorStopsAtAnErrorOnly) {
  int evaluations = 0;
  EXPECT_ERROR(ReturnsWhatItGets(Error(Code::kNotFound, "gone"), &evaluations), Code::kNotFound,
               "gone");
  EXPECT_ERROR(ReturnsWhatItGets(Status(), &evaluations), Code::kInternal, "went on");
  EXPECT_EQ(evaluations, 2);
}

}  // namespace
}  // namespace estimator_plugin
