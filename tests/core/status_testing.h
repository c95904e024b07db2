// Assertions about Status that show the message when they fail. There is no "not OK" assertion on
// purpose: a test of a failure says which code it wants and what the message must mention.
#ifndef ESTIMATOR_PLUGIN_TESTS_CORE_STATUS_TESTING_H_
#define ESTIMATOR_PLUGIN_TESTS_CORE_STATUS_TESTING_H_

#include <gtest/gtest.h>

#include <string>

#include "core/status.h"

namespace estimator_plugin {
namespace testing {

inline ::testing::AssertionResult IsOk(const Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "code " << static_cast<int>(status.code()) << ": " << status.message();
}

inline ::testing::AssertionResult IsError(const Status& status, Code code,
                                          const std::string& mention) {
  if (status.code() != code) {
    return ::testing::AssertionFailure()
           << "code " << static_cast<int>(status.code()) << " where " << static_cast<int>(code)
           << " was wanted; message: " << status.message();
  }
  if (status.message().find(mention) == std::string::npos) {
    return ::testing::AssertionFailure()
           << "the message does not mention '" << mention << "': " << status.message();
  }
  return ::testing::AssertionSuccess();
}

}  // namespace testing
}  // namespace estimator_plugin

#define EXPECT_OK(expression) EXPECT_TRUE(::estimator_plugin::testing::IsOk(expression))
#define ASSERT_OK(expression) ASSERT_TRUE(::estimator_plugin::testing::IsOk(expression))
#define EXPECT_ERROR(expression, code, mention) \
  EXPECT_TRUE(::estimator_plugin::testing::IsError(expression, code, mention))

#endif  // ESTIMATOR_PLUGIN_TESTS_CORE_STATUS_TESTING_H_
