// SPDX-License-Identifier: MIT
#include "attest/cuda/emulated/block.hpp"

#include "fiber.hpp"

#include <chrono>
#include <thread>

namespace attest::cuda::emulation {

namespace {

constexpr auto poll_limit = std::chrono::seconds(20);

std::uint64_t next_random(std::uint64_t& state) {  // splitmix64
  std::uint64_t x = state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

Stacks& stacks() {
  static thread_local Stacks of_this_host_thread;
  return of_this_host_thread;
}

/// The stack of a fiber is its thread's for ever: it is neither made nor given back.
struct KeptStack {
  boost::context::stack_context stack;
  boost::context::stack_context allocate() const { return stack; }
  void deallocate(boost::context::stack_context&) const {}
};

bool same_place(Location a, Location b) { return a.line == b.line && std::strcmp(a.file, b.file) == 0; }

std::uint32_t aligned(std::size_t bytes) { return static_cast<std::uint32_t>((bytes + 15) / 16 * 16); }

std::string at_line(Location where) { return "line " + std::to_string(where.line); }
std::string text(uint3 i) { return "(" + std::to_string(i.x) + "," + std::to_string(i.y) + "," + std::to_string(i.z) + ")"; }
std::string lanes(std::uint32_t mask) {
  std::string s;
  for (; mask != 0; mask &= mask - 1) s += (s.empty() ? "" : ",") + std::to_string(std::countr_zero(mask));
  return s;
}

}  // namespace

Thread::Thread() : fiber(std::make_unique<Fiber>()) {}
Thread::~Thread() = default;

Block::Block() : bytes_(new std::byte[shared_limit]), cells_(new Cell[shared_limit / cell_bytes]), used_(shared_limit) {}
Block::~Block() = default;

// ---- the life of a block

void Block::run(uint3 index, std::uint64_t seed, std::uint32_t dynamic_bytes, void (*body)(const void*), const void* argument) {
  static std::atomic<std::uint64_t> serials{0};
  serial_ = ++serials;
  seed_ = settings().seed;
  racecheck_ = settings().racecheck;
  random_ = seed;
  if (now_ > 1u << 31) {  // long before the counter wraps, once all records are of the past
    std::fill_n(cells_.get(), shared_limit / cell_bytes, Cell{});
    for (auto& thread : threads_) thread->known = {};
    now_ = 1;
  }
  born_ = base_ = ++now_;
  // What no check forbids to be read (the target of a copy under way, without the race check) is NaN.
  std::memset(bytes_.get(), 0xff, used_);
  dynamic_bytes_ = dynamic_bytes;
  used_ = aligned(dynamic_bytes);
  static_used_ = 0;
  waiting_at_barrier_ = 0;
  lanes_waiting_ = {};
  failure_ = nullptr;
  blockIdx = index;
  running = this;
  start_threads(body, argument);
  try {
    schedule();
  } catch (...) {
    failure_ = std::current_exception();
  }
  stop_threads();
  running = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Block::start_threads(void (*body)(const void*), const void* argument) {
  alive_ = size_ = blockDim.x * blockDim.y * blockDim.z;
  while (threads_.size() < size_) threads_.push_back(std::make_unique<Thread>());
  ready_.clear();
  for (unsigned i = 0; i < size_; ++i) {
    Thread& thread = *threads_[i];
    thread.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
    thread.number = i;
    thread.warp = i / warp_width;
    thread.lane = i % warp_width;
    thread.state = Thread::State::ready;
    thread.time = base_;
    thread.collective = nullptr;
    thread.copies.clear();
    thread.groups = thread.polls = 0;
    Fiber& fiber = *thread.fiber;
    fiber.stack = stacks().of(i);
    fiber.self = boost::context::fiber(std::allocator_arg, KeptStack{fiber.stack}, [this, &thread, body, argument](boost::context::fiber&& scheduler) {
      thread.fiber->scheduler = std::move(scheduler);
      thread.fiber->arrived();
      try {
        body(argument);
      } catch (const boost::context::detail::forced_unwind&) {
        throw;
      } catch (...) {
        failure_ = std::current_exception();
      }
      thread.state = Thread::State::exited;
      --alive_;
      thread.fiber->leaving(true);
      return std::move(thread.fiber->scheduler);
    });
    ready_.push_back(&thread);
  }
}

void Block::schedule() {
  while (alive_ > 0 && !failure_) {
    if (ready_.empty()) diagnose_deadlock();
    const std::size_t chosen = static_cast<std::size_t>((next_random(random_) >> 32) * ready_.size() >> 32);
    Thread& thread = *ready_[chosen];
    ready_[chosen] = ready_.back();
    ready_.pop_back();
    resume(thread);
  }
}

void Block::resume(Thread& thread) {
  current_ = &thread;
  threadIdx = thread.index;
  thread.fiber->resume();
}
void Block::suspend() { current_->fiber->suspend(); }

/// Unwinds the stacks of those that have not returned.
void Block::stop_threads() {
  for (unsigned i = 0; i < size_; ++i) {
    if (threads_[i]->fiber->self) {
      current_ = threads_[i].get();
      threads_[i]->fiber->self = {};
    }
  }
}

// ---- synchronisation

int Block::barrier(int predicate, Location where) {
  Thread& thread = *current_;
  if (waiting_at_barrier_ == 0) {
    barrier_place_ = where;
    predicates_ = 0;
  } else if (!same_place(where, barrier_place_)) {
    report(Mistake::barrier_divergence, where, "waits at this barrier while other threads wait at the one in " + at_line(barrier_place_));
  }
  thread.state = Thread::State::at_barrier;
  thread.where = where;
  thread.polls = 0;
  predicates_ += predicate != 0;
  if (++waiting_at_barrier_ == size_) release_barrier();
  suspend();
  return barrier_result_;
}

void Block::release_barrier() {
  barrier_result_ = predicates_;
  waiting_at_barrier_ = 0;
  base_ = ++now_;
  for (unsigned i = 0; i < size_; ++i) {
    threads_[i]->state = Thread::State::ready;
    threads_[i]->time = base_;
    ready_.push_back(threads_[i].get());
  }
}

void Block::collective(Collective& arrival) {
  Thread& thread = *current_;
  const unsigned first = thread.warp * warp_width;
  const std::uint32_t mask = arrival.mask;
  if (!(mask >> thread.lane & 1)) {
    report(Mistake::collective, arrival.where, std::string(arrival.name) + " with a mask that does not name the lane itself, " + std::to_string(thread.lane));
  }
  thread.collective = &arrival;
  thread.polls = 0;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const unsigned other = first + static_cast<unsigned>(std::countr_zero(rest));
    if (other >= size_ || threads_[other]->state == Thread::State::exited) diagnose_collective(thread);
  }
  std::uint32_t& waiting = lanes_waiting_[thread.warp];
  waiting |= 1u << thread.lane;
  thread.state = Thread::State::in_collective;
  bool complete = (waiting & mask) == mask;
  for (std::uint32_t rest = mask; complete && rest != 0; rest &= rest - 1) {
    const Collective& other = *threads_[first + static_cast<unsigned>(std::countr_zero(rest))]->collective;
    complete = other.mask == mask;
    if (complete && (std::strcmp(other.name, arrival.name) != 0 || (arrival.aligned && !same_place(other.where, arrival.where)))) {
      report(Mistake::collective, arrival.where, std::string(arrival.name) + " meets " + other.name + " of " + at_line(other.where) + " in other lanes of its mask");
    }
  }
  if (complete) {
    finish(arrival, thread.warp);
  } else {
    suspend();
  }
}

/// All lanes are there: the last one does the work for all and goes on.
void Block::finish(const Collective& collective, unsigned warp) {
  std::array<void*, warp_width> exchange{};
  for (std::uint32_t rest = collective.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    Thread& thread = *threads_[warp * warp_width + lane];
    exchange[lane] = thread.collective->exchange;
    thread.state = Thread::State::ready;
    if (&thread != current_) ready_.push_back(&thread);
  }
  lanes_waiting_[warp] &= ~collective.mask;
  if (collective.apply) collective.apply(collective.mask, exchange);
  if (collective.orders_memory) order_lanes(collective.mask, warp);
}

/// Each of the lanes now knows what any of them knew, and all that they did.
void Block::order_lanes(std::uint32_t mask, unsigned warp) {
  const Time now = ++now_;
  const unsigned first = warp * warp_width;
  std::array<Time, warp_width> known{};
  if (mask != 0xffffffffu) {
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const Thread& thread = *threads_[first + static_cast<unsigned>(std::countr_zero(rest))];
      for (unsigned i = 0; i < warp_width; ++i) known[i] = std::max(known[i], thread.known[i]);
    }
  }
  for (unsigned i = 0; i < warp_width; ++i) {
    if (mask >> i & 1) known[i] = now;
  }
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    Thread& thread = *threads_[first + static_cast<unsigned>(std::countr_zero(rest))];
    thread.known = known;
    thread.time = now;
  }
}

