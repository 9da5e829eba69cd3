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
using openmp::Column;
using openmp::RowMajor;

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

/// What the delta updates of the segments that end among a rank's tokens make of the memory M before them, for each
/// head: M + G M + B.
template <class T>
class SegmentMaps {
public:
  SegmentMaps(std::size_t heads, Index d, Index m)
      : d_(d), m_(m), each_(1 + d * (d + m)), numbers_(heads * static_cast<std::size_t>(each_)) {
    for (std::size_t head = 0; head < heads; ++head) at(head)[0] = static_cast<T>(d);
  }

  /// M after the segments.
  RowMajor<T> of(std::size_t head, const RowMajor<T>& memory) { return memory + G(head) * memory + B(head); }
  /// One more segment, behind the others: M becomes A M + B.
  void add(std::size_t head, const openmp::infini::Affine<T>& map) {
    const RowMajor<T> more = map.A - RowMajor<T>::Identity(d_, d_);
    join(G(head), B(head), more, map.B, G(head), B(head));
  }
  /// Those of all tokens before this rank's.
  void join_before(MPI_Comm ranks) { numbers_ = joined_before(numbers_, static_cast<int>(each_), join_states, ranks); }

private:
  using Part = Eigen::Map<RowMajor<T>>;
  T* at(std::size_t head) { return numbers_.data() + head * static_cast<std::size_t>(each_); }
  Part G(std::size_t head) { return {at(head) + 1, d_, d_}; }
  Part B(std::size_t head) { return {at(head) + 1 + d_ * d_, d_, m_}; }

