// SPDX-License-Identifier: MIT
#include "attest/cuda/emulated/block.hpp"

#include "fiber.hpp"

#include <new>
#include <sstream>
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

bool same_place(Location a, Location b) { return a.line == b.line && std::strcmp(a.file, b.file) == 0; }

std::uint32_t aligned(std::size_t bytes) { return static_cast<std::uint32_t>((bytes + 15) / 16 * 16); }

// Parts of the reports' sentences.
struct Lanes {
  std::uint32_t mask;
};
std::ostream& operator<<(std::ostream& out, uint3 i) { return out << '(' << i.x << ',' << i.y << ',' << i.z << ')'; }
std::ostream& operator<<(std::ostream& out, Location where) { return out << "line " << where.line; }
std::ostream& operator<<(std::ostream& out, Lanes lanes) {  // 0-15,31
  const char* comma = "";
  for (unsigned first = 0; first < warp_width; ++first) {
    if (!(lanes.mask >> first & 1)) continue;
    const auto length = static_cast<unsigned>(std::countr_one(lanes.mask >> first));
    out << comma << first;
    if (length > 1) out << '-' << first + length - 1;
    first += length;
    comma = ",";
  }
  return out;
}
template <class... Parts>
std::string sentence(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

}  // namespace

Thread::Thread() : fiber(std::make_unique<Fiber>()) {}
Thread::~Thread() = default;

Block::Block()
    : bytes_(new std::byte[shared_limit]),
      cells_(static_cast<Cell*>(std::calloc(shared_limit / cell_bytes, sizeof(Cell)))),
      used_(shared_limit),
      stacks_(std::make_unique<Stacks>()) {
  if (!cells_) throw std::bad_alloc();
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
    std::fill_n(cells_.get(), shared_limit / cell_bytes, Cell{});
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
    if (complete && ((other.name != arrival.name && std::strcmp(other.name, arrival.name) != 0) ||
                     (arrival.aligned && !same_place(other.where, arrival.where)))) {
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
  bool complete = true;
  std::array<void*, warpgroup_width> exchange;
  for (unsigned i = 0; i < warpgroup_width; ++i) {
    const Thread& other = *threads_[first + i];
    if (other.state != Thread::State::in_warpgroup) {
      complete = false;
      continue;
    }
    exchange[i] = other.together->exchange;
    if (!same_place(other.where, arrival.where))
      report(ErrorKind::collective, arrival.where,
             sentence(arrival.name, " meets ", other.together->name, " of ", other.where,
                      " in other threads of its warpgroup"));
  }
  if (!complete) return suspend();
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

// ---- the asynchronous proxy, by which products of warpgroups read shared memory

void Block::fence_proxies() {
  Thread& thread = *current_;
  thread.time = thread.fenced = ++now_;
  thread.fenced_base = base_;
}

void Block::read_by_product(std::uint32_t offset, void* sixteen_bytes, WarpgroupRead& read, Location where) {
  constexpr std::uint32_t row = 16;
  if (offset + row > used_)
    report(ErrorKind::out_of_bounds, where,
           sentence("a product reads shared memory at byte ", offset, "; the block has ", used_));
  for (std::uint32_t i = offset / cell_bytes; i < (offset + row) / cell_bytes; ++i) {
    note_read(i, where);
    if (!racecheck_) continue;
    Cell& cell = cells_[i];
    if (cell.written >= threads_[cell.writer]->settled && cell.written >= current_->fenced_base)
      report(ErrorKind::unfenced, where,
             sentence("a product reads shared memory at byte ", i * cell_bytes, ", which thread ",
                      threads_[cell.writer]->index, " wrote in ", cell.write_place, " with no fence_proxies after it"));
    cell.readers.several_warps = true;
    ++cell.products;
    read.cells.push_back(i);
  }
  std::memcpy(sixteen_bytes, bytes_.get() + offset, row);
}

void Block::end_of_product(const WarpgroupRead& read) {
  for (const std::uint32_t i : read.cells) --cells_[i].products;
}

// ---- copies in flight

void Block::copy_async(const Copy& copy, Location where) {
  if (copy.valid > copy.bytes)
    report(ErrorKind::out_of_bounds, where, "an async copy of more valid bytes than it moves");
  for (std::uint32_t i = 0; i < copy.bytes / cell_bytes; ++i) note_write(copy.to / cell_bytes + i, true, where);
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
      cell.in_flight = false;
      cell.written = thread.time;
    }
  }
  thread.copies.erase(thread.copies.begin(), thread.copies.begin() + static_cast<std::ptrdiff_t>(landed));
}

