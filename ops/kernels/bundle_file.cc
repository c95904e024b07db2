#include "bundle_file.h"

#include <algorithm>
#include <cstring>

#ifdef EP_HAS_TENSOR_BUNDLE

namespace estimator_plugin {

constexpr int64_t BundleFile::kBufferBytes;

Status BundleFile::Create(tf::Env* env, const std::string& path, int shard) {
  shard_ = shard;
  return FromTensorFlow(env->NewWritableFile(path, &file_));
}

Status BundleFile::Add(const std::string& name, const tf::Tensor& tensor) {
  if (entries_.count(name) > 0) {
    return Error(Code::kInvalidArgument, "two tensors are called ", name);
  }
  const int64_t begin = size_;
  crc_ = 0;
  if (tensor.dtype() == tf::DT_STRING) {
    EP_RETURN_IF_ERROR(WriteString(tensor.scalar<tf::tstring>()()));
  } else {
    const auto bytes = tensor.tensor_data();
    EP_RETURN_IF_ERROR(Write(bytes.data(), static_cast<int64_t>(bytes.size())));
  }
  tf::BundleEntryProto& entry = entries_[name];
  entry.set_dtype(tensor.dtype());
  tensor.shape().AsProto(entry.mutable_shape());
  entry.set_shard_id(shard_);
  entry.set_offset(begin);
  entry.set_size(size_ - begin);
  entry.set_crc32c(tf::crc32c::Mask(crc_));
  return Status();
}

// Through the buffer however much it is: rows may be updated while they are written.
Status BundleFile::Write(const char* data, int64_t bytes) {
  size_ += bytes;
  while (bytes > 0) {
    const int64_t n = std::min(bytes, kBufferBytes - filled_);
    char* const to = buffer_.data() + filled_;
    std::memcpy(to, data, n);
    crc_ = tf::crc32c::Extend(crc_, to, n);
    filled_ += n;
    data += n;
    bytes -= n;
    if (filled_ == kBufferBytes) EP_RETURN_IF_ERROR(Flush());
  }
  return Status();
}

// The length as a varint, a checksum of the length, the bytes. The tensor's own checksum takes the
// length as four bytes, and the first checksum too.
Status BundleFile::WriteString(const tf::tstring& text) {
  const uint32_t length = static_cast<uint32_t>(text.size());
  std::string varint;
  tf::core::PutVarint32(&varint, length);
  EP_RETURN_IF_ERROR(Write(varint.data(), static_cast<int64_t>(varint.size())));
  crc_ = tf::crc32c::Value(reinterpret_cast<const char*>(&length), sizeof(length));
  const uint32_t of_length = tf::crc32c::Mask(crc_);
  EP_RETURN_IF_ERROR(Write(reinterpret_cast<const char*>(&of_length), sizeof(of_length)));
  return Write(text.data(), length);
}

Status BundleFile::Flush() {
  const tf::StringPiece bytes(buffer_.data(), filled_);
  filled_ = 0;
  return FromTensorFlow(file_->Append(bytes));
}

Status BundleFile::Close() {
  EP_RETURN_IF_ERROR(Flush());
  return FromTensorFlow(file_->Close());
}

Status WriteBundleIndex(tf::Env* env, const std::string& path, int num_files,
                        const BundleEntries& entries) {
  std::unique_ptr<tf::WritableFile> file;
  EP_RETURN_IF_ERROR(FromTensorFlow(env->NewWritableFile(path, &file)));
  tf::table::Options options;
  options.compression = tf::table::kNoCompression;  // As BundleWriter's.
  tf::table::TableBuilder builder(options, file.get());
  tf::BundleHeaderProto header;
  header.set_num_shards(num_files);
  header.set_endianness(tf::port::kLittleEndian ? tf::BundleHeaderProto::LITTLE
                                                : tf::BundleHeaderProto::BIG);
  header.mutable_version()->set_producer(tf::kTensorBundleVersion);
  header.mutable_version()->set_min_consumer(tf::kTensorBundleMinConsumer);
  builder.Add(tf::kHeaderEntryKey, header.SerializeAsString());
  for (const auto& entry : entries) builder.Add(entry.first, entry.second.SerializeAsString());
  EP_RETURN_IF_ERROR(FromTensorFlow(builder.Finish()));
  return FromTensorFlow(file->Close());
}

}  // namespace estimator_plugin

#endif  // EP_HAS_TENSOR_BUNDLE