void Block::poll(Location where) {
  static thread_local std::chrono::steady_clock::time_point since;
  Thread& thread = *current_;
  if (thread.polls++ == 0) since = std::chrono::steady_clock::now();
  if (thread.polls % 64 == 0) std::this_thread::yield();
  if (thread.polls % 65536 == 0 && std::chrono::steady_clock::now() - since > poll_limit) {
    report(Mistake::no_progress, where, "has been waiting for a flag for 20 s: the block that should set it may not be running yet");
  }
  ready_.push_back(&thread);
  suspend();
}

// ---- copies under way

void Block::copy_async(const Copy& copy, Location where) {
  if (copy.valid > copy.bytes) report(Mistake::out_of_bounds, where, "an async copy of more valid bytes than it moves");
  for (std::uint32_t i = 0; i < copy.bytes / cell_bytes; ++i) note_write(copy.to / cell_bytes + i, in_flight, where);
  current_->copies.push_back(copy);
  current_->copies.back().group = current_->groups;
}

void Block::commit_copies() { ++current_->groups; }

void Block::wait_for_copies(std::uint32_t groups_in_flight, Location) {
  Thread& thread = *current_;
  std::size_t landed = 0;
  for (; landed < thread.copies.size() && thread.copies[landed].group + groups_in_flight < thread.groups; ++landed) {
    const Copy& copy = thread.copies[landed];
    std::byte* to = bytes_.get() + copy.to;
    if (copy.valid != 0) std::memcpy(to, copy.from, copy.valid);
    std::memset(to + copy.valid, 0, copy.bytes - copy.valid);
    for (std::uint32_t i = 0; i < copy.bytes / cell_bytes; ++i) {
      Cell& cell = cells_[copy.to / cell_bytes + i];
      cell.flags &= static_cast<std::uint8_t>(~in_flight);
      cell.written = thread.time;
    }
  }
  thread.copies.erase(thread.copies.begin(), thread.copies.begin() + static_cast<std::ptrdiff_t>(landed));
}

