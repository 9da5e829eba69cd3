// SPDX-License-Identifier: MIT
#include "attest/spec/infini/segment_attention.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "attest/mpi/plugin.hpp"
#include "attest/mpi/ring.hpp"
#include "attest/mpi/states.hpp"
#include "attest/openmp/segments.hpp"

namespace attest::mpi::infini::segment_attention {

namespace contract = attest::spec::infini::segment_attention;
namespace engine = openmp::engine;

/// The segments of a sequence, which end where they end, whatever ranks have its tokens.
struct Segments {
  Index length;

  /// Where the segment of a token begins, or the one that begins there.
  Index begin_of(Index token) const { return token / length * length; }
};

/// States [memory | z] of a rank's tokens for each head: of those in segments that have ended by its last token,
/// `closed`, and of the others, `open`. Behind them 1 where a segment ends among the rank's tokens.
template <class T>
class SegmentStates {
public:
  SegmentStates(std::size_t heads, Index d, Index m)
      : d_(d), m_(m), each_(2 * d * (m + 1) + 1), numbers_(heads * static_cast<std::size_t>(each_)) {}

  View<T, 2> closed(std::size_t head) { return {at(head), {d_, m_ + 1}}; }
  View<T, 2> open(std::size_t head) { return {at(head) + d_ * (m_ + 1), {d_, m_ + 1}}; }
  void set_ended(std::size_t head) { at(head)[each_ - 1] = 1; }

  /// Those of all tokens before this rank's.
  void join_before(MPI_Comm ranks) { numbers_ = joined_before(numbers_, static_cast<int>(each_), join, ranks); }

private:
  T* at(std::size_t head) { return numbers_.data() + head * static_cast<std::size_t>(each_); }

  /// Where a segment ends behind, what was open before is closed there; else it stays open.
  static void join(void* before, void* behind, int* count, MPI_Datatype* type) {
    const auto [numbers, each] = numbers_of<T>(*count, *type);
    const std::size_t half = (each - 1) / 2;
    for (std::size_t state = 0; state < numbers; state += each) {
      const T* a = static_cast<T*>(before) + state;
      T* b = static_cast<T*>(behind) + state;
      for (std::size_t i = 0; i < half; ++i) {
        const T open = a[half + i];
        b[i] = b[each - 1] != 0 ? a[i] + open + b[i] : a[i];
        b[half + i] = b[each - 1] != 0 ? b[half + i] : open + b[half + i];
      }
      b[each - 1] = std::max(a[each - 1], b[each - 1]);
    }
  }

  Index d_, m_, each_;
  std::vector<T> numbers_;
};

/// The sums of some of a head's tokens.
template <class T>
void add_sums(const contract::In<T>& in, Index first, Index count, View<T, 2> state) {
  const Index m = in.v.extent(1);
  if (count == 0) return;
  engine::Recurrence<T> sums{.map = engine::map_of<T>(in.feature_map)};
  sums.k = in.k.rows(first, count), sums.v = in.v.rows(first, count);
  sums.S_after = state.columns(0, m), sums.z_after = state.column(m);
  engine::whole(sums, engine::Whole::state, 1);
}

/// Keys and values [k | v] of the tokens of each rank's first segment that lie on ranks before it, head behind head.
template <class T>
std::vector<T> begun_before(const std::vector<Head<T>>& heads, const World& world, const Parts& parts,
                            const Segments& segments) {
  const auto first = contract::read<T>(heads[0]);
  const Index d = first.k.extent(1), columns = d + first.v.extent(1);
  const auto begin = [&](int rank) { return parts.of(rank).empty() ? Index{0} : parts.of(rank)[0].begin; };
  // Of rank `from`, the tokens that rank `to` needs: [first, end).
  const auto needed = [&](int from, int to) -> std::pair<Index, Index> {
    if (parts.tokens(from) == 0 || parts.tokens(to) == 0) return {0, 0};
    const Index low = std::max(begin(from), segments.begin_of(begin(to)));
    return {low, std::max(low, std::min(begin(from) + parts.tokens(from), begin(to)))};
  };
  const auto ranks = static_cast<std::size_t>(world.size);
  std::vector<int> sent(ranks), send_at(ranks), received(ranks), receive_at(ranks);
  std::vector<T> out;
  std::vector<std::pair<Index, Index>> from(ranks);
  for (int rank = 0; rank < world.size; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const auto [low, end] = needed(world.rank, rank);
    send_at[r] = static_cast<int>(out.size());
    for (const Head<T>& head : heads) {
      const auto in = contract::read<T>(head);
      for (Index t = low; t < end; ++t) {
        const Index row = t - begin(world.rank);
        for (Index a = 0; a < d; ++a) out.push_back(in.k(row, a));
        for (Index b = 0; b < columns - d; ++b) out.push_back(in.v(row, b));
      }
    }
    sent[r] = static_cast<int>(out.size()) - send_at[r];
    from[r] = needed(rank, world.rank);
    received[r] = static_cast<int>((from[r].second - from[r].first) * columns * static_cast<Index>(heads.size()));
    receive_at[r] = rank == 0 ? 0 : receive_at[r - 1] + received[r - 1];
  }
  std::vector<T> got(static_cast<std::size_t>(receive_at.back() + received.back()));
  MPI_Alltoallv(out.data(), sent.data(), send_at.data(), type_of<T>(), got.data(), received.data(), receive_at.data(),
                type_of<T>(), world.forward);
  // By rank, then by head, as they came; by head, then by rank, as they lie in the sequence.
  std::vector<T> ordered;
  for (std::size_t h = 0; h < heads.size(); ++h)
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto each = received[r] / static_cast<int>(heads.size());
      const auto at = got.begin() + receive_at[r] + static_cast<int>(h) * each;
      ordered.insert(ordered.end(), at, at + each);
    }
  return ordered;
}

