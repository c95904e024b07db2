// The machine's limit: what two threads of plain C++ need for the same work.
//
//   limit DIM ROWS OPTIMIZER SAMPLES IDS_FILE SCRATCH_FILE
//
// IDS_FILE holds the warm ids as raw int64, batch after batch. Answers requests on stdin like every
// measuring process (channel.py). Measures:
//
//   lookup         embeddings of one batch
//   train          lookup, gradient sums and one update a row
//   insert, grow   rows only, and whole steps, on ids never seen, into an index sized beforehand
//   copy           256 MiB of memory, by two threads
//   write, read    512 MiB to SCRATCH_FILE and back, through the page cache
//   write-table, read-table    likewise, as many bytes as a checkpoint of insert's table has
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bandwidth.h"
#include "rules.h"
#include "sparse_step.h"

namespace limit {
namespace {

constexpr size_t kFeatures = 26;
constexpr uint64_t kFirstFreshRank = 20000000;
constexpr size_t kCopyBytes = size_t{256} << 20;
constexpr size_t kFileBytes = size_t{512} << 20;

struct Arguments {
  int dim;
  size_t rows;
  std::string optimizer;
  size_t batch;
  std::string ids_file;
  std::string scratch_file;
};

int64_t IdOfRank(uint64_t rank) { return static_cast<int64_t>(Mix(rank) >> 1); }

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<int64_t> ReadIds(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<int64_t> ids(file ? static_cast<size_t>(file.tellg()) / sizeof(int64_t) : 0);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(ids.data()), ids.size() * sizeof(int64_t));
  if (!file || ids.empty()) {
    std::cerr << "limit: cannot read ids from " << path << "\n";
    std::exit(1);
  }
  return ids;
}

// Calls step() for about `seconds`, five times at least; two calls before do not count.
std::vector<double> TimeSteps(double seconds, const std::function<void()>& step) {
  step();
  step();
  std::vector<double> durations;
  const double deadline = Now() + seconds;
  while (durations.size() < 5 || Now() < deadline) {
    const double start = Now();
    step();
    durations.push_back(Now() - start);
  }
  return durations;
}

template <int kDim, typename Rule>
class Measures {
 public:
  explicit Measures(const Arguments& arguments)
      : arguments_(arguments), ids_(ReadIds(arguments.ids_file)), table_(MakeTable()) {
    std::vector<int64_t> resident(arguments.rows);
    for (size_t rank = 0; rank < resident.size(); ++rank) resident[rank] = IdOfRank(rank);
    // Popular rows must not lie side by side.
    std::shuffle(resident.begin(), resident.end(), std::mt19937_64(5));
    TwoThreads threads;
    for (size_t i = 0; i < resident.size(); i += arguments.batch) {
      const size_t n = std::min(arguments.batch, resident.size() - i);
      table_->Insert(resident.data() + i, n, &threads);
    }
  }

  std::vector<double> Measure(const std::string& name, double seconds) {
    if (name == "copy") return {CopySeconds(kCopyBytes)};
    if (name == "write") return {WriteSeconds(arguments_.scratch_file, kFileBytes)};
    if (name == "read") return {ReadSeconds(arguments_.scratch_file, kFileBytes)};
    if (name == "write-table") return {WriteSeconds(arguments_.scratch_file, TableBytes())};
    if (name == "read-table") return {ReadSeconds(arguments_.scratch_file, TableBytes())};
    if (name == "insert" || name == "grow") return Grow(name == "grow");
    TwoThreads threads;
    return TimeSteps(seconds, [&] {
      table_->Lookup(NextBatch(), &threads);
      if (name == "train") table_->Update(&threads);
    });
  }

 private:
  using Table = SparseStep<kDim, Rule>;

  std::unique_ptr<Table> MakeTable() const {
    return std::unique_ptr<Table>(new Table(arguments_.rows, arguments_.batch));
  }

  const int64_t* NextBatch() {
    next_ = (next_ + 1) % (ids_.size() / arguments_.batch);
    return ids_.data() + next_ * arguments_.batch;
  }

  size_t GrowSteps() const { return (arguments_.rows + arguments_.batch - 1) / arguments_.batch; }

  size_t TableBytes() const {
    constexpr size_t kPerRow = 8 + 4 + 8;  // Key, count and time of last use.
    return GrowSteps() * arguments_.batch * (kPerRow + Table::kWidth * sizeof(float));
  }

  std::vector<double> Grow(bool whole_steps) {
    const size_t batch = arguments_.batch;
    const size_t steps = GrowSteps();
    Table table(steps * batch, batch);
    TwoThreads threads;
    std::vector<double> durations;
    std::vector<int64_t> keys(batch);
    for (size_t step = 0; step < steps; ++step) {
      for (size_t i = 0; i < batch; ++i) keys[i] = IdOfRank(kFirstFreshRank + step * batch + i);
      const double start = Now();
      table.Insert(keys.data(), batch, &threads);
      if (whole_steps) {
        table.Lookup(keys.data(), &threads);
        table.Update(&threads);
      }
      durations.push_back(Now() - start);
    }
    return durations;
  }

  const Arguments arguments_;
  const std::vector<int64_t> ids_;
  size_t next_ = 0;
  std::unique_ptr<Table> table_;
};

template <int kDim, typename Rule>
int Serve(const Arguments& arguments) {
  Measures<kDim, Rule> measures(arguments);
  std::cout << "{\"measures\": [\"lookup\", \"train\", \"insert\", \"grow\", \"copy\", "
               "\"write\", \"read\", \"write-table\", \"read-table\"]}"
            << std::endl;
  std::string name;
  double seconds;
  while (std::cin >> name >> seconds) {
    const std::vector<double> durations = measures.Measure(name, seconds);
    std::cout << "{\"seconds\": [";
    for (size_t i = 0; i < durations.size(); ++i) std::cout << (i ? ", " : "") << durations[i];
    std::cout << "]}" << std::endl;
  }
  std::remove(arguments.scratch_file.c_str());
  return 0;
}

template <int kDim>
int ServeOptimizer(const Arguments& arguments) {
  if (arguments.optimizer == "sgd") return Serve<kDim, Sgd>(arguments);
  if (arguments.optimizer == "adagrad") return Serve<kDim, Adagrad>(arguments);
  if (arguments.optimizer == "adam") return Serve<kDim, Adam>(arguments);
  std::cerr << "limit: OPTIMIZER is " << arguments.optimizer << ", not sgd, adagrad or adam\n";
  return 2;
}

}  // namespace
}  // namespace limit

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "usage: limit DIM ROWS OPTIMIZER SAMPLES IDS_FILE SCRATCH_FILE\n";
    return 2;
  }
  const limit::Arguments arguments{std::atoi(argv[1]),
                                   std::strtoull(argv[2], nullptr, 10),
                                   argv[3],
                                   std::strtoull(argv[4], nullptr, 10) * limit::kFeatures,
                                   argv[5],
                                   argv[6]};
  if (arguments.dim == 16) return limit::ServeOptimizer<16>(arguments);
  if (arguments.dim == 64) return limit::ServeOptimizer<64>(arguments);
  std::cerr << "limit: DIM is " << arguments.dim << ", not 16 or 64\n";
  return 2;
}
