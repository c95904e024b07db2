#include "shapes.h"

namespace estimator_plugin {
namespace shapes {

tf::Status CheckHandle(InferenceContext* c) {
  ShapeHandle unused;
  return c->WithRank(c->input(0), 0, &unused);
}

tf::Status ScalarOutputs(InferenceContext* c) {
  TF_RETURN_IF_ERROR(CheckHandle(c));
  for (int i = 0; i < c->num_outputs(); ++i) c->set_output(i, c->Scalar());
  return tf::Status();
}

DimensionHandle DimOfHandle(InferenceContext* c) {
  const auto* handle_data = c->input_handle_shapes_and_types(0);
  if (handle_data == nullptr || handle_data->size() != 1) return c->UnknownDim();
  const ShapeHandle rows = (*handle_data)[0].shape;
  return c->RankKnown(rows) && c->Rank(rows) == 2 ? c->Dim(rows, 1) : c->UnknownDim();
}

tf::Status DimAttr(InferenceContext* c, DimensionHandle* dim) {
  TF_RETURN_IF_ERROR(CheckHandle(c));
  TfInt64 value = 0;
  TF_RETURN_IF_ERROR(c->GetAttr("dim", &value));
  const DimensionHandle of_handle = DimOfHandle(c);
  if (c->ValueKnown(of_handle) && c->Value(of_handle) != value) {
    return ToTensorFlow(Error(Code::kInvalidArgument, "dim is ", value, ", the table's dim is ",
                              c->Value(of_handle)));
  }
  *dim = c->MakeDim(value);
  return tf::Status();
}

tf::Status CheckDefaultRow(InferenceContext* c, int index, DimensionHandle dim) {
  ShapeHandle row;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(index), 1, &row));
  const DimensionHandle size = c->Dim(row, 0);
  if (c->ValueKnown(size) && c->Value(size) != 0 && c->Value(size) != c->Value(dim)) {
    return ToTensorFlow(Error(Code::kInvalidArgument, "default_row has ", c->Value(size),
                              " values, want 0 (zeros) or dim = ", c->Value(dim)));
  }
  return tf::Status();
}

tf::Status RowsLike(InferenceContext* c, int input, DimensionHandle dim, int output) {
  ShapeHandle rows;
  TF_RETURN_IF_ERROR(c->Concatenate(c->input(input), c->Vector(dim), &rows));
  c->set_output(output, rows);
  return tf::Status();
}

}  // namespace shapes
}  // namespace estimator_plugin
