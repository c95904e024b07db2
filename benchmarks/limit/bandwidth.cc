#include "bandwidth.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "memory.h"
#include "two_threads.h"

namespace limit {
namespace {

constexpr size_t kChunk = size_t{8} << 20;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Calls transfer(buffer, size) until `bytes` are through; false when it moves fewer than asked.
template <typename Transfer>
bool InChunks(size_t bytes, const Transfer& transfer) {
  Memory<char> buffer(kChunk);
  std::memset(buffer.data(), 1, kChunk);
  for (size_t done = 0; done < bytes;) {
    const size_t size = bytes - done < kChunk ? bytes - done : kChunk;
    if (transfer(buffer.data(), size) != static_cast<ssize_t>(size)) return false;
    done += size;
  }
  return true;
}

}  // namespace

double CopySeconds(size_t bytes) {
  Memory<char> from(bytes), to(bytes);
  std::memset(from.data(), 1, bytes);
  std::memset(to.data(), 2, bytes);
  TwoThreads threads;
  const double start = Now();
  threads.Run([&](int part) {
    std::memcpy(to.data() + bytes / 2 * part, from.data() + bytes / 2 * part, bytes / 2);
  });
  return Now() - start;
}

double WriteSeconds(const std::string& path, size_t bytes) {
  sync();
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return -1;
  const double start = Now();
  const bool whole =
      InChunks(bytes, [&](char* buffer, size_t n) { return write(file, buffer, n); });
  const double seconds = Now() - start;
  close(file);
  return whole ? seconds : -1;
}

double ReadSeconds(const std::string& path, size_t bytes) {
  const int file = open(path.c_str(), O_RDONLY);
  if (file < 0) return -1;
  const double start = Now();
  const bool whole = InChunks(bytes, [&](char* buffer, size_t n) { return read(file, buffer, n); });
  const double seconds = Now() - start;
  close(file);
  return whole ? seconds : -1;
}

}  // namespace limit