// ---- shared memory

std::uint32_t Block::allocate_static(std::atomic<std::uint32_t>& slot, std::size_t bytes, Location where) {
  if (stacks_->contains(&slot)) {
    report(ErrorKind::shared_memory, where, "a Shared that is not declared __shared__: each thread has one of its own");
  }
  if (bytes > static_shared_limit - static_used_) {
    report(ErrorKind::shared_memory, where,
           sentence("static shared memory of ", static_used_ + bytes,
                    " bytes; 48 KiB is the limit, more must be dynamic"));
  }
  const std::uint32_t begin = used_, size = aligned(bytes);
  if (begin + size > shared_limit) {
    report(ErrorKind::shared_memory, where,
           sentence(begin + bytes, " bytes of shared memory, static and dynamic; 227 KiB is the limit"));
  }
  static_used_ += size;
  used_ += size;
  static std::atomic<std::uint32_t> slots{0};
  std::uint32_t number = slot.load();
  if (number == 0) {
    const std::uint32_t fresh = ++slots;
    number = slot.compare_exchange_strong(number, fresh) ? fresh : number;
  }
  if (number >= statics_.size()) statics_.resize(number + 1);
  statics_[number] = {serial_, begin};
  return begin;
}

std::uint32_t Block::take_dynamic(std::uint32_t begin, std::size_t bytes, Location where) {
  if (bytes > shared_limit || begin + bytes > dynamic_bytes_) {
    report(ErrorKind::shared_memory, where,
           sentence("takes dynamic shared memory up to byte ", begin + bytes, " where the launch gave ", dynamic_bytes_,
                    " bytes"));
  }
  return begin + aligned(bytes);
}

// ---- reports

void Block::report(ErrorKind mistake, const Thread& thread, Location where, const std::string& what) {
  const std::string file = where.file;
  const std::string text = sentence(file.substr(file.rfind('/') + 1), ":", where.line, ": block ", blockIdx,
                                    ", thread ", thread.index, ": ", what, " [seed ", seed_, "]");
  throw Report(mistake, blockIdx, thread.index, file, where.line, text);
}

std::string Block::describe(const Thread& thread) const {
  switch (thread.state) {
    case Thread::State::exited: return sentence("thread ", thread.index, " has returned");
    case Thread::State::at_barrier: return sentence("thread ", thread.index, " waits at the barrier in ", thread.where);
    case Thread::State::in_collective:
      return sentence("thread ", thread.index, " waits at ", thread.collective->name, " in ", thread.collective->where);
    case Thread::State::in_warpgroup:
      return sentence("thread ", thread.index, " waits at ", thread.together->name, " in ", thread.where);
    case Thread::State::ready: break;
  }
  return sentence("thread ", thread.index, " is in flight");
}

/// No thread can continue. A warp operation that lacks lanes is reported first: it may keep the others from the
/// barrier.
void Block::diagnose_deadlock() {
  const Thread* at_barrier = nullptr;
  for (unsigned i = 0; i < size_; ++i) {
    const Thread& thread = *threads_[i];
    if (thread.state == Thread::State::in_collective) diagnose_collective(thread);
    if (thread.state == Thread::State::in_warpgroup) diagnose_warpgroup(thread);
    if (thread.state == Thread::State::at_barrier && at_barrier == nullptr) at_barrier = &thread;
  }
  for (unsigned i = 0; i < size_; ++i) {
    const Thread& thread = *threads_[i];
    if (thread.state == Thread::State::exited) {
      report(ErrorKind::barrier_divergence, *at_barrier, at_barrier->where,
             sentence("waits at a barrier that ", size_ - waiting_at_barrier_, " of ", size_,
                      " threads never reach: ", describe(thread)));
    }
  }
  std::abort();  // everybody at one barrier: that is a release
}

