// Runs a fuzz target without libFuzzer: `TARGET SECONDS [SEED_FILE ...]` gives it the seeds, then
// random mutations of what it was given before, the same ones in every run.
//
// The input being tried is kept in the file TARGET.input, so that it is at hand after a crash: give
// it as the only seed, with 0 seconds, to see the crash again.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kMaxInput = 4096;
constexpr size_t kMaxCorpus = 256;

std::string Mutate(std::string input, std::mt19937_64* random) {
  const auto draw = [random](size_t below) { return static_cast<size_t>((*random)() % below); };
  for (size_t changes = 1 + draw(8); changes > 0; --changes) {
    const size_t at = draw(input.size() + 1);
    switch (draw(5)) {
      case 0:
        input.insert(at, 1 + draw(8), static_cast<char>(draw(256)));
        break;
      case 1:
        input.erase(at, 1 + draw(8));
        break;
      case 2:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << draw(8)));
        break;
      case 3:
        for (size_t i = 0; i < 16; ++i) input.push_back(static_cast<char>(draw(256)));
        break;
      default:  // Something from elsewhere in the input.
        input.insert(at, input.substr(draw(input.size() + 1), draw(32)));
    }
  }
  if (input.size() > kMaxInput) input.resize(kMaxInput);
  return input;
}

// The file that holds the input being tried, as memory.
class CurrentInput {
 public:
  explicit CurrentInput(const std::string& path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT, 0644)) {
    if (file_ < 0 || ftruncate(file_, kMaxInput) != 0) std::abort();
    void* memory = mmap(nullptr, kMaxInput, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (memory == MAP_FAILED) std::abort();
    memory_ = static_cast<char*>(memory);
  }
  void Try(const std::string& input) {
    if (ftruncate(file_, kMaxInput) != 0) std::abort();
    std::memcpy(memory_, input.data(), input.size());
    if (ftruncate(file_, static_cast<off_t>(input.size())) != 0) std::abort();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  }

 private:
  const int file_;
  char* memory_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s SECONDS [SEED_FILE ...]\n", argv[0]);
    return 2;
  }
  CurrentInput current(std::string(argv[0]) + ".input");
  std::vector<std::string> corpus;
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    current.Try(corpus.back());
  }
  if (corpus.empty()) corpus.emplace_back();
  const size_t seeds = corpus.size();  // Stay; what came of them is replaced.
  std::mt19937_64 random(1);
  int64_t runs = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    const std::string input = Mutate(corpus[random() % corpus.size()], &random);
    current.Try(input);
    if (corpus.size() < kMaxCorpus) {
      corpus.push_back(input);
    } else if (seeds < kMaxCorpus && random() % 16 == 0) {
      corpus[seeds + random() % (kMaxCorpus - seeds)] = input;
    }
  }
  std::printf("%s: %lld inputs\n", argv[0], static_cast<long long>(runs));
  return 0;
}
