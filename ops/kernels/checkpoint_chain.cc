#include "checkpoint_chain.h"

#include <algorithm>
#include <utility>

#include "../core/hash.h"

#ifdef EP_HAS_TENSOR_BUNDLE

namespace estimator_plugin {
namespace {

// Parents are named relative to the checkpoint, so that a directory can be moved or copied.
std::string InDirectoryOf(const std::string& prefix, const std::string& parent) {
  const size_t slash = prefix.rfind('/');
  return slash == std::string::npos ? parent : prefix.substr(0, slash + 1) + parent;
}

Status CheckParentName(const std::string& table, const TableInCheckpoint& delta) {
  const std::string& parent = delta.meta().parent;
  if (parent.find('/') == std::string::npos && parent != "." && parent != "..") return Status();
  return Error(Code::kDataLoss, "table '", table, "': checkpoint '", delta.prefix(),
               "' names the parent '", parent, "'; a parent lies in the same directory");
}

Status CheckParent(const std::string& table, const TableInCheckpoint& delta,
                   const TableInCheckpoint& parent) {
  if (parent.meta().save_id != delta.meta().parent_id) {
    return Error(Code::kDataLoss, "table '", table, "': checkpoint '", delta.prefix(),
                 "' was saved after another '", parent.prefix(),
                 "' than the one that is there: save ", delta.meta().parent_id, ", found ",
                 parent.meta().save_id);
  }
  if (parent.meta().layout.dim != delta.meta().layout.dim ||
      parent.meta().num_buckets != delta.meta().num_buckets ||
      parent.meta().hash_version != delta.meta().hash_version) {
    return Error(Code::kDataLoss, "table '", table, "': checkpoint '", delta.prefix(),
                 "' and its parent '", parent.prefix(), "' differ in dim, buckets or hash");
  }
  return Status();
}

// Hands the buckets of one link, which make up a part, to the table.
Status LoadPart(TableInCheckpoint* link, ShardRange buckets, const RowLayout& layout, int part,
                int num_parts, TableResource* resource) {
  for (int64_t bucket = buckets.begin; bucket < buckets.end; ++bucket) {
    EP_RETURN_IF_ERROR(link->ReadBucket(
        static_cast<int>(bucket), [&](const RowTensors& rows, const tf::Tensor& removed) {
          return ImportTensors(resource, part, num_parts, layout, link->meta().layout.width(), rows,
                               removed);
        }));
  }
  return Status();
}

// The keys that wait for admission; each link of a chain holds all of them.
Status LoadWaiting(TableInCheckpoint* link, ShardRange buckets, int part, int num_parts,
                   TableResource* resource) {
  for (int64_t bucket = buckets.begin; bucket < buckets.end; ++bucket) {
    WaitingTensors waiting;
    EP_RETURN_IF_ERROR(link->ReadWaiting(static_cast<int>(bucket), &waiting));
    EP_RETURN_IF_ERROR(ImportWaiting(resource, part, num_parts, waiting));
  }
  return Status();
}

}  // namespace

Status TableInCheckpoint::Open(tf::Env* env, const std::string& table, const std::string& prefix,
                               std::unique_ptr<TableInCheckpoint>* opened) {
  std::unique_ptr<TableInCheckpoint> made(new TableInCheckpoint(env, table, prefix));
  tf::Tensor meta;
  EP_RETURN_IF_ERROR(made->readers_.ReadHead(table, &meta, &made->bank_));
  const std::string text(meta.scalar<tf::tstring>()());
  const Status parsed = ParseMeta(table, text, &made->meta_);
  if (!parsed.ok()) {
    return Error(parsed.code(), "checkpoint '", prefix, "': ", parsed.message());
  }
  *opened = std::move(made);
  return Status();
}

Status OpenChain(tf::Env* env, const std::string& table, const std::string& prefix,
                 CheckpointChain* chain) {
  chain->clear();
  std::unique_ptr<TableInCheckpoint> link;
  EP_RETURN_IF_ERROR(TableInCheckpoint::Open(env, table, prefix, &link));
  while (link->meta().is_delta()) {
    EP_RETURN_IF_ERROR(CheckParentName(table, *link));
    const std::string parent = InDirectoryOf(link->prefix(), link->meta().parent);
    chain->push_back(std::move(link));
    const auto is_parent = [&parent](const std::unique_ptr<TableInCheckpoint>& seen) {
      return seen->prefix() == parent;
    };
    if (std::any_of(chain->begin(), chain->end(), is_parent)) {
      return Error(Code::kDataLoss, "table '", table, "': checkpoint '", prefix,
                   "' is a delta of itself, by way of '", parent, "'");
    }
    const Status opened = TableInCheckpoint::Open(env, table, parent, &link);
    if (!opened.ok()) {
      return Error(opened.code(), "table '", table, "': checkpoint '", chain->back()->prefix(),
                   "' is a delta of '", parent, "', which cannot be read: ", opened.message());
    }
    EP_RETURN_IF_ERROR(CheckParent(table, *chain->back(), *link));
  }
  chain->push_back(std::move(link));
  std::reverse(chain->begin(), chain->end());
  return Status();
}

Status RestoreTable(tf::Env* env, const std::string& table, const std::string& prefix,
                    TableResource* resource, ParallelRunner* runner) {
  CheckpointChain chain;
  EP_RETURN_IF_ERROR(OpenChain(env, table, prefix, &chain));
  TableResource::Source source;
  source.meta = chain.back()->meta();
  source.saved = {source.meta.save_id, prefix};
  source.bank = chain.back()->bank();
  source.num_parts = source.meta.num_buckets;
  source.load_part = [&](int bucket) {
    for (const std::unique_ptr<TableInCheckpoint>& link : chain) {
      EP_RETURN_IF_ERROR(LoadPart(link.get(), {bucket, bucket + 1}, link->meta().layout, bucket,
                                  source.num_parts, resource));
    }
    return LoadWaiting(chain.back().get(), {bucket, bucket + 1}, bucket, source.num_parts,
                       resource);
  };
  return resource->Replace(source, runner);
}

Status LoadTable(tf::Env* env, const std::string& table, const std::string& prefix, bool with_slots,
                 TableResource* resource, ParallelRunner* runner) {
  CheckpointChain chain;
  EP_RETURN_IF_ERROR(OpenChain(env, table, prefix, &chain));
  const TableMeta& meta = chain.back()->meta();
  if (meta.layout.dim != resource->table()->dim()) {
    return Error(Code::kInvalidArgument, "table '", resource->name(), "' has dim ",
                 resource->table()->dim(), ", table '", table, "' of checkpoint '", prefix,
                 "' has dim ", meta.layout.dim);
  }
  if (meta.hash_version != kHashVersion) {
    return Error(Code::kInvalidArgument, "table '", table, "' of checkpoint '", prefix,
                 "' has hash version ", meta.hash_version, ", want ", kHashVersion);
  }
  const auto kept = [with_slots](const RowLayout& saved) {
    RowLayout layout;
    layout.dim = saved.dim;
    if (with_slots) layout.slots = saved.slots;
    return layout;
  };
  // Buckets are ranges of the hash, so a part of as many buckets as there are in the fewer of both
  // tables holds the same keys on both sides.
  const int num_parts = std::min(meta.num_buckets, resource->config().options.num_buckets);
  const auto load_part = [&](int part) {
    const ShardRange buckets = RangeOfShard(meta.num_buckets, num_parts, part);
    for (const std::unique_ptr<TableInCheckpoint>& link : chain) {
      EP_RETURN_IF_ERROR(
          LoadPart(link.get(), buckets, kept(link->meta().layout), part, num_parts, resource));
    }
    return LoadWaiting(chain.back().get(), buckets, part, num_parts, resource);
  };
  return resource->Load(kept(meta.layout), meta.admission, num_parts, runner, load_part);
}

}  // namespace estimator_plugin

#endif  // EP_HAS_TENSOR_BUNDLE