/// The outputs of a rank's tokens: those of the segment that its first token is in, begun with the tokens `before` of
/// other ranks [k | v], and of all behind it. `state` is [memory | z] before that segment.
template <class T>
void answer(const contract::In<T>& in, View<const T, 2> before, View<const T, 2> state, Index segment, View<T, 2> o) {
  const Index n = in.q.extent(0), d = in.q.extent(1), m = in.v.extent(1), more = before.extent(0);
  const auto tensor = [](Index rows, Index columns) {
    return std::vector<T>(static_cast<std::size_t>(rows * columns));
  };
  auto q = tensor(more + n, d), k = tensor(more + n, d), v = tensor(more + n, m), all = tensor(more + n, m);
  auto memory = tensor(d, m), z = tensor(d, 1);
  const auto rows = [](std::vector<T>& numbers, Index width, Index first, Index count) {
    return View<T, 2>(numbers.data() + first * width, {count, width});
  };
  copy<T>(before.columns(0, d), rows(k, d, 0, more));
  copy<T>(before.columns(d, m), rows(v, m, 0, more));
  copy<T>(in.q, rows(q, d, more, n));
  copy<T>(in.k, rows(k, d, more, n));
  copy<T>(in.v, rows(v, m, more, n));
  copy<T>(state.columns(0, m), rows(memory, m, 0, d));
  copy<T>(state.columns(m, 1), rows(z, 1, 0, d));
  contract::In<T> here = in;
  here.q = rows(q, d, 0, more + n), here.k = rows(k, d, 0, more + n), here.v = rows(v, m, 0, more + n);
  here.memory = rows(memory, m, 0, d), here.z = View<const T, 1>(z.data(), {d});
  here.segment = segment;
  openmp::infini::segment_attention::loop<T>(here, {.o = rows(all, m, 0, more + n), .memory = {}, .z = {}});
  copy<T>(rows(all, m, more, n), o);
}

/// Each rank reads the memory as it was before its first segment, which may have begun on ranks before it.
template <class T>
int parallel_linear(const attest_call* call) {
  return on_all_heads<T>(call, [&](const std::vector<Head<T>>& heads, const World& world) {
    const Parts parts(*call, "n", world.size);
    const auto first = contract::read<T>(heads[0]);
    const Index d = first.k.extent(1), m = first.v.extent(1), n = first.k.extent(0);
    if (first.segment.value_or(1) < 1) throw std::invalid_argument("segment must be at least 1");  // C1
    const Segments segments{std::max<Index>(1, std::min(first.segment.value_or(parts.total()), parts.total()))};
    const Index begin = n > 0 ? parts.of(world.rank)[0].begin : 0, end = begin + n;
    const Index closed = std::clamp<Index>(segments.begin_of(end) - begin, 0, n);
    SegmentStates<T> own(heads.size(), d, m);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto in = contract::read<T>(heads[h]);
      add_sums<T>(in, 0, closed, own.closed(h));
      add_sums<T>(in, closed, n - closed, own.open(h));
      if (n > 0 && segments.begin_of(end) > begin) own.set_ended(h);
    }
    SegmentStates<T> before = own;
    before.join_before(world.forward);
    const auto begun = begun_before<T>(heads, world, parts, segments);
    const Index more = n > 0 ? begin - segments.begin_of(begin) : 0;
    States<T> last(heads.size(), d, m + 1);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto in = contract::read<T>(heads[h]);
      const auto out = contract::write<T>(heads[h]);
      add_carried<T>(in.memory, in.z, before.closed(h));
      if (n > 0)
        answer<T>(in, {begun.data() + static_cast<Index>(h) * more * (d + m), {more, d + m}}, before.closed(h),
                  segments.length, out.o);
      for (auto some : {before.closed(h), before.open(h), own.closed(h), own.open(h)})
        add_carried<T>(some.columns(0, m), some.column(m), last.of(h));
    }
    last.take_from_last(world);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto out = contract::write<T>(heads[h]);
      write_state<T>(last.of(h), out.memory, out.z);
    }
  });
}

std::vector<attest_kernel> kernels() {
  constexpr const char *equation = contract::id.data(), *form = "parallel_linear",
                       *can = "ranks >= 1; update == 'linear'";
  return {kernel<float>(equation, form, can, parallel_linear<float>),
          kernel<double>(equation, form, can, parallel_linear<double>)};
}

}  // namespace attest::mpi::infini::segment_attention
