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

/// Elements of `Width` bytes that follow each other, to places that are `step` bytes apart.
template <std::size_t Width>
void spread(const std::byte* from, std::size_t elements, std::byte* to, std::size_t step) {
  for (std::size_t i = 0; i < elements; ++i) std::memcpy(to + i * step, from + i * Width, Width);
}

/// The same of elements of `width` bytes.
void spread(std::size_t width, const std::byte* from, std::size_t elements, std::byte* to, std::size_t step) {
  if (step == width) {
    std::memcpy(to, from, elements * width);
    return;
  }
  switch (width) {
    case 1: return spread<1>(from, elements, to, step);
    case 2: return spread<2>(from, elements, to, step);
    case 4: return spread<4>(from, elements, to, step);
    default: return spread<8>(from, elements, to, step);
  }
}

}  // namespace

bool is_contiguous(std::string_view memory) { return memory.empty() || memory == "offset"; }

View laid_out(const InputTensor& tensor, std::string_view memory, std::size_t number, std::size_t alignment) {
  constexpr std::string_view kInTurn[] = {"padded", "transposed", "", "offset"};
  if (tensor.is_table) memory = "";
  if (memory == "mixed") memory = kInTurn[number % std::size(kInTurn)];
  const std::size_t width = size_of(tensor.dtype), rank = tensor.shape.size();
  if (rank == 0 && !is_contiguous(memory)) memory = "";
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
  } else if (memory == "padded") {
    lies.back() = static_cast<Index>(aligned(static_cast<std::size_t>(lies.back()) + kApart, width, alignment));
  } else if (memory == "offset") {
    view.offset = aligned(kBefore, width, alignment) * width;
  }
  view.strides.assign(rank, 1);
  Index elements = 1;
  for (std::size_t i = rank; i-- > 0; elements *= lies[i]) view.strides[order[i]] = elements;
  if (is_contiguous(memory)) {
    view.buffer.reserve(tensor.bytes.size() + 2 * view.offset);
    view.buffer.assign(view.offset, filler(tensor.dtype));
    view.buffer.insert(view.buffer.end(), tensor.bytes.begin(), tensor.bytes.end());
    view.buffer.insert(view.buffer.end(), view.offset, filler(tensor.dtype));
    return view;
  }
  view.buffer.assign(static_cast<std::size_t>(elements) * width, filler(tensor.dtype));
  // Along the last axis, which not always is the innermost one.
  const auto row = static_cast<std::size_t>(tensor.shape.back()),
             step = static_cast<std::size_t>(view.strides.back()) * width;
  std::vector<Index> at(rank - 1, 0);
  std::size_t to = 0;
  for (std::size_t from = 0; from < tensor.bytes.size(); from += row * width) {
    spread(width, tensor.bytes.data() + from, row, view.buffer.data() + to, step);
    for (std::size_t axis = rank - 1; axis-- > 0;) {
      const std::size_t stride = static_cast<std::size_t>(view.strides[axis]) * width;
      to += stride;
      if (++at[axis] < tensor.shape[axis]) break;
      to -= static_cast<std::size_t>(tensor.shape[axis]) * stride;
      at[axis] = 0;
    }
  }
  return view;
}

void lay_out(Request& request, const CallOptions& options) {
  for (std::size_t i = 0; i < request.inputs.size(); ++i)
    request.inputs[i].view = laid_out(request.inputs[i], options.memory, i, options.alignment);
}

}  // namespace attest::judge
