// The update: one step of each row that occurs in a CSR buffer.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_APPLY_GRADIENT_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_APPLY_GRADIENT_H_

#include <cstdint>
#include <vector>

#include "../parallel.h"
#include "../update_rule.h"
#include "csr_view.h"

namespace estimator_plugin {
namespace sparse_core {

// `parts` are the table and the rule's slots, each laid out as Matmul's table; `gradients` are
// those of its activations. A row's gradient is the sum of gain times gradient over its
// occurrences, by core, minibatch and place, whatever the threads.
void ApplyGradient(const CsrView& csr, const float* gradients, int64_t width,
                   const UpdateRule<float>& rule, const std::vector<float*>& parts,
                   ParallelRunner* runner);

}  // namespace sparse_core
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_SPARSE_CORE_APPLY_GRADIENT_H_
