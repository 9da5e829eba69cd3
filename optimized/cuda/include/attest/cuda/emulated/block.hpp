// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "attest/cuda/emulated/location.hpp"
#include "attest/cuda/emulation.hpp"

/// A running block: its threads, the clock of the happens-before order, and its shared memory with an access record for
/// each cell. The checks of every access are here, inline; the scheduler and the texts of the reports are in
/// emulation/.

namespace attest::cuda::emulation {

inline constexpr std::uint32_t shared_capacity = 227 * 1024;     // the largest limit of any device
inline constexpr std::uint32_t static_shared_limit = 48 * 1024;  // what the linker of device code accepts
inline constexpr unsigned block_limit = 1024;
inline constexpr unsigned warp_width = 32;
inline constexpr unsigned warpgroup_width = 128;
inline constexpr std::uint32_t cell_bytes = 2;

/// Time is a counter of the host thread that grows at each synchronisation and is not reset between blocks: records of
/// earlier blocks are thereby out of date without being erased.
using Time = std::uint32_t;

/// A warp-wide operation one of whose lanes has arrived. It lies on the stack of that lane, which waits.
struct Collective {
  const char* name;
  std::uint32_t mask;
  Location where;
  void* exchange;  // the lane's operands, and the place for its result
  void (*apply)(std::uint32_t mask, const std::array<void*, warp_width>& exchange);  // once, when all are there
  bool orders_memory = false;                                                        // only __syncwarp does
  bool aligned = false;  // .sync.aligned: all lanes at the same line, after one way from where they last converged
};

/// An operation of a warpgroup's 128 threads one of which has arrived.
struct WarpgroupCollective {
  const char* name;
  Location where;
  void* exchange;
  void (*apply)(const std::array<void*, warpgroup_width>& exchange, Location where);
};

/// The cells of shared memory that a product of a warpgroup reads while it is in flight, and how many threads have not
/// waited for it yet. What was written before `fenced_by_all`, a barrier, all its threads have fenced after it.
struct WarpgroupRead {
  Time fenced_by_all = 0;
  std::vector<std::uint32_t> cells;
  unsigned waited_for_by = warpgroup_width;
};

/// A thread's part of its warpgroup's products in flight (emulation/warpgroup.cpp).
struct WarpgroupState {
  struct Fenced {  // registers as warpgroup_fence saw them
    const void* begin;
    std::vector<std::uint32_t> words;
  };
  struct Sum {  // the accumulators of one product, and their values once it has been waited for
    float* begin;
    std::vector<float> values;
    std::uint32_t group;
  };
  struct Operand {  // `a` in registers, as its product found it
    const std::uint32_t* begin;
    std::array<std::uint32_t, 4> words;
    std::uint32_t group;
  };
  struct Read {
    std::shared_ptr<WarpgroupRead> of;
    std::uint32_t group;
  };
  std::vector<Fenced> fenced;
  std::vector<Sum> sums;
  std::vector<Operand> operands;
  std::vector<Read> reads;
  std::uint32_t groups = 0;  // committed
  void clear() {
    fenced.clear();
    sums.clear();
    operands.clear();
    reads.clear();
    groups = 0;
  }
};

/// A cp.async that is in flight.
struct Copy {
  std::uint32_t to, bytes, valid;  // `valid` bytes come from memory, the others are zero
  const void* from;
  std::uint32_t group;
};

class Stacks;
struct Fiber;  // emulation/fiber.hpp

struct Thread {
  enum class State : std::uint8_t { ready, at_barrier, in_collective, in_warpgroup, exited };
  uint3 index{};
  unsigned number = 0, warp = 0, lane = 0;
  State state = State::ready;
  Time time = 0;                         // of its last synchronisation
  std::array<Time, warp_width> known{};  // what lane i of the warp did before known[i] is ordered before this thread
  Location where{};                      // the barrier at which it waits
  std::uint64_t way = 0;                 // a hash of its accesses to shared memory since its warp converged
  Location last{};                       // the last of these
  int predicate = 0;
  Collective* collective = nullptr;
  WarpgroupCollective* together = nullptr;
  WarpgroupState products;
  Location products_place{};  // where it issued the last one
  // Of its fences between the generic and the asynchronous proxy: what it wrote before the last one, and before the
  // last one that a barrier followed; and the barrier before the last one: where all threads of a product have such a
  // fence, it is one for what any thread wrote before that barrier, too.
  Time fenced = 0, settled = 0, fenced_base = 0;
  std::vector<Copy> copies;
  std::uint32_t groups = 0;  // of copies, committed
  std::uint32_t polls = 0;   // without getting any further
  std::chrono::steady_clock::time_point polls_since;
  std::unique_ptr<Fiber> fiber;
  Thread();
  ~Thread();
};

/// Threads that accessed a cell since `base` and are not ordered among each other: lanes of one warp, or of several
/// warps, of which only the last one's lanes are kept then. `time` is the latest of their times.
struct Group {
  Time time = 0;
  std::uint32_t lanes = 0;
  std::uint8_t warp = 0;
  bool several_warps = false;
};

/// The access record of `cell_bytes` bytes of shared memory. All zero: never accessed. Every access reads and writes
/// one, so that it is kept small.
struct Cell {
  Time written = 0;  // by a plain write
  std::uint16_t writer = 0;
  std::uint16_t products = 0;  // of warpgroups that read it and are in flight
  bool in_flight = false;      // the write is a copy_async whose data have not landed
  bool updated = false;        // by atomics since that write: `Updates` says by whom
  std::uint32_t write_line = 0, read_line = 0;
  Group readers;  // since that write
  const char *write_file = nullptr, *read_file = nullptr;
  Location write_place() const { return {write_file, write_line}; }
  Location read_place() const { return {read_file, read_line}; }
};

/// The atomic accesses to a cell since the last plain write to it.
struct Updates {
  Group adders;
  Location place{};
};

// In the place of a thread's number.
inline constexpr unsigned no_thread = block_limit, other_warp = block_limit + 1;

class Block {
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

public:
  Block();
  ~Block();

