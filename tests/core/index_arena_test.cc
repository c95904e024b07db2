#include "core/index_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace estimator_plugin {
namespace {

bool AllBytesAre(const void* block, int64_t bytes, char value) {
  const char* begin = static_cast<const char*>(block);
  return std::all_of(begin, begin + bytes, [value](char byte) { return byte == value; });
}

TEST(IndexArenaTest, BlocksAreAlignedZeroAndApart) {
  IndexArena arena;
  std::vector<std::pair<char*, int64_t>> blocks;
  for (int i = 0; i < 500; ++i) {
    const int64_t bytes = 1 + (i * 7919) % 20000;
    char* block = static_cast<char*>(arena.Allocate(bytes));
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    ASSERT_TRUE(AllBytesAre(block, bytes, 0));
    std::memset(block, 1 + i % 100, bytes);
    blocks.emplace_back(block, bytes);
  }
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(AllBytesAre(blocks[i].first, blocks[i].second, 1 + i % 100)) << i;
  }
}

TEST(IndexArenaTest, FreeingABlockKeepsItsNeighbours) {
  IndexArena arena;
  std::vector<char*> blocks;
  const int64_t bytes = 3 * 4096 + 64;  // Neighbours share pages.
  for (int i = 0; i < 64; ++i) {
    blocks.push_back(static_cast<char*>(arena.Allocate(bytes)));
    ASSERT_NE(blocks.back(), nullptr);
    std::memset(blocks.back(), i, bytes);
  }
  for (int i = 0; i < 64; i += 2) arena.Free(blocks[i], bytes);
  for (int i = 1; i < 64; i += 2) EXPECT_TRUE(AllBytesAre(blocks[i], bytes, i)) << i;
  const void* fresh = arena.Allocate(bytes);
  ASSERT_NE(fresh, nullptr);
  EXPECT_TRUE(AllBytesAre(fresh, bytes, 0));
}

TEST(IndexArenaTest, ABlockMayBeLargerThanAnyRange) {
  IndexArena arena;
  const int64_t bytes = int64_t{40} << 30;  // Address space only: just the ends are touched.
  char* large = static_cast<char*>(arena.Allocate(bytes));
  ASSERT_NE(large, nullptr);
  large[0] = 1;
  large[bytes - 1] = 2;
  char* small = static_cast<char*>(arena.Allocate(64));
  ASSERT_NE(small, nullptr);
  EXPECT_TRUE(small + 64 <= large || small >= large + bytes);
  arena.Free(large, bytes);
  std::memset(small, 3, 64);
}

TEST(IndexArenaTest, ARefusedAllocationIsNullAndTheArenaGoesOn) {
  IndexArena arena;
  EXPECT_EQ(arena.Allocate(int64_t{1} << 50), nullptr);
  void* block = arena.Allocate(64);
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(AllBytesAre(block, 64, 0));
}

TEST(IndexArenaTest, ThreadsGetBlocksOfTheirOwn) {
  IndexArena arena;
  int damaged[4] = {};
  const auto work = [&arena, &damaged](int thread) {
    for (int i = 0; i < 300; ++i) {
      const int64_t bytes = 64 * (1 + i % 50);
      void* block = arena.Allocate(bytes);
      if (block == nullptr || !AllBytesAre(block, bytes, 0)) {
        ++damaged[thread];
        continue;
      }
      std::memset(block, thread + 1, bytes);
      damaged[thread] += !AllBytesAre(block, bytes, thread + 1);
      if (i % 3 == 0) arena.Free(block, bytes);
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  for (int thread = 0; thread < 4; ++thread) EXPECT_EQ(damaged[thread], 0) << thread;
}

}  // namespace
}  // namespace estimator_plugin
