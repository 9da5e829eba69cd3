// SPDX-License-Identifier: MIT
// Shared memory of a block: allocation, asynchronous copies, and reads by products of warpgroups.
#include "attest/cuda/emulated/block.hpp"

#include "attest/cuda/emulated/types.hpp"
#include "attest/cuda/swizzle.hpp"

#include "fiber.hpp"
#include "sentence.hpp"

namespace attest::cuda::emulation {

// ---- the asynchronous proxy, by which products of warpgroups read shared memory

void Block::fence_proxies() {
  Thread& thread = *current_;
  thread.time = thread.fenced = ++now_;
  thread.fenced_base = base_;
}

std::shared_ptr<WarpgroupRead> Block::start_of_product() const {
  const unsigned first = current_->number / warpgroup_width * warpgroup_width;
  auto read = std::make_shared<WarpgroupRead>();
  read->fenced_by_all = threads_[first]->fenced_base;
  for (unsigned i = 1; i < warpgroup_width; ++i)
    read->fenced_by_all = std::min(read->fenced_by_all, threads_[first + i]->fenced_base);
  return read;
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
    if (cell.written >= threads_[cell.writer]->settled && cell.written >= read.fenced_by_all)
      report(
          ErrorKind::unfenced, where,
          sentence("a product reads shared memory at byte ", i * cell_bytes, ", which thread ",
                   threads_[cell.writer]->index, " wrote in ", cell.write_place(),
                   " with no fence_proxies after it, of the thread itself before a barrier or of all that multiply"));
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
  note_way(where);
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
  // Dynamic memory lies behind, at a multiple of its alignment.
  std::uint32_t both = static_used_ + size;
  if (dynamic_bytes_ > 0) both = (both + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment + dynamic_bytes_;
  if (const Device& on = device(); both > on.shared_limit) {
    report(ErrorKind::shared_memory, where,
           sentence(both, " bytes of shared memory, static and dynamic; ", on.shared_limit / 1024,
                    " KiB is the limit of compute capability ", on.capability));
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
  if (bytes > shared_capacity || begin + bytes > dynamic_bytes_) {
    report(ErrorKind::shared_memory, where,
           sentence("takes dynamic shared memory up to byte ", begin + bytes, " where the launch gave ", dynamic_bytes_,
                    " bytes"));
  }
  return begin + aligned(bytes);
}

}  // namespace attest::cuda::emulation
