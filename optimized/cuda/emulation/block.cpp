// SPDX-License-Identifier: MIT
#include "attest/cuda/emulated/block.hpp"

#include "fiber.hpp"
#include "sentence.hpp"

#include <new>
#include <thread>

namespace attest::cuda::emulation {

namespace {

std::uint64_t next_random(std::uint64_t& state) {  // splitmix64
  std::uint64_t x = state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// A stack allocator that returns the one stack of its thread, which outlives the fibers.
struct KeptStack {
  boost::context::stack_context stack;
  boost::context::stack_context allocate() const { return stack; }
  void deallocate(boost::context::stack_context&) const {}
};

/// Thrown in every other thread of a block after the first report, so that their stacks unwind.
struct Stopped {};

bool same_text(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }
bool same_place(Location a, Location b) { return a.line == b.line && same_text(a.file, b.file); }

}  // namespace

Thread::Thread() : fiber(std::make_unique<Fiber>()) {}
Thread::~Thread() = default;

Block::Block()
    : bytes_(new std::byte[shared_capacity]),
      cells_(static_cast<Cell*>(std::calloc(shared_capacity / cell_bytes, sizeof(Cell)))),
      updates_(static_cast<Updates*>(std::calloc(shared_capacity / cell_bytes, sizeof(Updates)))),
      used_(shared_capacity),
      stacks_(std::make_unique<Stacks>()) {
  if (!cells_ || !updates_) throw std::bad_alloc();
}
Block::~Block() = default;

// ---- the life of a block

void Block::run(uint3 index, std::uint64_t seed, std::uint32_t dynamic_bytes, void (*body)(const void*),
                const void* argument) {
  static std::atomic<std::uint64_t> serials{0};
  serial_ = ++serials;
  seed_ = settings().seed;
  racecheck_ = settings().racecheck;
  random_ = seed;
  if (now_ > 1u << 31) {  // long before the counter wraps, once all records are of the past
    std::fill_n(cells_.get(), shared_capacity / cell_bytes, Cell{});
    for (auto& thread : threads_) thread->known = {};
    now_ = 1;
  }
  block_start_ = base_ = ++now_;
  // The target of a copy in flight reads as NaN where the race check is off.
  std::memset(bytes_.get(), 0xff, used_);
  dynamic_bytes_ = dynamic_bytes;
  used_ = aligned(dynamic_bytes);
  static_used_ = 0;
  waiting_at_barrier_ = 0;
  lanes_waiting_ = lanes_gone_ = {};
  together_ = {};
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
  if (failure_)  // products that no thread will wait for
    for (std::uint32_t i = 0; i < used_ / cell_bytes; ++i) cells_[i].products = 0;
  running = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Block::start_threads(void (*body)(const void*), const void* argument) {
  alive_ = size_ = blockDim.x * blockDim.y * blockDim.z;
  while (threads_.size() < size_) threads_.push_back(std::make_unique<Thread>());
  if (size_ % warp_width != 0) lanes_gone_[size_ / warp_width] = 0xffffffffu << size_ % warp_width;
  ready_.clear();
  for (unsigned i = 0; i < size_; ++i) {
    Thread& thread = *threads_[i];
    thread.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
    thread.number = i;
    thread.warp = i / warp_width;
    thread.lane = i % warp_width;
    thread.state = Thread::State::ready;
    thread.time = base_;
    thread.way = 0;
    thread.last = {};
    thread.collective = nullptr;
    thread.together = nullptr;
    thread.copies.clear();
    thread.products.clear();
    thread.fenced = thread.settled = thread.fenced_base = 0;
    thread.groups = thread.polls = 0;
    Fiber& fiber = *thread.fiber;
    fiber.stack = stacks_->of(i);
    fiber.self = boost::context::fiber(std::allocator_arg, KeptStack{fiber.stack},
                                       [this, &thread, body, argument](boost::context::fiber&& scheduler) {
                                         thread.fiber->scheduler = std::move(scheduler);
                                         thread.fiber->arrived();
                                         try {
                                           if (!stopping_) body(argument);
                                           if (!thread.products.reads.empty())
                                             report(ErrorKind::in_flight, thread.products_place,
                                                    "returns while a product of its warpgroup is in flight");
                                         } catch (const Stopped&) {
                                         } catch (...) {
                                           if (!failure_) failure_ = std::current_exception();
                                         }
                                         thread.state = Thread::State::exited;
                                         lanes_gone_[thread.warp] |= 1u << thread.lane;
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
void Block::suspend() {
  current_->fiber->suspend();
  if (stopping_) throw Stopped{};
}

/// Unwinds the stacks of those that have not returned.
void Block::stop_threads() {
  stopping_ = true;
  for (unsigned i = 0; i < size_; ++i) {
    if (threads_[i]->state != Thread::State::exited) resume(*threads_[i]);
  }
  stopping_ = false;
}

// ---- synchronisation

int Block::barrier(int predicate, Location where) {
  Thread& thread = *current_;
  if (waiting_at_barrier_ == 0) {
    barrier_place_ = where;
    predicates_ = 0;
  } else if (!same_place(where, barrier_place_)) {
    report(ErrorKind::barrier_divergence, where,
           sentence("waits at this barrier while other threads wait at the one in ", barrier_place_));
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
    threads_[i]->settled = threads_[i]->fenced;
    threads_[i]->way = 0;
    ready_.push_back(threads_[i].get());
  }
}

void Block::collective(Collective& arrival) {
  Thread& thread = *current_;
  const unsigned first = thread.warp * warp_width;
  const std::uint32_t mask = arrival.mask;
  if (!(mask >> thread.lane & 1)) {
    report(ErrorKind::collective, arrival.where,
           sentence(arrival.name, " with a mask that does not name the lane itself, ", thread.lane));
  }
  thread.collective = &arrival;
  thread.polls = 0;
  if (mask & lanes_gone_[thread.warp]) diagnose_collective(thread);
  std::uint32_t& waiting = lanes_waiting_[thread.warp];
  waiting |= 1u << thread.lane;
  thread.state = Thread::State::in_collective;
  bool complete = (waiting & mask) == mask;
  for (std::uint32_t rest = mask; complete && rest != 0; rest &= rest - 1) {
    const Collective& other = *threads_[first + static_cast<unsigned>(std::countr_zero(rest))]->collective;
    complete = other.mask == mask;
    if (complete &&
        (!same_text(other.name, arrival.name) || (arrival.aligned && !same_place(other.where, arrival.where)))) {
      report(ErrorKind::collective, arrival.where,
             sentence(arrival.name, " meets ", other.name, " of ", other.where, " in other lanes of its mask"));
    }
  }
  if (complete) {
    finish(arrival, thread.warp);
  } else {
    suspend();
  }
}

/// All lanes have arrived: the last one does the work for all and continues.
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
  if (collective.aligned) check_together(collective.name, collective.mask, warp, collective.where);
  if (collective.aligned || collective.orders_memory) come_together(collective.mask, warp);
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

/// The lanes of a mask are converged. Those of a part of the warp are not with the others.
void Block::come_together(std::uint32_t mask, unsigned warp) const {
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1)
    threads_[warp * warp_width + static_cast<unsigned>(std::countr_zero(rest))]->way = mask == 0xffffffffu ? 0 : mask;
}

/// The lanes of a mask accessed shared memory in the same lines in the same order since they converged: what differs
/// has diverged, and no instruction after that may take them to be together. (Lanes that diverge without an access to
/// shared memory are not seen.)
void Block::check_together(const char* name, std::uint32_t mask, unsigned warp, Location where) {
  const Thread& one = *threads_[warp * warp_width + static_cast<unsigned>(std::countr_zero(mask))];
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const Thread& other = *threads_[warp * warp_width + static_cast<unsigned>(std::countr_zero(rest))];
    if (other.way == one.way) continue;
    const auto last = [](const Thread& thread) {
      return thread.last.file ? sentence("in ", thread.last) : std::string("nowhere");
    };
    report(ErrorKind::diverged, other, where,
           sentence(name, " takes lanes to be converged, which have gone different ways since the last __syncwarp or ",
                    "barrier: thread ", one.index, " last used shared memory ", last(one), ", thread ", other.index,
                    " ", last(other)));
  }
}

void Block::aligned(const char* name, Location where) {
  Collective arrival{name, 0xffffffffu, where, nullptr, nullptr, false, true};
  collective(arrival);
}

void Block::warpgroup(WarpgroupCollective& arrival) {
  Thread& thread = *current_;
  const unsigned first = thread.number / warpgroup_width * warpgroup_width;
  if (first + warpgroup_width > size_)
    report(ErrorKind::collective, arrival.where,
           sentence(arrival.name, " takes four warps from warp ", first / warp_width, " on; the block has fewer"));
  thread.together = &arrival;
  thread.where = arrival.where;
  thread.polls = 0;
  thread.state = Thread::State::in_warpgroup;
  Together& all = together_[first / warpgroup_width];
  if (all.waiting == 0) all.first = &arrival;
  if (!same_place(all.first->where, arrival.where))
    report(ErrorKind::collective, arrival.where,
           sentence(arrival.name, " meets ", all.first->name, " of ", all.first->where,
                    " in other threads of its warpgroup"));
  if (++all.waiting < warpgroup_width) return suspend();
  all.waiting = 0;
  std::array<void*, warpgroup_width> exchange;
  for (unsigned i = 0; i < warpgroup_width; ++i) exchange[i] = threads_[first + i]->together->exchange;
  for (unsigned warp = first / warp_width; warp < (first + warpgroup_width) / warp_width; ++warp) {
    check_together(arrival.name, 0xffffffffu, warp, arrival.where);
    come_together(0xffffffffu, warp);
  }
  for (unsigned i = 0; i < warpgroup_width; ++i) {
    Thread& other = *threads_[first + i];
    other.state = Thread::State::ready;
    if (&other != current_) ready_.push_back(&other);
  }
  arrival.apply(exchange, arrival.where);
}

void Block::poll(Location where) {
  Thread& thread = *current_;
  if (thread.polls++ == 0) thread.polls_since = std::chrono::steady_clock::now();
  if (thread.polls % 64 == 0) std::this_thread::yield();
  if (thread.polls % 4096 == 0 &&
      std::chrono::steady_clock::now() - thread.polls_since > std::chrono::duration<double>(settings().patience)) {
    report(ErrorKind::no_progress, where,
           sentence("has waited for a flag for ", settings().patience,
                    " s: the block that should set it may not be running yet"));
  }
  ready_.push_back(&thread);
  suspend();
}

}  // namespace attest::cuda::emulation