  /// Runs all threads of block `index`; throws the first Report.
  template <class Body>
  void run(uint3 index, std::uint64_t seed, std::uint32_t dynamic_bytes, const Body& body) {
    run(index, seed, dynamic_bytes, [](const void* b) { (*static_cast<const Body*>(b))(); }, &body);
  }

  Thread& me() { return *current_; }

  /// Barriers return the number of threads whose predicate is not zero.
  int barrier(int predicate, Location where);
  void collective(Collective& arrival);
  /// Lets other threads run; called by a thread that waits for memory to change.
  void poll(Location where);

  /// An instruction of the warp that exchanges nothing: all lanes must come to it together.
  void aligned(const char* name, Location where);
  /// All 128 threads of a warpgroup, at one place.
  void warpgroup(WarpgroupCollective& arrival);
  /// Makes what this thread has written to shared memory, or sees there, visible to products of warpgroups.
  void fence_proxies();
  /// What the product that this thread's warpgroup now issues will read.
  std::shared_ptr<WarpgroupRead> start_of_product() const;
  /// 16 bytes of shared memory that a product in flight reads: no thread may write there before all threads have
  /// waited.
  void read_by_product(std::uint32_t offset, void* sixteen_bytes, WarpgroupRead& read, Location where);
  void end_of_product(const WarpgroupRead& read);

  void copy_async(const Copy& copy, Location where);
  void commit_copies();
  void wait_for_copies(std::uint32_t groups_in_flight, Location where);

  /// Where the memory of a __shared__ object begins. It is given out when a thread of this block first touches it.
  std::uint32_t begin_of_static(std::atomic<std::uint32_t>& slot, std::size_t bytes, Location where) {
    const std::uint32_t number = slot.load(std::memory_order_relaxed);
    if (number < statics_.size() && statics_[number].serial == serial_) [[likely]]
      return statics_[number].begin;
    return allocate_static(slot, bytes, where);
  }
  std::uint32_t take_dynamic(std::uint32_t begin, std::size_t bytes, Location where);

  template <class V>
  V read(std::uint32_t offset, Location where) {
    note_way(where);
    static_assert(sizeof(V) % cell_bytes == 0, "shared memory is checked in cells of two bytes: use a wider type");
    for (std::uint32_t i = 0; i < sizeof(V) / cell_bytes; ++i) note_read(offset / cell_bytes + i, where);
    V value;
    std::memcpy(&value, bytes_.get() + offset, sizeof(V));
    return value;
  }
  template <class V>
  void write(std::uint32_t offset, const V& value, Location where) {
    note_way(where);
    static_assert(sizeof(V) % cell_bytes == 0, "shared memory is checked in cells of two bytes: use a wider type");
    for (std::uint32_t i = 0; i < sizeof(V) / cell_bytes; ++i) note_write(offset / cell_bytes + i, false, where);
    std::memcpy(bytes_.get() + offset, &value, sizeof(V));
  }
  /// value = change(value), as one atomic access.
  template <class V, class Change>
  V update(std::uint32_t offset, Location where, Change change) {
    note_way(where);
    for (std::uint32_t i = 0; i < sizeof(V) / cell_bytes; ++i) note_update(offset / cell_bytes + i, where);
    V before;
    std::memcpy(&before, bytes_.get() + offset, sizeof(V));
    const V after = change(before);
    std::memcpy(bytes_.get() + offset, &after, sizeof(V));
    return before;
  }

