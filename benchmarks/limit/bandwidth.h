// How fast this machine copies memory and moves bytes to and from a file.
#ifndef ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_BANDWIDTH_H_
#define ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_BANDWIDTH_H_

#include <cstddef>
#include <string>

namespace limit {

// Seconds that two threads take to copy `bytes` of memory.
double CopySeconds(size_t bytes);

// Seconds to write `bytes` to a new file, not waiting for the disk, as a Saver does not. The file
// stays for ReadSeconds. Negative when the file cannot be written.
double WriteSeconds(const std::string& path, size_t bytes);

// Seconds to read `bytes` back from the page cache. Negative when the file cannot be read.
double ReadSeconds(const std::string& path, size_t bytes);

}  // namespace limit

#endif  // ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_BANDWIDTH_H_
