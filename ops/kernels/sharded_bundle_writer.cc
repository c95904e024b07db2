#include "sharded_bundle_writer.h"

#ifdef EP_HAS_TENSOR_BUNDLE

namespace estimator_plugin {
namespace {

// Waking a thread takes as long as writing a small bucket: so many bytes are worth it.
constexpr int64_t kBytesAtOnce = 1 << 20;

std::string Unfinished(const std::string& path) { return path + ".unfinished"; }

Status MakeDirectory(tf::Env* env, const std::string& path) {
  const tf::Status made = env->CreateDir(path);
  return tf::errors::IsAlreadyExists(made) ? Status() : FromTensorFlow(made);
}

}  // namespace

ShardedBundleWriter::ShardedBundleWriter(tf::Env* env, const std::string& prefix, int num_shards,
                                         tf::thread::ThreadPool* threads)
    : env_(env), index_path_(tf::MetaFilename(prefix)), threads_(threads), shards_(num_shards) {
  const std::string directory(tf::io::Dirname(prefix));
  const Status made = directory.empty() ? Status() : MakeDirectory(env, directory);
  for (int i = 0; i < num_shards; ++i) {
    Shard& shard = shards_[i];
    shard.path = tf::DataFilename(prefix, i, num_shards);
    shard.status = made.ok() ? shard.file.Create(env, Unfinished(shard.path), i) : made;
  }
}

ShardedBundleWriter::~ShardedBundleWriter() {
  if (finished_) return;
  for (Shard& shard : shards_) {
    const Status written = Wait(&shard);
    VLOG(1) << "giving up " << shard.path << ": " << written.message();
    Remove(Unfinished(shard.path));
  }
  Remove(Unfinished(index_path_));
  for (const std::string& path : renamed_) Remove(path);
}

Status ShardedBundleWriter::Wait(Shard* shard) {
  std::unique_lock<std::mutex> lock(mutex_);
  idle_.wait(lock, [shard] { return !shard->busy; });
  return shard->status;
}

Status ShardedBundleWriter::Start(Shard* shard, std::function<Status(BundleFile*)> work) {
  EP_RETURN_IF_ERROR(Wait(shard));
  shard->busy = true;  // No other thread looks at an idle shard.
  threads_->Schedule([this, shard, work = std::move(work)]() mutable {
    const Status status = work(&shard->file);
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
  return Start(shard, [tensors = std::move(tensors)](BundleFile* file) {
    for (const auto& named : tensors) {
      EP_RETURN_IF_ERROR(file->Add(named.first, named.second));
    }
    return Status();
  });
}

Status ShardedBundleWriter::Finish() {
  for (Shard& shard : shards_) EP_RETURN_IF_ERROR(WriteGathered(&shard));
  for (Shard& shard : shards_) {
    EP_RETURN_IF_ERROR(Start(&shard, [](BundleFile* file) { return file->Close(); }));
  }
  EP_RETURN_IF_ERROR(WriteIndex());
  std::vector<std::string> paths;
  for (const Shard& shard : shards_) paths.push_back(shard.path);
  paths.push_back(index_path_);  // Last: with it the bundle is there.
  for (const std::string& path : paths) {
    EP_RETURN_IF_ERROR(FromTensorFlow(env_->RenameFile(Unfinished(path), path)));
    renamed_.push_back(path);
  }
  finished_ = true;
  return Status();
}

Status ShardedBundleWriter::WriteIndex() {
  BundleEntries all;
  for (Shard& shard : shards_) {
    EP_RETURN_IF_ERROR(Wait(&shard));
    all.insert(shard.file.entries().begin(), shard.file.entries().end());
  }
  return WriteBundleIndex(env_, Unfinished(index_path_), num_shards(), all);
}

void ShardedBundleWriter::Remove(const std::string& path) {
  const Status removed = FromTensorFlow(env_->DeleteFile(path));
  VLOG(1) << "removing " << path << ": " << removed.message();
}

}  // namespace estimator_plugin

#endif  // EP_HAS_TENSOR_BUNDLE
