// Checks of op inputs. Each error names the table, the argument, its value and what is wanted.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_INPUT_CHECKS_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_INPUT_CHECKS_H_

#include <set>
#include <string>
#include <vector>

#include "table_resource.h"
#include "tf_compat.h"

namespace estimator_plugin {

inline Status WrongShape(const TableResource& resource, const std::string& argument,
                         const tf::TensorShape& shape, const std::string& wanted) {
  return Error(Code::kInvalidArgument, "table '", resource.name(), "': ", argument, " has shape ",
               shape.DebugString(), ", want ", wanted);
}

// The op's attr `dim`, which its output shapes were inferred from, against the table's.
inline Status CheckDimAttr(const TableResource& resource, int64_t dim) {
  if (dim == resource.table()->dim()) return Status();
  return Error(Code::kInvalidArgument, "table '", resource.name(), "': the op's dim is ", dim,
               ", the table's dim is ", resource.table()->dim());
}

inline Status CheckScalar(const TableResource& resource, const std::string& argument,
                          const tf::Tensor& tensor) {
  if (tensor.dims() == 0) return Status();
  return WrongShape(resource, argument, tensor.shape(), "a scalar");
}

inline Status CheckVector(const TableResource& resource, const std::string& argument,
                          const tf::Tensor& tensor) {
  if (tensor.dims() == 1) return Status();
  return WrongShape(resource, argument, tensor.shape(), "a vector");
}

// `default_row` is [0], which means zeros and gives a null pointer, or [dim].
inline Status DefaultRow(const TableResource& resource, const tf::Tensor& tensor,
                         const Value** row) {
  const int64_t dim = resource.table()->dim();
  if (tensor.dims() != 1 || (tensor.NumElements() != 0 && tensor.NumElements() != dim)) {
    return WrongShape(resource, "default_row", tensor.shape(),
                      "[0] for zeros or [" + std::to_string(dim) + "]");
  }
  *row = tensor.NumElements() == 0 ? nullptr : tensor.flat<Value>().data();
  return Status();
}

// Which of an op's tables it is about: an attr, checked.
inline Status CheckChosen(const char* attr, const std::vector<tf::int32>& chosen, int num_tables) {
  const std::set<tf::int32> distinct(chosen.begin(), chosen.end());
  if (distinct.size() == chosen.size() &&
      (distinct.empty() || (*distinct.begin() >= 0 && *distinct.rbegin() < num_tables))) {
    return Status();
  }
  return Error(Code::kInvalidArgument, attr, " must name each of the tables 0 to ", num_tables - 1,
               " at most once");
}

// `tensor` must have the shape `leading` + [dim].
inline Status CheckRowsOf(const TableResource& resource, const std::string& argument,
                          const tf::Tensor& tensor, const tf::TensorShape& leading) {
  tf::TensorShape wanted = leading;
  wanted.AddDim(resource.table()->dim());
  if (tensor.shape() == wanted) return Status();
  return WrongShape(resource, argument, tensor.shape(), wanted.DebugString());
}

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_INPUT_CHECKS_H_