// ---- shared memory

std::uint32_t Block::allocate_static(std::size_t bytes, const void* object, Location where) {
  if (stacks().contains(object)) {
    report(Mistake::shared_memory, where, "a Shared that is not declared __shared__: each thread has one of its own");
  }
  if (bytes > static_shared_limit - static_used_) {
    report(Mistake::shared_memory, where, "static shared memory of " + std::to_string(static_used_ + bytes) + " bytes; 48 KiB is the limit, more must be dynamic");
  }
  const std::uint32_t begin = used_, size = aligned(bytes);
  if (begin + size > shared_limit) {
    report(Mistake::shared_memory, where, std::to_string(begin + bytes) + " bytes of shared memory, static and dynamic; 227 KiB is the limit");
  }
  static_used_ += size;
  used_ += size;
  return begin;
}

std::uint32_t Block::take_dynamic(std::uint32_t begin, std::size_t bytes, Location where) {
  if (bytes > shared_limit || begin + bytes > dynamic_bytes_) {
    report(Mistake::shared_memory, where,
           "takes dynamic shared memory up to byte " + std::to_string(begin + bytes) + " where the launch gave " + std::to_string(dynamic_bytes_) + " bytes");
  }
  return begin + aligned(bytes);
}

// ---- reports

void Block::report(Mistake mistake, const Thread& thread, Location where, const std::string& what) {
  const std::string file = where.file;
  throw Report(mistake, blockIdx, thread.index, file, where.line,
               file.substr(file.rfind('/') + 1) + ":" + std::to_string(where.line) + ": block " + text(blockIdx) + ", thread " + text(thread.index) + ": " +
                   what + " [seed " + std::to_string(seed_) + "]");
}

