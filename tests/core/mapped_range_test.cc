#include "core/mapped_range.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

namespace estimator_plugin {
namespace {

bool AllBytesAre(const char* begin, int64_t bytes, char value) {
  return std::all_of(begin, begin + bytes, [value](char byte) { return byte == value; });
}

// Whether the page at `address` belongs to any mapping of this process.
bool IsMapped(char* address) {
  unsigned char resident;
  return mincore(address, 1, &resident) == 0;
}

TEST(MappedRangeTest, RoundUpGoesToTheNextMultiple) {
  EXPECT_EQ(RoundUp(0, 4096), 0);
  EXPECT_EQ(RoundUp(1, 4096), 4096);
  EXPECT_EQ(RoundUp(4096, 4096), 4096);
  EXPECT_EQ(RoundUp(4097, 4096), 8192);
  EXPECT_EQ(RoundUp(11, 5), 15);
}

TEST(MappedRangeTest, IsAlignedWritableAndZero) {
  for (int64_t bytes : {int64_t{1}, kPageBytes, kHugePageBytes + 1, 3 * kHugePageBytes}) {
    const auto range = MappedRange::Reserve(bytes);
    ASSERT_NE(range, nullptr);
    ASSERT_GE(range->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(range->base()) % kHugePageBytes, 0u);
    EXPECT_TRUE(AllBytesAre(range->base(), range->bytes(), 0));
    std::memset(range->base(), 7, range->bytes());
    EXPECT_TRUE(AllBytesAre(range->base(), range->bytes(), 7));
  }
}

TEST(MappedRangeTest, ReservingManyTimesTheMemoryOfTheMachineCostsNothing) {
  const auto range = MappedRange::Reserve(int64_t{1} << 38);
  ASSERT_NE(range, nullptr);
  char* last = range->base() + range->bytes() - 1;
  *last = 1;
  range->base()[0] = 2;
  EXPECT_EQ(*last, 1);
}

TEST(MappedRangeTest, ARefusedReservationIsNull) {
  EXPECT_EQ(MappedRange::Reserve(int64_t{1} << 50), nullptr);
  EXPECT_EQ(MappedRange::Reserve(int64_t{1} << 62), nullptr);
}

TEST(MappedRangeTest, DestructionUnmaps) {
  auto range = MappedRange::Reserve(kHugePageBytes);
  ASSERT_NE(range, nullptr);
  char* base = range->base();
  base[0] = 1;
  ASSERT_TRUE(IsMapped(base));
  range.reset();
  EXPECT_FALSE(IsMapped(base));
}

TEST(MappedRangeTest, DiscardZeroesWholePagesAndNoByteBesides) {
  const auto range = MappedRange::Reserve(kHugePageBytes);
  ASSERT_NE(range, nullptr);
  char* base = range->base();
  std::memset(base, 7, 6 * kPageBytes);
  MappedRange::Discard(base + 100, 4 * kPageBytes);
  EXPECT_TRUE(AllBytesAre(base, kPageBytes, 7));
  EXPECT_TRUE(AllBytesAre(base + kPageBytes, 3 * kPageBytes, 0));
  EXPECT_TRUE(AllBytesAre(base + 4 * kPageBytes, 2 * kPageBytes, 7));
}

TEST(MappedRangeTest, DiscardOfLessThanAPageKeepsEverything) {
  const auto range = MappedRange::Reserve(kHugePageBytes);
  ASSERT_NE(range, nullptr);
  std::memset(range->base(), 7, 3 * kPageBytes);
  MappedRange::Discard(range->base() + 1, kPageBytes);
  MappedRange::Discard(range->base() + kPageBytes + 5, 10);
  MappedRange::Discard(range->base() + kPageBytes, 0);
  EXPECT_TRUE(AllBytesAre(range->base(), 3 * kPageBytes, 7));
}

TEST(MappedRangeTest, AdvisingAndCollapsingKeepTheBytes) {
  const auto range = MappedRange::Reserve(4 * kHugePageBytes);
  ASSERT_NE(range, nullptr);
  char* base = range->base();
  for (int64_t i = 0; i < range->bytes(); ++i) base[i] = static_cast<char>(i % 251);
  MappedRange::AdviseHuge(base + kHugePageBytes, kHugePageBytes);
  // Whether it succeeds is the kernel's choice; the bytes stay either way.
  (void)MappedRange::CollapseHuge(base, 2 * kHugePageBytes);
  int64_t different = 0;
  for (int64_t i = 0; i < range->bytes(); ++i) different += base[i] != static_cast<char>(i % 251);
  EXPECT_EQ(different, 0);
}

TEST(MappedRangeTest, MovedPagesKeepTheirBytesAndOutliveTheirOrigin) {
  auto from = MappedRange::Reserve(kHugePageBytes);
  const auto to = MappedRange::Reserve(2 * kHugePageBytes);
  ASSERT_NE(from, nullptr);
  ASSERT_NE(to, nullptr);
  std::memset(from->base(), 7, 3 * kPageBytes);
  std::memset(to->base(), 9, 8 * kPageBytes);
  ASSERT_TRUE(MappedRange::MovePages(from->base(), to->base() + 4 * kPageBytes, 3 * kPageBytes));
  from.reset();
  EXPECT_TRUE(AllBytesAre(to->base(), 4 * kPageBytes, 9));
  EXPECT_TRUE(AllBytesAre(to->base() + 4 * kPageBytes, 3 * kPageBytes, 7));
  EXPECT_TRUE(AllBytesAre(to->base() + 7 * kPageBytes, kPageBytes, 9));
}

// A hole in the old range would be given to the next caller of mmap, and the old range's
// destruction would then unmap that caller's memory.
TEST(MappedRangeTest, TheRangeMovedFromStaysReserved) {
  const auto from = MappedRange::Reserve(kHugePageBytes);
  const auto to = MappedRange::Reserve(kHugePageBytes);
  ASSERT_NE(from, nullptr);
  ASSERT_NE(to, nullptr);
  std::memset(from->base(), 7, kHugePageBytes);
  ASSERT_TRUE(MappedRange::MovePages(from->base(), to->base(), kHugePageBytes / 2));
  EXPECT_TRUE(IsMapped(from->base()));
  EXPECT_TRUE(IsMapped(from->base() + kHugePageBytes / 2 - kPageBytes));
  EXPECT_TRUE(AllBytesAre(from->base() + kHugePageBytes / 2, kHugePageBytes / 2, 7));
  EXPECT_TRUE(AllBytesAre(to->base(), kHugePageBytes / 2, 7));
}

TEST(MappedRangeTest, MovingPagesIsSafeBesideOtherMappings) {
  std::atomic<bool> done(false);
  int64_t lost = 0;
  std::thread other([&done, &lost] {
    while (!done) {
      void* memory =
          mmap(nullptr, 4 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) continue;
      std::this_thread::yield();
      lost += !IsMapped(static_cast<char*>(memory));
      munmap(memory, 4 * kPageBytes);
    }
  });
  for (int i = 0; i < 2000; ++i) {
    const auto from = MappedRange::Reserve(kHugePageBytes);
    const auto to = MappedRange::Reserve(kHugePageBytes);
    if (from == nullptr || to == nullptr) continue;
    from->base()[0] = 7;
    EXPECT_TRUE(MappedRange::MovePages(from->base(), to->base(), 4 * kPageBytes));
    EXPECT_EQ(to->base()[0], 7);
  }
  done = true;
  other.join();
  EXPECT_EQ(lost, 0);
}

}  // namespace
}  // namespace estimator_plugin
