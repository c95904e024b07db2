#include "sharded_bundle_writer.h"

#ifdef EP_HAS_TENSOR_BUNDLE

namespace estimator_plugin {

ShardedBundleWriter::ShardedBundleWriter(tf::Env* env, const std::string& prefix, int num_shards,
                                         tf::thread::ThreadPool* threads)
    : env_(env),
      prefix_(prefix),
      replaces_(env->FileExists(prefix + ".index").ok()),
      threads_(threads),
      shards_(num_shards) {
  for (int i = 0; i < num_shards; ++i) {
    Shard& shard = shards_[i];
    shard.prefix = prefix + "_shard-" + std::to_string(i);
    shard.writer.reset(new tf::BundleWriter(env, shard.prefix));
    shard.status = FromTensorFlow(shard.writer->status());
  }
}

ShardedBundleWriter::~ShardedBundleWriter() {
  if (finished_) return;
  for (Shard& shard : shards_) {
    const Status written = Wait(&shard);
    // Also after an error: it closes the file, and removes it if it is unfinished.
    const Status closed = FromTensorFlow(shard.writer->Finish());
    VLOG(1) << "giving up " << shard.prefix << ": " << written.message() << closed.message();
    RemoveFiles(shard.prefix);
  }
  if (!replaces_) RemoveFiles(prefix_);
}

Status ShardedBundleWriter::Wait(Shard* shard) {
  std::unique_lock<std::mutex> lock(mutex_);
  idle_.wait(lock, [shard] { return !shard->busy; });
  return shard->status;
}

Status ShardedBundleWriter::Add(int index, NamedTensors tensors) {
  Shard* const shard = &shards_[index];
  EP_RETURN_IF_ERROR(Wait(shard));
  shard->busy = true;  // No other thread looks at an idle shard.
  threads_->Schedule([this, shard, tensors = std::move(tensors)]() mutable {
    Status status;
    for (auto& named : tensors) {
      if (status.ok()) status = FromTensorFlow(shard->writer->Add(named.first, named.second));
    }
    tensors.clear();  // Before the next set may come.
    std::lock_guard<std::mutex> lock(mutex_);
    shard->status = status;
    shard->busy = false;
    idle_.notify_all();
  });
  return Status();
}

Status ShardedBundleWriter::Finish() {
  std::vector<tf::tstring> prefixes;
  for (Shard& shard : shards_) {
    EP_RETURN_IF_ERROR(Wait(&shard));
    prefixes.emplace_back(shard.prefix);
  }
  for (Shard& shard : shards_) EP_RETURN_IF_ERROR(FromTensorFlow(shard.writer->Finish()));
  EP_RETURN_IF_ERROR(FromTensorFlow(tf::MergeBundles(env_, prefixes, prefix_)));
  finished_ = true;
  return Status();
}

// By listing, not by name: an unfinished file has a random suffix.
void ShardedBundleWriter::RemoveFiles(const std::string& prefix) {
  std::string directory(tf::io::Dirname(prefix));
  if (directory.empty()) directory = ".";
  const std::string base(tf::io::Basename(prefix));
  std::vector<std::string> names;
  const Status listed = FromTensorFlow(env_->GetChildren(directory, &names));
  VLOG(1) << "files in " << directory << ": " << names.size() << listed.message();
  for (const std::string& name : names) {
    if (name.compare(0, base.size() + 6, base + ".index") != 0 &&
        name.compare(0, base.size() + 6, base + ".data-") != 0) {
      continue;
    }
    const Status removed = FromTensorFlow(env_->DeleteFile(tf::io::JoinPath(directory, name)));
    VLOG(1) << "removing " << name << ": " << removed.message();
  }
}

}  // namespace estimator_plugin

#endif  // EP_HAS_TENSOR_BUNDLE