  [[noreturn]] void report(ErrorKind kind, Location where, const std::string& what) {
    report(kind, *current_, where, what);
  }
  [[noreturn]] void report(ErrorKind kind, const Thread& thread, Location where, const std::string& what);
  [[noreturn]] void report_out_of_bounds(const int* at, const int* extents, int rank, int count, Location where);
  [[noreturn]] void report_misaligned(std::size_t bytes, std::size_t remainder, const char* memory, Location where);

private:
  void run(uint3 index, std::uint64_t seed, std::uint32_t dynamic_bytes, void (*body)(const void*),
           const void* argument);
  static std::uint32_t aligned(std::size_t bytes) { return static_cast<std::uint32_t>((bytes + 15) / 16 * 16); }
  std::uint32_t allocate_static(std::atomic<std::uint32_t>& slot, std::size_t bytes, Location where);
  void start_threads(void (*body)(const void*), const void* argument);
  void schedule();
  void resume(Thread& thread);
  void suspend();
  void release_barrier();
  void finish(const Collective& collective, unsigned warp);
  void order_lanes(std::uint32_t mask, unsigned warp);
  void come_together(std::uint32_t mask, unsigned warp) const;
  void check_together(const char* name, std::uint32_t mask, unsigned warp, Location where);
  void stop_threads();
  [[noreturn]] void diagnose_deadlock();
  [[noreturn]] void diagnose_collective(const Thread& thread);
  std::string describe(const Thread& thread) const;
  [[noreturn]] void report_unwritten(std::uint32_t cell, Location where);
  [[noreturn]] void report_race(std::uint32_t cell, const char* verb, unsigned other, const char* did, Location there,
                                Location where);
  [[noreturn]] void diagnose_warpgroup(const Thread& thread);
  [[noreturn]] void report_copy_in_flight(std::uint32_t cell, Location where);
  [[noreturn]] void report_product_in_flight(std::uint32_t cell, Location where);

  void note_way(Location where) {
    Thread& self = *current_;
    self.way = (self.way ^ reinterpret_cast<std::uintptr_t>(where.file) ^ where.line) * 0x9e3779b97f4a7c15u + 1;
    self.last = where;
  }
  void note_read(std::uint32_t cell, Location where);
  void note_write(std::uint32_t cell, bool by_copy, Location where);
  void note_update(std::uint32_t cell, Location where);
  bool ordered(unsigned other, Time when) const {
    const Thread& self = *current_;
    return when < base_ || other == self.number ||
           (other / warp_width == self.warp && when < self.known[other % warp_width]);
  }
  unsigned unordered(const Group& group) const;
  void join(Group& group) const;
  /// A thread that updated the cell and is not ordered before this one; no_thread where there is none.
  unsigned unordered_update(std::uint32_t cell) const {
    return cells_[cell].updated ? unordered(updates_[cell].adders) : no_thread;
  }

