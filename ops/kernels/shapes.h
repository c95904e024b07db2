// Pieces of shape functions that several table ops share.
#ifndef ESTIMATOR_PLUGIN_OPS_KERNELS_SHAPES_H_
#define ESTIMATOR_PLUGIN_OPS_KERNELS_SHAPES_H_

#include "tf_compat.h"

namespace estimator_plugin {
namespace shapes {

using tf::shape_inference::DimensionHandle;
using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

// Input 0 is a scalar handle.
tf::Status CheckHandle(InferenceContext* c);

// An op with a handle and nothing else: no outputs, or scalars only.
tf::Status ScalarOutputs(InferenceContext* c);

// The attr `dim`, checked against the table's when the handle's op tells it.
tf::Status DimAttr(InferenceContext* c, DimensionHandle* dim);

// The table's dim if the handle's op tells it, else unknown.
DimensionHandle DimOfHandle(InferenceContext* c);

// Input `index` is [0] or [dim].
tf::Status CheckDefaultRow(InferenceContext* c, int index, DimensionHandle dim);

// Output `output` has the shape of input `input` + [dim].
tf::Status RowsLike(InferenceContext* c, int input, DimensionHandle dim, int output);

}  // namespace shapes
}  // namespace estimator_plugin

#endif  // ESTIMATOR_PLUGIN_OPS_KERNELS_SHAPES_H_