std::string Block::describe(const Thread& thread) const {
  const std::string name = "thread " + text(thread.index);
  switch (thread.state) {
    case Thread::State::exited: return name + " has returned";
    case Thread::State::at_barrier: return name + " waits at the barrier in " + at_line(thread.where);
    case Thread::State::in_collective: return name + " waits at " + thread.collective->name + " in " + at_line(thread.collective->where);
    case Thread::State::ready: break;
  }
  return name + " is under way";
}

/// Nobody can go on. A warp operation that is short of lanes is told first: it may be what keeps the others from the barrier.
void Block::diagnose_deadlock() {
  const Thread* at_barrier = nullptr;
  for (unsigned i = 0; i < size_; ++i) {
    const Thread& thread = *threads_[i];
    if (thread.state == Thread::State::in_collective) diagnose_collective(thread);
    if (thread.state == Thread::State::at_barrier && at_barrier == nullptr) at_barrier = &thread;
  }
  for (unsigned i = 0; i < size_; ++i) {
    const Thread& thread = *threads_[i];
    if (thread.state == Thread::State::exited) {
      report(Mistake::barrier_divergence, *at_barrier, at_barrier->where,
             "waits at a barrier that " + std::to_string(size_ - waiting_at_barrier_) + " of " + std::to_string(size_) + " threads never reach: " + describe(thread));
    }
  }
  std::abort();  // everybody at one barrier: that is a release
}

/// A lane that this operation waits for in vain.
void Block::diagnose_collective(const Thread& thread) {
  const Collective& waiting = *thread.collective;
  const std::string what = std::string(waiting.name) + " waits for lanes " + lanes(waiting.mask) + " of warp " + std::to_string(thread.warp) + ", but ";
  for (std::uint32_t rest = waiting.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const unsigned other = thread.warp * warp_width + lane;
    if (other >= size_) report(Mistake::collective, thread, waiting.where, what + "the block ends before lane " + std::to_string(lane));
    const Thread& missing = *threads_[other];
    if (missing.state != Thread::State::in_collective && missing.state != Thread::State::ready) {
      report(Mistake::collective, thread, waiting.where, what + "lane " + std::to_string(lane) + " does not come: " + describe(missing));
    }
    if (missing.state == Thread::State::in_collective && missing.collective->mask != waiting.mask) {
      report(Mistake::collective, thread, waiting.where,
             what + "lane " + std::to_string(lane) + " comes with another mask: " + describe(missing) + " for lanes " + lanes(missing.collective->mask));
    }
  }
  std::abort();  // complete: that is no deadlock
}

void Block::outside(const int* at, const int* extents, int rank, int count, Location where) {
  std::string index, shape;
  for (int axis = 0; axis < rank; ++axis) {
    index += (axis ? "," : "") + std::to_string(at[axis]);
    shape += "[" + std::to_string(extents[axis]) + "]";
  }
  report(Mistake::out_of_bounds, where, count == 1 ? "shared element (" + index + ") of an array " + shape
                                                   : std::to_string(count) + " shared elements from " + index + " on in a row of " + std::to_string(extents[0]));
}

void Block::misaligned(std::size_t bytes, std::size_t remainder, const char* memory, Location where) {
  report(Mistake::misaligned, where,
         "an access of " + std::to_string(bytes) + " bytes to " + memory + " memory, " + std::to_string(remainder) + " bytes behind a multiple of its size");
}

void Block::unwritten(std::uint32_t cell, Location where) {
  report(Mistake::unwritten, where, "reads shared memory at byte " + std::to_string(cell * cell_bytes) + ", which nobody has written");
}

void Block::race(std::uint32_t index, bool by_write, bool with_write, unsigned other, Location where) {
  const Cell& cell = cells_[index];
  const std::string who = other < size_ ? "thread " + text(threads_[other]->index) : "a thread of another warp";
  report(Mistake::race, where, std::string(by_write ? "writes" : "reads") + " shared memory at byte " + std::to_string(index * cell_bytes) + ", which " + who +
                                   (with_write ? " wrote in " + at_line(cell.write_place) : " read in " + at_line(cell.read_place)) +
                                   " with no barrier between them");
}

void Block::copy_under_way(std::uint32_t index, Location where) {
  const Cell& cell = cells_[index];
  report(Mistake::in_flight, where, "uses shared memory at byte " + std::to_string(index * cell_bytes) + " to which the async copy that thread " +
                                        text(threads_[cell.writer]->index) + " issued in " + at_line(cell.write_place) + " is under way");
}

}  // namespace attest::cuda::emulation
