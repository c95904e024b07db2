// EpRouteKeys, EpUnpackRows, EpPackGradients: the worker's side of tables on parameter servers.

#include <limits>
#include <string>
#include <vector>

#include "../core/exchange_gradients.h"
#include "../core/exchange_route.h"
#include "../core/exchange_rows.h"
#include "../core/row_layout.h"
#include "../core/scratch.h"
#include "exchange_inputs.h"
#include "intra_op_runner.h"
#include "shapes.h"
#include "table_kernel.h"
#include "tf_compat.h"

namespace estimator_plugin {
namespace {

using tf::shape_inference::InferenceContext;
using tf::shape_inference::ShapeHandle;

// Attrs of an exchange, checked once for the shape function and once for the kernel.
Status CheckTables(const std::vector<tf::int32>& tables, int num_tables, int64_t wanted) {
  if (static_cast<int64_t>(tables.size()) != wanted) {
    return Error(Code::kInvalidArgument, "table_of has ", tables.size(), " entries, want ", wanted);
  }
  for (tf::int32 table : tables) {
    if (table < 0 || table >= num_tables) {
      return Error(Code::kInvalidArgument, "table_of has ", table, ", the tables are 0 to ",
                   num_tables - 1);
    }
  }
  return Status();
}

Status CheckDims(const std::vector<tf::int32>& dims) {
  for (tf::int32 dim : dims) {
    if (dim < 1 || dim > kMaxDim) {
      return Error(Code::kInvalidArgument, "dims has ", dim, "; they must be from 1 to ", kMaxDim);
    }
  }
  return Status();
}

template <typename Context>
struct RouteAttrs {
  explicit RouteAttrs(Context* ctx)
      : table_of(AttrOf<std::vector<tf::int32>>(ctx, "table_of")),
        num_buckets(AttrOf<std::vector<tf::int32>>(ctx, "num_buckets")),
        counted(AttrOf<std::vector<bool>>(ctx, "counted")),
        num_lookups(AttrOf<tf::int32>(ctx, "L")),
        num_servers(AttrOf<tf::int32>(ctx, "S")) {}

  Status Routes(KeyRoutes* routes) const {
    const int num_tables = static_cast<int>(num_buckets.size());
    if (counted.size() != num_buckets.size() || num_tables == 0) {
      return Error(Code::kInvalidArgument, "num_buckets and counted have ", num_tables, " and ",
                   counted.size(), " entries, want one for each table");
    }
    EP_RETURN_IF_ERROR(CheckTables(table_of, num_tables, num_lookups));
    std::vector<RoutedTable> tables;
    for (int t = 0; t < num_tables; ++t) tables.push_back({num_buckets[t], counted[t]});
    return KeyRoutes::Create(tables, num_servers, routes);
  }

  std::vector<tf::int32> table_of;
  std::vector<tf::int32> num_buckets;
  std::vector<bool> counted;
  int num_lookups;
  int num_servers;
};

tf::Status RouteKeysShape(InferenceContext* c) {
  const RouteAttrs<InferenceContext> attrs(c);
  KeyRoutes routes;
  TF_RETURN_IF_ERROR(ToTensorFlow(attrs.Routes(&routes)));
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
  for (int s = 0; s < attrs.num_servers; ++s) {
    c->set_output(s, c->Vector(InferenceContext::kUnknownDim));
  }
  for (int i = 0; i < attrs.num_lookups; ++i) {
    c->set_output(attrs.num_servers + i, c->input(1 + i));
  }
  return tf::Status();
}

class RouteKeysOp : public StatusKernel {
 public:
  explicit RouteKeysOp(tf::OpKernelConstruction* ctx) : StatusKernel(ctx), attrs_(ctx) {
    if (!ctx->status().ok()) return;
    const Status made = attrs_.Routes(&routes_);
    if (!made.ok()) ctx->CtxFailure(ToTensorFlow(made));
  }

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    const tf::Tensor& now = ctx->input(0);
    if (now.dims() != 0) {
      return Error(Code::kInvalidArgument, "EpRouteKeys: now has shape ", now.shape().DebugString(),
                   ", want a scalar");
    }
    std::vector<RoutedLookup> lookups;
    int64_t total = 0;
    for (int i = 0; i < attrs_.num_lookups; ++i) {
      const tf::Tensor& keys = ctx->input(1 + i);
      tf::Tensor* positions = nullptr;
      EP_RETURN_IF_ERROR(AllocateOutput(ctx, attrs_.num_servers + i, keys.shape(), &positions));
      lookups.push_back(
          {attrs_.table_of[i], Int64Data(keys), keys.NumElements(), Int64Data(positions)});
      total += keys.NumElements();
    }
    if (total > std::numeric_limits<int32_t>::max()) {
      return Error(Code::kInvalidArgument, "EpRouteKeys: ", total,
                   " keys in all, want fewer than 2^31");
    }
    IntraOpRunner runner(ctx);
    ScratchPool<KeyRouter>::Lease router(ScratchPool<KeyRouter>::Global());
    router->Route(routes_, lookups, &runner);
    for (int s = 0; s < attrs_.num_servers; ++s) {
      const Request request = router->RequestTo(s, *Int64Data(now));
      tf::Tensor* words = nullptr;
      EP_RETURN_IF_ERROR(AllocateOutput(ctx, s, tf::TensorShape({RequestWords(request)}), &words));
      WriteRequest(request, Int64Data(words));
    }
    return Status();
  }