  Thread* current_ = nullptr;
  Time now_ = 1;  // the counter
  Time base_ =
      1;  // all that happened before is ordered before everything in this block: its start, or the last __syncthreads
  Time block_start_ = 1;  // the block's start
  bool racecheck_ = true, stopping_ = false;
  std::unique_ptr<std::byte[]> bytes_;
  std::unique_ptr<Cell[], Free> cells_;
  std::unique_ptr<Updates[], Free> updates_;
  std::uint32_t used_ = 0, static_used_ = 0, dynamic_bytes_ = 0;
  std::uint64_t serial_ = 0;  // one for every block that ever ran
  struct Static {
    std::uint64_t serial = 0;
    std::uint32_t begin = 0;
  };
  std::vector<Static> statics_;
  std::uint64_t random_ = 0;
  std::uint64_t seed_ = 0;
  unsigned size_ = 0, alive_ = 0, waiting_at_barrier_ = 0;
  int predicates_ = 0, barrier_result_ = 0;
  Location barrier_place_{};
  std::unique_ptr<Stacks> stacks_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> ready_;
  std::array<std::uint32_t, block_limit / warp_width> lanes_waiting_{},
      lanes_gone_{};  // per warp; gone: returned, or beyond the block's end
  struct Together {   // threads of a warpgroup that wait at an operation of it, and what the first of them waits at
    unsigned waiting = 0;
    const WarpgroupCollective* first = nullptr;
  };
  std::array<Together, block_limit / warpgroup_width> together_{};
  std::exception_ptr failure_;
};

ATTEST_CUDA_PER_HOST_THREAD constinit Block* running = nullptr;

inline Block& block(Location where) {
  if (running == nullptr) [[unlikely]] {
    throw Error(std::string(where.file) + ":" + std::to_string(where.line) +
                ": code of the device is called outside of a launch");
  }
  return *running;
}

/// A thread of the group that is not ordered before this thread; no_thread where there is none.
inline unsigned Block::unordered(const Group& group) const {
  if (group.time < base_) return no_thread;
  if (group.several_warps) {  // one of them at least is not this thread's
    if (group.warp == current_->warp) return other_warp;
    return group.warp * warp_width + static_cast<unsigned>(std::countr_zero(group.lanes));
  }
  for (std::uint32_t lanes = group.lanes; lanes != 0; lanes &= lanes - 1) {
    const unsigned thread = group.warp * warp_width + static_cast<unsigned>(std::countr_zero(lanes));
    if (!ordered(thread, group.time)) return thread;
  }
  return no_thread;
}

inline void Block::join(Group& group) const {
  if (group.time < base_) {
    group.several_warps = false;
    group.lanes = 0;
  } else if (group.warp != current_->warp) {
    group.several_warps = true;
    group.lanes = 0;
  } else if (!group.several_warps && unordered(group) == no_thread) {
    group.lanes = 0;  // threads ordered after this access are ordered after theirs
  }
  group.lanes |= 1u << current_->lane;
  group.warp = static_cast<std::uint8_t>(current_->warp);
  group.time = std::max(group.time, current_->time);
}

inline void Block::note_read(std::uint32_t index, Location where) {
  Cell& cell = cells_[index];
  if (cell.written < block_start_) [[unlikely]]
    report_unwritten(index, where);
  if (!racecheck_) return;
  if (cell.in_flight) [[unlikely]]
    report_copy_in_flight(index, where);
  if (!ordered(cell.writer, cell.written)) [[unlikely]]
    report_race(index, "reads", cell.writer, "wrote", cell.write_place(), where);
  if (const unsigned adder = unordered_update(index); adder != no_thread) [[unlikely]]
    report_race(index, "reads", adder, "updated", updates_[index].place, where);
  join(cell.readers);
  cell.read_file = where.file;
  cell.read_line = where.line;
}

inline void Block::note_write(std::uint32_t index, bool by_copy, Location where) {
  Cell& cell = cells_[index];
  if (racecheck_) {
    if (cell.in_flight && cell.written >= block_start_) [[unlikely]]
      report_copy_in_flight(index, where);
    if (cell.products != 0) [[unlikely]]
      report_product_in_flight(index, where);
    if (!ordered(cell.writer, cell.written)) [[unlikely]]
      report_race(index, "writes", cell.writer, "wrote", cell.write_place(), where);
    if (const unsigned adder = unordered_update(index); adder != no_thread) [[unlikely]]
      report_race(index, "writes", adder, "updated", updates_[index].place, where);
    if (const unsigned reader = unordered(cell.readers); reader != no_thread) [[unlikely]]
      report_race(index, "writes", reader, "read", cell.read_place(), where);
  }
  cell.written = current_->time;
  cell.writer = static_cast<std::uint16_t>(current_->number);
  cell.in_flight = by_copy;
  cell.readers.time = 0;  // threads ordered after this write are ordered after them
  cell.updated = false;
  cell.write_file = where.file;
  cell.write_line = where.line;
}

/// Atomics are not ordered among each other, and need not be.
inline void Block::note_update(std::uint32_t index, Location where) {
  Cell& cell = cells_[index];
  if (cell.written < block_start_) [[unlikely]]
    report_unwritten(index, where);
  if (!racecheck_) return;
  if (cell.in_flight) [[unlikely]]
    report_copy_in_flight(index, where);
  if (cell.products != 0) [[unlikely]]
    report_product_in_flight(index, where);
  if (!ordered(cell.writer, cell.written)) [[unlikely]]
    report_race(index, "updates", cell.writer, "wrote", cell.write_place(), where);
  if (const unsigned reader = unordered(cell.readers); reader != no_thread) [[unlikely]]
    report_race(index, "updates", reader, "read", cell.read_place(), where);
  Updates& updates = updates_[index];
  if (!cell.updated) updates.adders.time = 0;
  cell.updated = true;
  join(updates.adders);
  updates.place = where;
}

}  // namespace attest::cuda::emulation