  template <class X, class Y>
  static void join(const Part& G1, const Part& B1, const X& G2, const Y& B2, Part G, Part B) {
    const RowMajor<T> both_G = G1 + G2 + G2 * G1, both_B = B1 + G2 * B1 + B2;
    G = both_G, B = both_B;
  }
  /// The first number of a state is d: an operation of MPI knows how many numbers there are, and nothing else.
  static void join_states(void* before, void* behind, int* count, MPI_Datatype* type) {
    const auto [numbers, each] = numbers_of<T>(*count, *type);
    for (std::size_t state = 0; state < numbers; state += each) {
      T *a = static_cast<T*>(before) + state, *b = static_cast<T*>(behind) + state;
      const Index d = static_cast<Index>(b[0]), m = (static_cast<Index>(each) - 1) / d - d;
      const Part G(b + 1, d, d), B(b + 1 + d * d, d, m);
      join(Part(a + 1, d, d), Part(a + 1 + d * d, d, m), G, B, G, B);
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
std::vector<T> begun_before(const std::vector<Head>& heads, const World& world, const Parts& parts,
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
    for (const Head& head : heads) {
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

/// The rows of ranks before, then this rank's.
template <class T>
RowMajor<T> stacked(View<const T, 2> before, View<const T, 2> own) {
  RowMajor<T> all(before.extent(0) + own.extent(0), own.extent(1));
  all.topRows(before.extent(0)) = openmp::matrix(before);
  all.bottomRows(own.extent(0)) = openmp::matrix(own);
  return all;
}

/// The outputs of a rank's tokens: those of the segment that its first token is in, begun with the tokens `before` of
/// other ranks [k | v], and of all behind it. `state` is that before that segment.
template <class T>
void answer(const contract::In<T>& in, View<const T, 2> before, const openmp::infini::State<T>& state, Index segment,
            View<T, 2> o) {
  const Index n = in.q.extent(0), d = in.q.extent(1), m = in.v.extent(1), more = before.extent(0);
  const auto k = stacked<T>(before.columns(0, d), in.k), v = stacked<T>(before.columns(d, m), in.v);
  const auto q = stacked<T>(before.columns(0, d), in.q);  // what those of other ranks answer is not asked
  RowMajor<T> all(more + n, m);
  contract::In<T> here = in;
  here.q = openmp::view(q), here.k = openmp::view(k), here.v = openmp::view(v);
  here.memory = openmp::view(state.memory), here.z = View<const T, 1>(state.z.data(), {d});
  here.segment = segment;
  openmp::infini::segment_attention::loop<T>(here, {.o = openmp::view(all), .memory = {}, .z = {}});
  openmp::matrix(o) = all.bottomRows(n);
}

/// The maps of the segments that end among a rank's tokens, the first begun with the tokens `before` of other ranks
/// [k | v], z being that before it; the last segment of the sequence ends with it. `first` is the first token of the
/// first segment.
template <class T>
void add_maps(const contract::In<T>& in, View<const T, 2> before, Column<T> z, const Segments& segments, Index first,
              Index total, std::size_t head, SegmentMaps<T>& maps) {
  const Index d = in.k.extent(1);
  const auto k = stacked<T>(before.columns(0, d), in.k);
  const auto v = stacked<T>(before.columns(d, in.v.extent(1)), in.v);
  const RowMajor<T> phi = openmp::features(in.feature_map, openmp::view(k));
  for (Index at = 0, end = 0; at < k.rows(); at = end) {
    end = std::min(at + segments.length, k.rows());
    if (end - at < segments.length && first + end < total) break;  // it ends on another rank
    const auto own = phi.middleRows(at, end - at);
    maps.add(head, openmp::infini::segment_map(own, v.middleRows(at, end - at), z, T(0), in.zero_denominator));
    z += own.colwise().sum().transpose();
  }
}

/// Each rank reads the memory as it was before its first segment, which may have begun on ranks before it.
template <class T, contract::Update update>
int segments_of_ranks(const attest_call* call) {
  return on_all_heads(call, [&](const std::vector<Head>& heads, const World& world) {
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
    const auto begun_of = [&](std::size_t h) {
      return View<const T, 2>(begun.data() + static_cast<Index>(h) * more * (d + m), {more, d + m});
    };
    // Linear sums, which z is in either case; then the maps of delta updates, which take it.
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto in = contract::read<T>(heads[h]);
      add_carried<T>(in.memory, in.z, before.closed(h));
    }
    SegmentMaps<T> maps(heads.size(), d, m);
    if constexpr (update == contract::Update::delta)
      for (std::size_t h = 0; h < heads.size() && n > 0; ++h)
        add_maps<T>(contract::read<T>(heads[h]), begun_of(h), openmp::vector(before.closed(h).column(m)), segments,
                    begin - more, parts.total(), h, maps);
    SegmentMaps<T> maps_before = maps;
    if constexpr (update == contract::Update::delta) maps_before.join_before(world.forward);
    States<T> last(heads.size(), d, m + 1);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto in = contract::read<T>(heads[h]);
      const auto out = contract::write<T>(heads[h]);
      const auto linear = before.closed(h);
      openmp::infini::State<T> state{openmp::matrix(linear.columns(0, m)), openmp::vector(linear.column(m))};
      if constexpr (update == contract::Update::delta)
        state.memory = maps_before.of(h, openmp::infini::carried(in.memory, {}, d, m).memory);
      if (n > 0) answer<T>(in, begun_of(h), state, segments.length, out.o);
      for (auto some : {before.closed(h), before.open(h), own.closed(h), own.open(h)})
        add_carried<T>(some.columns(0, m), some.column(m), last.of(h));
      if constexpr (update == contract::Update::delta)
        openmp::matrix(last.of(h).columns(0, m)) = maps.of(h, state.memory);
    }
    last.take_from_last(world);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto out = contract::write<T>(heads[h]);
      write_state<T>(last.of(h), out.memory, out.z);
    }
  });
}

std::vector<attest_kernel> kernels() {
  constexpr const char *equation = contract::id.data(), *linear = "parallel_linear", *delta = "parallel_delta";
  constexpr const char *can_linear = "ranks >= 1; update == 'linear'", *can_delta = "ranks >= 1; update == 'delta'";
  using contract::Update;
  return {kernel<float>(equation, linear, can_linear, segments_of_ranks<float, Update::linear>),
          kernel<double>(equation, linear, can_linear, segments_of_ranks<double, Update::linear>),
          kernel<float>(equation, delta, can_delta, segments_of_ranks<float, Update::delta>),
          kernel<double>(equation, delta, can_delta, segments_of_ranks<double, Update::delta>)};
}

}  // namespace attest::mpi::infini::segment_attention
