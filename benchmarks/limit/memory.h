// Memory that asks for huge pages, which is worth half as much again on random reads.
#ifndef ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_MEMORY_H_
#define ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_MEMORY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace limit {

// `count` values of T, zero until written.
template <typename T>
class Memory {
 public:
  explicit Memory(size_t count) : bytes_(count * sizeof(T) + kHugePage) {
    mapping_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) {
      std::perror("limit: cannot map memory");
      std::exit(1);
    }
    const size_t address = reinterpret_cast<size_t>(mapping_);
    data_ = reinterpret_cast<T*>((address + kHugePage - 1) / kHugePage * kHugePage);
    madvise(data_, count * sizeof(T), MADV_HUGEPAGE);
  }
  ~Memory() { munmap(mapping_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  T* data() { return data_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;

  const size_t bytes_;
  void* mapping_;
  T* data_;
};

}  // namespace limit

#endif  // ESTIMATOR_PLUGIN_BENCHMARKS_LIMIT_MEMORY_H_
