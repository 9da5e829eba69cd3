// SPDX-License-Identifier: MIT
#include "attest/judge/memory.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "attest/dtype.hpp"

namespace attest::judge {
namespace {

constexpr std::size_t kApart = 3;   // elements between two rows, at least
constexpr std::size_t kBefore = 5;  // elements before and behind a tensor inside of a buffer, at least

/// So many elements, or more where their bytes are to be a multiple of the alignment.
std::size_t aligned(std::size_t elements, std::size_t width, std::size_t alignment) {
  while (alignment > 0 && elements * width % alignment != 0) ++elements;
  return elements;
}

std::byte filler(DType dtype) { return dtype == DType::boolean ? std::byte{1} : std::byte{0xff}; }

}  // namespace

bool is_contiguous(std::string_view memory) { return memory.empty() || memory == "offset"; }

View laid_out(const InputTensor& tensor, std::string_view memory, std::size_t number, std::size_t alignment) {
  constexpr std::string_view kInTurn[] = {"padded", "transposed", "", "offset"};
  if (tensor.is_table) memory = "";
  if (memory == "mixed") memory = kInTurn[number % std::size(kInTurn)];
  const std::size_t width = size_of(tensor.dtype), rank = tensor.shape.size();
  std::vector<Index> lies = tensor.shape;  // extents in memory, outermost first
  std::vector<std::size_t> order(rank);    // axis of each
  for (std::size_t axis = 0; axis < rank; ++axis) order[axis] = axis;
  View view;
  const std::size_t one = rank <= 2 ? 0 : rank - 3;  // the first of two axes that are exchanged
  // One of a single element would leave all where it is.
  if (memory == "transposed" && rank >= 2 && std::min(lies[one], lies[one + 1]) == 1) memory = "padded";
  if (memory == "transposed" && rank >= 2) {
    std::swap(lies[one], lies[one + 1]);
    std::swap(order[one], order[one + 1]);
  } else if (memory == "padded" && rank >= 1) {
    lies.back() = static_cast<Index>(aligned(static_cast<std::size_t>(lies.back()) + kApart, width, alignment));
  } else if (memory == "offset") {
    view.offset = aligned(kBefore, width, alignment) * width;
  }
  view.strides.assign(rank, 1);
  Index elements = 1;
  for (std::size_t i = rank; i-- > 0; elements *= lies[i]) view.strides[order[i]] = elements;
  view.buffer.assign(static_cast<std::size_t>(elements) * width + 2 * view.offset, filler(tensor.dtype));
  if (is_contiguous(memory)) {
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), view.buffer.begin() + static_cast<std::ptrdiff_t>(view.offset));
    return view;
  }
  // Runs along the last axis lie together, unless that is not the innermost one.
  const std::size_t run = rank > 0 && view.strides.back() == 1 ? static_cast<std::size_t>(tensor.shape.back()) : 1;
  std::vector<Index> at(rank, 0);
  for (std::size_t from = 0; from < tensor.bytes.size(); from += run * width) {
    std::size_t to = view.offset;
    for (std::size_t axis = 0; axis < rank; ++axis)
      to += static_cast<std::size_t>(at[axis] * view.strides[axis]) * width;
    std::memcpy(view.buffer.data() + to, tensor.bytes.data() + from, run * width);
    std::size_t axis = rank;
    for (std::size_t step = run; axis-- > 0; step = 1) {
      at[axis] += static_cast<Index>(step);
      if (at[axis] < tensor.shape[axis]) break;
      at[axis] = 0;
    }
  }
  return view;
}

}  // namespace attest::judge
