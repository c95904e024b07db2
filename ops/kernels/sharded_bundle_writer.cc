#include "sharded_bundle_writer.h"

#ifdef EP_HAS_TENSOR_BUNDLE

namespace estimator_plugin {
namespace {

// Waking a thread takes as long as writing a small bucket: so many bytes are worth it.
constexpr int64_t kBytesAtOnce = 1 << 20;

}  // namespace

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

Status ShardedBundleWriter::Start(Shard* shard, std::function<Status(tf::BundleWriter*)> work) {
  EP_RETURN_IF_ERROR(Wait(shard));
  shard->busy = true;  // No other thread looks at an idle shard.
  threads_->Schedule([this, shard, work = std::move(work)]() mutable {
    const Status status = work(shard->writer.get());
    work = nullptr;  // Before the next may come: it holds tensors.
    std::lock_guard<std::mutex> lock(mutex_);
    shard->status = status;
    shard->busy = false;
    idle_.notify_all();
  });
  return Status();
}

Status ShardedBundleWriter::Add(int index, NamedTensors tensors) {
  Shard* const shard = &shards_[index];
  for (auto& named : tensors) {
    shard->gathered_bytes += static_cast<int64_t>(named.second.TotalBytes());
    shard->gathered.push_back(std::move(named));
  }
  return shard->gathered_bytes < kBytesAtOnce ? Status() : WriteGathered(shard);
}

Status ShardedBundleWriter::WriteGathered(Shard* shard) {
  NamedTensors tensors;
  tensors.swap(shard->gathered);
  shard->gathered_bytes = 0;
  return Start(shard, [tensors = std::move(tensors)](tf::BundleWriter* writer) {
    for (const auto& named : tensors) {
      EP_RETURN_IF_ERROR(FromTensorFlow(writer->Add(named.first, named.second)));
    }
    return Status();
  });
}

Status ShardedBundleWriter::Finish() {
  // At once: a writer keeps the last megabytes to itself until then, of a delta all there is.
  const auto finish = [](tf::BundleWriter* writer) { return FromTensorFlow(writer->Finish()); };
  for (Shard& shard : shards_) EP_RETURN_IF_ERROR(WriteGathered(&shard));
  for (Shard& shard : shards_) EP_RETURN_IF_ERROR(Start(&shard, finish));
  std::vector<tf::tstring> prefixes;
  for (Shard& shard : shards_) {
    EP_RETURN_IF_ERROR(Wait(&shard));
    prefixes.emplace_back(shard.prefix);
  }
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