/// Reports a lane that this operation waits for and that will not arrive.
void Block::diagnose_collective(const Thread& thread) {
  const Collective& waiting = *thread.collective;
  const auto fail = [&](const auto&... why) {
    report(
        ErrorKind::collective, thread, waiting.where,
        sentence(waiting.name, " waits for lanes ", Lanes{waiting.mask}, " of warp ", thread.warp, ", but ", why...));
  };
  for (std::uint32_t rest = waiting.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const unsigned other = thread.warp * warp_width + lane;
    if (other >= size_) fail("the block ends before lane ", lane);
    const Thread& missing = *threads_[other];
    if (missing.state == Thread::State::in_collective && missing.collective->mask != waiting.mask) {
      fail("lane ", lane, " comes with another mask: ", describe(missing), " for lanes ",
           Lanes{missing.collective->mask});
    } else if (missing.state != Thread::State::in_collective && missing.state != Thread::State::ready) {
      fail("lane ", lane, " does not come: ", describe(missing));
    }
  }
  std::abort();  // complete: that is no deadlock
}

/// Reports a thread that this product waits for and that will not arrive; where that thread waits for lanes of its
/// warp, their operation is reported.
void Block::diagnose_warpgroup(const Thread& thread) {
  const unsigned first = thread.number / warpgroup_width * warpgroup_width;
  for (unsigned i = 0; i < warpgroup_width; ++i) {
    const Thread& missing = *threads_[first + i];
    if (missing.state == Thread::State::in_collective) diagnose_collective(missing);
    if (missing.state != Thread::State::in_warpgroup)
      report(ErrorKind::collective, thread, thread.where,
             sentence(thread.together->name, " waits for the four warps of its warpgroup, but ", describe(missing)));
  }
  std::abort();  // complete: that is no deadlock
}

void Block::report_out_of_bounds(const int* at, const int* extents, int rank, int count, Location where) {
  if (count > 1) {
    report(ErrorKind::out_of_bounds, where,
           sentence(count, " shared elements from ", at[0], " on in a row of ", extents[0]));
  }
  std::ostringstream index, shape;
  for (int axis = 0; axis < rank; ++axis) {
    index << (axis ? "," : "") << at[axis];
    shape << '[' << extents[axis] << ']';
  }
  report(ErrorKind::out_of_bounds, where, sentence("shared element (", index.str(), ") of an array ", shape.str()));
}

void Block::report_misaligned(std::size_t bytes, std::size_t remainder, const char* memory, Location where) {
  report(ErrorKind::misaligned, where,
         sentence("an access of ", bytes, " bytes to ", memory, " memory, ", remainder,
                  " bytes behind a multiple of its size"));
}

void Block::report_unwritten(std::uint32_t cell, Location where) {
  report(ErrorKind::unwritten, where,
         sentence("reads shared memory at byte ", cell * cell_bytes, ", which no_thread has written"));
}

void Block::report_race(std::uint32_t index, const char* verb, unsigned other, const char* did, Location there,
                        Location where) {
  const std::string who = other < size_ ? sentence("thread ", threads_[other]->index) : "a thread of another warp";
  report(ErrorKind::race, where,
         sentence(verb, " shared memory at byte ", index * cell_bytes, ", which ", who, " ", did, " in ", there,
                  " with no barrier between them"));
}

void Block::report_copy_in_flight(std::uint32_t index, Location where) {
  const Cell& cell = cells_[index];
  report(ErrorKind::in_flight, where,
         sentence("uses shared memory at byte ", index * cell_bytes, " to which the async copy that thread ",
                  threads_[cell.writer]->index, " issued in ", cell.write_place, " is in flight"));
}

void Block::report_product_in_flight(std::uint32_t index, Location where) {
  report(ErrorKind::in_flight, where,
         sentence("writes shared memory at byte ", index * cell_bytes, ", which a product in flight reads, issued in ",
                  cells_[index].read_place));
}

}  // namespace attest::cuda::emulation
