// SPDX-License-Identifier: MIT
// The products of a warpgroup as the PTX ISA words them: operands by descriptor, through the asynchronous proxy;
// results when they are waited for, not before.
#include "attest/cuda/device.hpp"

#include <algorithm>

namespace attest::cuda::emulation {

namespace {

constexpr int kDepth = 16, kLaneValues = 4;
constexpr std::uint32_t in_flight_bits =
    0x7fbfdead;  // until its product has been waited for: a signalling NaN, which arithmetic changes

/// A matrix descriptor without swizzle. Rows are those along M or N.
struct Layout {
  std::uint32_t start, leading, stride;

  Layout(std::uint64_t bits, Location where) {
    const auto field = [&](int first) { return static_cast<std::uint32_t>(bits >> first & 0x3fff) << 4; };
    start = field(0);
    leading = field(16);
    stride = field(32);
    if (bits & ~0x00003fff3fff3fffull)
      block(where).report(
          ErrorKind::misaligned, where,
          "a descriptor with a swizzle, a base offset or bits that have no meaning: none of these is emulated");
  }
  /// The core matrix that has these rows (or, read by columns, this depth) lies in 128 consecutive bytes.
  std::uint32_t core(int row, int depth) const {
    return start + static_cast<std::uint32_t>(row / 8) * stride + static_cast<std::uint32_t>(depth / 8) * leading;
  }
};

/// Reads matrix[row][depth] from row 0 on, as the descriptor describes.
void read_matrix(float (*matrix)[kDepth], int rows, std::uint64_t bits, Major major, WarpgroupRead& read,
                 Location where) {
  const Layout layout(bits, where);
  for (int row = 0; row < rows; row += 8) {
    for (int depth = 0; depth < kDepth; depth += 8) {
      for (int line = 0; line < 8; ++line) {
        __nv_bfloat16 eight[8];
        running->read_by_product(layout.core(row, depth) + static_cast<std::uint32_t>(line) * 16, eight, read, where);
        for (int x = 0; x < 8; ++x) {
          if (major == Major::k)
            matrix[row + line][depth + x] = to_float(eight[x]);
          else
            matrix[row + x][depth + line] = to_float(eight[x]);
        }
      }
    }
  }
}

/// Whether the registers are what warpgroup_fence saw.
bool is_fenced(const WarpgroupState& mine, const void* begin, std::size_t words) {
  for (const auto& fenced : mine.fenced) {
    const auto offset = static_cast<const char*>(begin) - static_cast<const char*>(fenced.begin);
    if (offset < 0 || static_cast<std::size_t>(offset) + 4 * words > 4 * fenced.words.size()) continue;
    return std::memcmp(begin, reinterpret_cast<const char*>(fenced.words.data()) + offset, 4 * words) == 0;
  }
  return false;
}

bool is_in_flight(const float* values, std::size_t count) {
  return std::any_of(values, values + count, [](float x) { return __float_as_uint(x) == in_flight_bits; });
}

/// The values of this lane's accumulators at the start of a product. From here on the accumulators are in flight.
WarpgroupState::Sum& start_sum(const WarpgroupOperands& mine, Location where) {
  WarpgroupState& products = block(where).me().products;
  const auto count = static_cast<std::size_t>(mine.fragments * kLaneValues);
  for (auto& sum : products.sums) {
    if (sum.begin == mine.c && sum.values.size() == count) {  // sums of one shape may follow each other
      sum.group = products.groups;
      return sum;
    }
  }
  if (is_in_flight(mine.c, count))
    block(where).report(ErrorKind::in_flight, where,
                        "adds to an accumulator of another product that has not been waited for");
  if (!is_fenced(products, mine.c, count))
    block(where).report(ErrorKind::unfenced, where,
                        "an accumulator that changed since the last warpgroup_fence, or that none has named");
  products.sums.push_back({mine.c, {mine.c, mine.c + count}, products.groups});
  std::fill_n(mine.c, count, __uint_as_float(in_flight_bits));
  return products.sums.back();
}

/// Operands of 128 lanes put together, multiplied, and handed to the lanes for later. The places are those of the PTX
/// ISA.
void product(const std::array<void*, warpgroup_width>& lanes, Location where) {
  const auto lane_of = [&](int i) -> WarpgroupOperands& {
    return *static_cast<WarpgroupOperands*>(lanes[static_cast<std::size_t>(i)]);
  };
  const WarpgroupOperands& one = lane_of(0);
  for (int i = 1; i < static_cast<int>(warpgroup_width); ++i) {
    const WarpgroupOperands& other = lane_of(i);
    if (other.left != one.left || other.right != one.right || other.fragments != one.fragments)
      block(where).report(ErrorKind::collective, where,
                          "descriptors that are not the same in all threads of the warpgroup");
  }
  const auto read = running->start_of_product();
  std::vector<float> left(64 * kDepth), right(static_cast<std::size_t>(8 * one.fragments * kDepth));
  auto* a = reinterpret_cast<float(*)[kDepth]>(left.data());
  auto* b = reinterpret_cast<float(*)[kDepth]>(right.data());
  read_matrix(b, 8 * one.fragments, one.right, one.right_major, *read, where);
  if (one.a) {
    for (int i = 0; i < static_cast<int>(warpgroup_width); ++i) {
      const auto mine = std::bit_cast<MatrixA<__nv_bfloat16>>(*lane_of(i).a);
      for (int x = 0; x < mine.size; ++x)
        a[i / 32 * 16 + i % 32 / 4 + x / 2 % 2 * 8][x / 4 * 8 + i % 4 * 2 + x % 2] = to_float(mine.values[x]);
    }
  } else {
    read_matrix(a, 64, one.left, Major::k, *read, where);
  }
  for (int warp = 0; warp < 4; ++warp) {
    for (int e = 0; e < one.fragments; ++e) {
      float* c[16][8];
      for (int i = 0; i < 32; ++i)
        for (int x = 0; x < kLaneValues; ++x)
          c[i / 4 + x / 2 * 8][i % 4 * 2 + x % 2] = lane_of(warp * 32 + i).result + e * kLaneValues + x;
      add_bf16_products(*reinterpret_cast<float(*)[16][kDepth]>(a + 16 * warp),
                        *reinterpret_cast<float(*)[8][kDepth]>(b + 8 * e), c);
    }
  }
  for (int i = 0; i < static_cast<int>(warpgroup_width); ++i) lane_of(i).read = read;
}

}  // namespace

void warpgroup_fence(Location where) { block(where).aligned("warpgroup_fence", where); }

void fence_registers(const void* begin, std::size_t bytes) {
  auto& fenced = running->me().products.fenced;
  std::erase_if(fenced, [&](const auto& other) { return other.begin == begin; });
  std::vector<std::uint32_t> words(bytes / sizeof(std::uint32_t));
  std::memcpy(words.data(), begin, bytes);
  fenced.push_back({begin, std::move(words)});
}

void warpgroup_multiply_add(WarpgroupOperands& mine, Location where) {
  Block& here = block(where);
  WarpgroupState& products = here.me().products;
  if (settings().capability != 90)
    here.report(ErrorKind::launch, where, "a product of a warpgroup on a device that has none");
  if (mine.a) {
    if (!is_fenced(products, mine.a->words, std::size(mine.a->words)))
      here.report(ErrorKind::unfenced, where,
                  "an operand in registers that changed since the last warpgroup_fence, or that none has named");
    products.operands.push_back({mine.a->words, std::to_array(mine.a->words), products.groups});
  }
  mine.result = start_sum(mine, where).values.data();
  here.me().products_place = where;
  WarpgroupCollective arrival{"multiply_add of a warpgroup", where, &mine, product};
  here.warpgroup(arrival);
  products.reads.push_back({mine.read, products.groups});
}

void commit_products(Location where) {
  block(where).aligned("warpgroup_commit", where);
  ++block(where).me().products.groups;
}

void wait_for_products(std::uint32_t groups_in_flight, const WarpgroupRegisters& named, Location where) {
  Block& here = block(where);
  here.aligned("warpgroup_wait", where);
  WarpgroupState& products = here.me().products;
  const auto done = [&](const auto& x) { return x.group + groups_in_flight < products.groups; };
  for (const auto& sum : products.sums) {
    if (!done(sum)) continue;
    if (sum.begin < named.sums || sum.begin + sum.values.size() > named.sums + named.sum_count)
      here.report(ErrorKind::in_flight, where, "a product's accumulator is not named where it is waited for");
    if (!std::all_of(sum.begin, sum.begin + sum.values.size(),
                     [](float x) { return __float_as_uint(x) == in_flight_bits; }))
      here.report(ErrorKind::in_flight, where, "an accumulator was changed while its product was in flight");
    std::copy(sum.values.begin(), sum.values.end(), sum.begin);
  }
  std::erase_if(products.sums, done);
  for (const auto& operand : products.operands) {
    if (!done(operand)) continue;
    const auto* const end = named.a + named.a_count;
    if (std::none_of(named.a, end, [&](const PackedA& a) { return a.words == operand.begin; }))
      here.report(ErrorKind::in_flight, where, "a product's operand in registers is not named where it is waited for");
    if (!std::equal(operand.words.begin(), operand.words.end(), operand.begin))
      here.report(ErrorKind::in_flight, where, "an operand in registers was changed while its product was in flight");
  }
  std::erase_if(products.operands, done);
  for (const auto& read : products.reads)
    if (done(read) && --read.of->waited_for_by == 0) here.end_of_product(*read.of);
  std::erase_if(products.reads, done);
  products.fenced.clear();
}

}  // namespace attest::cuda::emulation