  const RouteAttrs<tf::OpKernelConstruction> attrs_;
  KeyRoutes routes_;
};

// Inputs: S responses, S requests, positions, default row, anchor.
tf::Status UnpackRowsShape(InferenceContext* c) {
  const auto dims = AttrOf<std::vector<tf::int32>>(c, "dims");
  const int table = AttrOf<tf::int32>(c, "table");
  const int positions = 2 * AttrOf<tf::int32>(c, "S");
  TF_RETURN_IF_ERROR(ToTensorFlow(CheckTables({table}, static_cast<int>(dims.size()), 1)));
  TF_RETURN_IF_ERROR(ToTensorFlow(CheckDims(dims)));
  ShapeHandle unused;
  for (int i = 0; i < positions; ++i) TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 1, &unused));
  const auto dim = c->MakeDim(dims[table]);
  TF_RETURN_IF_ERROR(shapes::CheckDefaultRow(c, positions + 1, dim));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(positions + 2), 0, &unused));
  return shapes::RowsLike(c, positions, dim, 0);
}

class UnpackRowsOp : public StatusKernel {
 public:
  explicit UnpackRowsOp(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx),
        num_servers_(AttrOf<tf::int32>(ctx, "S")),
        table_(AttrOf<tf::int32>(ctx, "table")),
        dims_(DimsAttr(ctx)) {}

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    std::vector<Request> requests(num_servers_);
    std::vector<KeyedRows> responses(num_servers_);
    for (int s = 0; s < num_servers_; ++s) {
      EP_RETURN_IF_ERROR(ReadRequest(ctx, num_servers_ + s, dims_.size(), &requests[s]));
      EP_RETURN_IF_ERROR(ReadRows(ctx, s, requests[s], dims_, &responses[s]));
    }
    const tf::Tensor& positions = ctx->input(2 * num_servers_);
    const tf::Tensor& given = ctx->input(2 * num_servers_ + 1);
    const int64_t dim = dims_[table_];
    if (given.dims() != 1 || (given.NumElements() != 0 && given.NumElements() != dim)) {
      return Malformed(ctx, Error(Code::kInvalidArgument, "default_row has shape ",
                                  given.shape().DebugString(), ", want [0] or [", dim, "]"));
    }
    const std::vector<Value> zeros(given.NumElements() == 0 ? dim : 0);
    tf::TensorShape shape = positions.shape();
    shape.AddDim(dim);
    tf::Tensor* embeddings = nullptr;
    EP_RETURN_IF_ERROR(AllocateOutput(ctx, 0, shape, &embeddings));
    IntraOpRunner runner(ctx);
    return Malformed(ctx, UnpackRows(requests, responses, table_, dim, Int64Data(positions),
                                     positions.NumElements(),
                                     zeros.empty() ? given.flat<Value>().data() : zeros.data(),
                                     embeddings->flat<Value>().data(), &runner));
  }

  const int num_servers_;
  const int table_;
  const std::vector<int64_t> dims_;
};

// Inputs: S requests, M positions, M gradients.
tf::Status PackGradientsShape(InferenceContext* c) {
  const auto dims = AttrOf<std::vector<tf::int32>>(c, "dims");
  const auto table_of = AttrOf<std::vector<tf::int32>>(c, "table_of");
  const auto names = AttrOf<std::vector<std::string>>(c, "table_names");
  const int servers = AttrOf<tf::int32>(c, "S");
  const int segments = AttrOf<tf::int32>(c, "M");
  TF_RETURN_IF_ERROR(ToTensorFlow(CheckTables(table_of, static_cast<int>(dims.size()), segments)));
  TF_RETURN_IF_ERROR(ToTensorFlow(CheckDims(dims)));
  if (names.size() != dims.size()) {
    return ToTensorFlow(Error(Code::kInvalidArgument, "table_names and dims have ", names.size(),
                              " and ", dims.size(), " entries, want one for each table"));
  }
  for (int m = 0; m < segments; ++m) {
    ShapeHandle wanted;
    ShapeHandle unused;
    TF_RETURN_IF_ERROR(
        c->Concatenate(c->input(servers + m), c->Vector(dims[table_of[m]]), &wanted));
    TF_RETURN_IF_ERROR(c->Merge(c->input(servers + segments + m), wanted, &unused));
  }
  for (int s = 0; s < servers; ++s) c->set_output(s, c->Vector(InferenceContext::kUnknownDim));
  return tf::Status();
}

