// The variables of a stack, read and changed in place as TensorFlow's own sparse ops do it: under
// the variable's lock, and in the mode in which whoever reads all of it gets a copy.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_SPARSE_CORE_VARIABLE_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_SPARSE_CORE_VARIABLE_H_

#include <string>
#include <vector>

#include "../core/sparse_core/csr_view.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace sparse_core {

using VariablePtr = tf::core::RefCountPtr<tf::Var>;

// The variable whose handle is input `input`, ready to be used in place.
Status FindVariable(tf::OpKernelContext* ctx, int input, const std::string& table,
                    VariablePtr* variable);

// Locks variables against all others, in the order that TensorFlow's ops do. Those are distinct.
class ExclusiveAccess {
 public:
  explicit ExclusiveAccess(const std::vector<VariablePtr>& variables);
  ~ExclusiveAccess();
  ExclusiveAccess(const ExclusiveAccess&) = delete;
  ExclusiveAccess& operator=(const ExclusiveAccess&) = delete;

 private:
  std::vector<tf::mutex*> mutexes_;
};

// A table's values, [rows, width]. REQUIRES: the variable is locked, at least for reading.
Status ValuesOf(tf::Var* variable, const std::string& table, const Topology& topology,
                int64_t width, float** values, int64_t* rows);

// The five inputs that are a CSR buffer, checked. `samples` are those of one replica.
Status ReadCsr(tf::OpKernelContext* ctx, const std::string& table, const Topology& topology,
               int64_t samples, int64_t rows, ParallelRunner* runner, CsrView* csr);

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_SPARSE_CORE_VARIABLE_H_
