// The result of every core operation that can fail. Core code throws nothing and aborts nothing.
//
// A Status is a value: copy it, return it, test it with ok(). The numeric codes are those of
// absl::StatusCode, so a kernel can hand a Status to TensorFlow without a translation table.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_STATUS_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_STATUS_H_

#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace estimator_plugin {

enum class Code : int {
  kOk = 0,
  kCancelled = 1,
  kInvalidArgument = 3,
  kNotFound = 5,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kInternal = 13,
  kDataLoss = 15,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

namespace status_internal {
inline void Append(std::ostringstream&) {}
template <typename First, typename... Rest>
void Append(std::ostringstream& out, const First& first, const Rest&... rest) {
  out << first;
  Append(out, rest...);
}
}  // namespace status_internal

// Builds an error from streamable pieces: Error(Code::kInvalidArgument, "table '", name, "': ...").
template <typename... Pieces>
Status Error(Code code, const Pieces&... pieces) {
  std::ostringstream out;
  status_internal::Append(out, pieces...);
  return Status(code, out.str());
}

// The first of the shards' errors, so that the same input gives the same message.
inline Status FirstError(const std::vector<Status>& statuses) {
  for (const Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return Status();
}

}  // namespace estimator_plugin

#define EP_RETURN_IF_ERROR(expression)                    \
  do {                                                    \
    ::estimator_plugin::Status ep_status_ = (expression); \
    if (!ep_status_.ok()) return ep_status_;              \
  } while (false)

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_STATUS_H_