class PackGradientsOp : public StatusKernel {
 public:
  explicit PackGradientsOp(tf::OpKernelConstruction* ctx)
      : StatusKernel(ctx),
        num_servers_(AttrOf<tf::int32>(ctx, "S")),
        num_segments_(AttrOf<tf::int32>(ctx, "M")),
        table_of_(AttrOf<std::vector<tf::int32>>(ctx, "table_of")),
        dims_(DimsAttr(ctx)),
        table_names_(AttrOf<std::vector<std::string>>(ctx, "table_names")),
        reject_(AttrOf<std::string>(ctx, "on_non_finite") == "reject") {}

 private:
  Status Run(tf::OpKernelContext* ctx) override {
    std::vector<Request> requests(num_servers_);
    for (int s = 0; s < num_servers_; ++s) {
      EP_RETURN_IF_ERROR(ReadRequest(ctx, s, dims_.size(), &requests[s]));
    }
    std::vector<PositionedGradients> gradients;
    EP_RETURN_IF_ERROR(ReadGradients(ctx, &gradients));
    ScratchPool<GradientPacker>::Lease packer(ScratchPool<GradientPacker>::Global());
    EP_RETURN_IF_ERROR(Malformed(ctx, packer->Begin(requests, dims_, gradients)));
    std::vector<Value*> packed;
    for (int s = 0; s < num_servers_; ++s) {
      tf::Tensor* output = nullptr;
      EP_RETURN_IF_ERROR(AllocateOutput(ctx, s, tf::TensorShape({packer->words(s)}), &output));
      packed.push_back(output->flat<Value>().data());
    }
    IntraOpRunner runner(ctx);
    packer->Pack(packed, &runner);
    return reject_ ? packer->CheckFinite(table_names_) : Status();
  }

  Status ReadGradients(tf::OpKernelContext* ctx,
                       std::vector<PositionedGradients>* gradients) const {
    for (int m = 0; m < num_segments_; ++m) {
      const tf::Tensor& positions = ctx->input(num_servers_ + m);
      const tf::Tensor& values = ctx->input(num_servers_ + num_segments_ + m);
      tf::TensorShape wanted = positions.shape();
      wanted.AddDim(dims_[table_of_[m]]);
      if (values.shape() != wanted) {
        return Error(Code::kInvalidArgument, "table '", table_names_[table_of_[m]], "': gradients[",
                     m, "] has shape ", values.shape().DebugString(), ", want ",
                     wanted.DebugString());
      }
      gradients->push_back(
          {table_of_[m],
           {Int64Data(positions), values.flat<Value>().data(), positions.NumElements()}});
    }
    return Status();
  }

  const int num_servers_;
  const int num_segments_;
  const std::vector<tf::int32> table_of_;
  const std::vector<int64_t> dims_;
  const std::vector<std::string> table_names_;
  const bool reject_;
};

REGISTER_KERNEL_BUILDER(Name("EpRouteKeys").Device(tf::DEVICE_CPU), RouteKeysOp);
REGISTER_KERNEL_BUILDER(Name("EpUnpackRows").Device(tf::DEVICE_CPU), UnpackRowsOp);
REGISTER_KERNEL_BUILDER(Name("EpPackGradients").Device(tf::DEVICE_CPU), PackGradientsOp);

}  // namespace

REGISTER_OP("EpRouteKeys")
    .Input("now: int64")
    .Input("keys: L * int64")
    .Attr("L: int >= 1")
    .Attr("S: int >= 1")
    .Attr("table_of: list(int)")
    .Attr("num_buckets: list(int)")
    .Attr("counted: list(bool)")
    .Output("requests: S * int64")
    .Output("positions: L * int64")
    .SetShapeFn(RouteKeysShape)
    .Doc("The distinct keys of lookups as requests to servers, and where each key is in them.");

REGISTER_OP("EpUnpackRows")
    .Input("responses: S * float")
    .Input("requests: S * int64")
    .Input("positions: int64")
    .Input("default_row: float")
    .Input("anchor: float")
    .Attr("S: int >= 1")
    .Attr("table: int >= 0")
    .Attr("dims: list(int)")
    .Output("embeddings: float")
    .SetShapeFn(UnpackRowsShape)
    .Doc(
        "The embeddings of one lookup, from the answers to all. The gradient with respect to the "
        "anchor is that with respect to the table, over positions.");

REGISTER_OP("EpPackGradients")
    .Input("requests: S * int64")
    .Input("positions: M * int64")
    .Input("gradients: M * float")
    .Attr("S: int >= 1")
    .Attr("M: int >= 1")
    .Attr("table_of: list(int)")
    .Attr("dims: list(int)")
    .Attr("table_names: list(string)")
    .Attr("on_non_finite: {'reject', 'skip'} = 'reject'")
    .Output("packed: S * float")
    .SetShapeFn(PackGradientsShape)
    .Doc("The summed gradient of each key that has one, for the server that has its row.");

}  // namespace estimator_plugin
