// SPDX-License-Identifier: MIT
// The reports of a block: which error, where, and why no thread can continue.
#include "attest/cuda/emulated/block.hpp"

#include "sentence.hpp"

namespace attest::cuda::emulation {

void Block::report(ErrorKind kind, const Thread& thread, Location where, const std::string& what) {
  const std::string file = where.file;
  const std::string text = sentence(file.substr(file.rfind('/') + 1), ":", where.line, ": block ", blockIdx,
                                    ", thread ", thread.index, ": ", what, " [seed ", seed_, "]");
  throw Report(kind, blockIdx, thread.index, file, where.line, text);
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
  return sentence("thread ", thread.index, " is running");
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
                  " bytes past a multiple of its size"));
}

void Block::report_unwritten(std::uint32_t cell, Location where) {
  report(ErrorKind::unwritten, where,
         sentence("reads shared memory at byte ", cell * cell_bytes, ", which no thread has written"));
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
                  threads_[cell.writer]->index, " issued in ", cell.write_place(), " is in flight"));
}

void Block::report_product_in_flight(std::uint32_t index, Location where) {
  report(ErrorKind::in_flight, where,
         sentence("writes shared memory at byte ", index * cell_bytes, ", which a product in flight reads, issued in ",
                  cells_[index].read_place()));
}

}  // namespace attest::cuda::emulation
