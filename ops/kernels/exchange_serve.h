// What the kernels on a parameter server share: several tables, and a request to them.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_EXCHANGE_SERVE_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_EXCHANGE_SERVE_H_

#include <set>
#include <string>
#include <vector>

#include "../core/exchange_gradients.h"
#include "exchange_inputs.h"
#include "input_checks.h"
#include "shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {

using TableResources = std::vector<tf::core::RefCountPtr<TableResource>>;

// The tables whose handles are the first inputs.
inline Status ReadHandles(tf::OpKernelContext* ctx, int num_tables, TableResources* tables) {
  tables->resize(num_tables);
  for (int t = 0; t < num_tables; ++t) {
    EP_RETURN_IF_ERROR(
        FromTensorFlow(tf::LookupResource(ctx, tf::HandleFromInput(ctx, t), &(*tables)[t])));
  }
  return Status();
}

inline std::vector<int64_t> DimsOf(const TableResources& tables) {
  std::vector<int64_t> dims;
  for (const auto& table : tables) dims.push_back(table->table()->dim());
  return dims;
}

// Gradients that came to a server: those of table t go to addresses[t].
struct ServedGradients {
  KeyedRows sums;
  std::vector<std::vector<int64_t>> addresses;

  GradientSegment<Value> of(int table) const {
    const bool distinct = true;  // As the keys of a request are.
    return {addresses[table].data(), sums.rows(table), sums.num_rows(table), distinct};
  }
};

// Reads the inputs `first` (request), `first` + 1 (the keys' addresses) and `packed`. Gradients of
// tables that are not `chosen` are InvalidArgument.
inline Status ReadGradients(tf::OpKernelContext* ctx, const TableResources& tables,
                            const std::vector<tf::int32>& chosen, int first, int packed,
                            ServedGradients* gradients) {
  Request request;
  EP_RETURN_IF_ERROR(ReadRequest(ctx, first, tables.size(), &request));
  EP_RETURN_IF_ERROR(ReadRows(ctx, packed, request, DimsOf(tables), &gradients->sums));
  const tf::Tensor& addresses = ctx->input(first + 1);
  if (addresses.dims() != 1 || addresses.NumElements() != request.num_keys()) {
    return Malformed(
        ctx, Error(Code::kInvalidArgument, "addresses has shape ", addresses.shape().DebugString(),
                   ", want one for each of ", request.num_keys(), " keys"));
  }
  const std::set<tf::int32> wanted(chosen.begin(), chosen.end());
  for (int t = 0; t < static_cast<int>(tables.size()); ++t) {
    if (wanted.count(t) > 0 || gradients->sums.num_rows(t) == 0) continue;
    return Error(Code::kInvalidArgument, "table '", tables[t]->name(),
                 "': ", gradients->sums.num_rows(t),
                 " gradients came in an update that is not for it");
  }
  gradients->addresses = AddressesOf(request, gradients->sums, Int64Data(addresses));
  return Status();
}

}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_EXCHANGE_SERVE_H_
