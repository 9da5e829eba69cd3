// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/rotary.hpp"
#include "faults/fault.hpp"

namespace attest::faults::positional::rotary {

namespace right = attest::reference::positional::rotary;
using attest::spec::positional::rotary::Pairing;
using attest::spec::positional::rotary::Scaling;
using right::In;
using right::Out;
using right::Turn;
using right::turn_by;
using right::width;

/// The equation with another turn of pair m of token i.
template <class F>
void with_turn(const In& in, const Out& out, F&& turn) {
  right::each_pair(in, out,
                   [&](Index i, Index m, const Number& a, const Number& b) { return right::turned(turn(i, m), a, b); });
}

/// base^-exponent
inline Number frequency(const In& in, const Number& exponent) { return exp(-exponent * log(parameter(in.base))); }

/// The equation with other frequencies.
template <class F>
void with_theta(const In& in, const Out& out, F&& theta) {
  with_turn(in, out, [&](Index i, Index m) {
    const Turn r = turn_by(in.positions(i) * theta(m));
    return in.scaling == Scaling::yarn ? r.times(right::attention_factor(in)) : r;
  });
}

/// The same where that is the scaling, the equation elsewhere.
template <class F>
void with_theta_of(Scaling scaling, const In& in, const Out& out, F&& theta) {
  in.scaling == scaling ? with_theta(in, out, theta) : right::pairs(in, out);
}

/// The equation at another position.
template <class F>
void with_position(const In& in, const Out& out, F&& position) {
  with_turn(in, out, [&](Index i, Index m) { return right::turn(in, position(i), m); });
}

inline void theta_repeated(const In& in, const Out& out) {
  with_turn(in, out, [&](Index i, Index m) {
    const auto own = right::turn(in, in.positions(i), m), before = right::turn(in, in.positions(i), m == 1 ? 0 : m);
    return Turn{own.cosine, before.sine};
  });
}

inline void half_split(const In& in, const Out& out) {
  In other = in;
  other.pairing = in.pairing == Pairing::half ? Pairing::interleaved : Pairing::half;
  right::pairs(other, out);
}

inline void mixed_pairs(const In& in, const Out& out) {
  const Index half = width(in) / 2;
  with_turn(in, out, [&](Index i, Index m) {
    return right::turn(in, in.positions(i), in.pairing == Pairing::half ? m / 2 : 2 * m % std::max<Index>(half, 1));
  });
}

inline void opposite_direction(const In& in, const Out& out) {
  with_turn(in, out, [&](Index i, Index m) {
    const auto r = right::turn(in, in.positions(i), m);
    return Turn{r.cosine, -r.sine};
  });
}

inline void theta_one_based(const In& in, const Out& out) {
  with_theta(in, out, [&](Index m) { return frequency(in, Number(2 * (m + 1)) / Number(width(in))); });
}

inline void exponent_m_over_d(const In& in, const Out& out) {
  with_theta(in, out, [&](Index m) { return frequency(in, Number(m) / Number(width(in))); });
}

inline void position_off_by_one(const In& in, const Out& out) {
  with_position(in, out, [&](Index i) { return in.positions(i) + 1; });
}

inline void positions_ignored(const In& in, const Out& out) {
  with_position(in, out, [](Index i) { return i; });
}

inline void negative_positions_clamped(const In& in, const Out& out) {
  with_position(in, out, [&](Index i) { return std::max<Index>(in.positions(i), 0); });
}

inline void bf16_positions(const In& in, const Out& out) {
  with_position(in, out, [&](Index i) {
    return static_cast<Index>(round_to(DType::bf16, static_cast<double>(in.positions(i))));
  });
}

inline void base_ignored(const In& in, const Out& out) {
  In other = in;
  other.base = 10000;
  right::pairs(other, out);
}

inline void base_1000(const In& in, const Out& out) {
  In other = in;
  if (in.base == 10000) other.base = 1000;
  right::pairs(other, out);
}

inline void second_product_added(const In& in, const Out& out) {
  right::each_pair(in, out, [&](Index i, Index m, const Number& a, const Number& b) {
    const auto r = right::turn(in, in.positions(i), m);
    return std::pair(a * r.cosine + b * r.sine, b * r.cosine + a * r.sine);
  });
}

inline void angle_drift(const In& in, const Out& out, const Number& c) {
  with_theta(in, out, [&](Index m) { return (Number(1) + c) * right::theta(in, m); });
}

inline void width_ignored(const In& in, const Out& out) {
  In other = in;
  other.rotary_width = 0;
  right::pairs(other, out);
}

inline void exponent_of_whole_width(const In& in, const Out& out) {
  if (width(in) == in.x.extent(1)) return right::pairs(in, out);
  with_theta(in, out, [&](Index m) { return frequency(in, Number(2 * m) / Number(in.x.extent(1))); });
}

inline void rest_zeroed(const In& in, const Out& out) {
  right::pairs(in, out);
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index a = width(in); a < in.x.extent(1); ++a) out.y(i, a) = Number(0);
}

inline void last_part_turned(const In& in, const Out& out) {
  const Index n = in.x.extent(0), d = in.x.extent(1), w = width(in);
  const auto rolled = matrix_of(n, d, [&](Index i, Index a) { return in.x(i, (a + d - w) % d); });
  Matrix y(n, d);
  In other = in;
  other.x = rolled.view();
  right::pairs(other, {.y = y.view()});
  for (Index i = 0; i < n; ++i)
    for (Index a = 0; a < d; ++a) out.y(i, (a + d - w) % d) = y(i, a);
}

inline void scaling_ignored(const In& in, const Out& out) {
  In other = in;
  other.scaling = Scaling::none;
  right::pairs(other, out);
}

inline void factor_inverted(const In& in, const Out& out) {
  with_theta_of(Scaling::linear, in, out, [&](Index m) { return right::unscaled(in, m) * parameter(in.factor); });
}

inline void ntk_base_times_factor(const In& in, const Out& out) {
  with_theta_of(Scaling::ntk, in, out, [&](Index m) {
    return exp(-(Number(2 * m) / Number(width(in))) * (log(parameter(in.base)) + log(parameter(in.factor))));
  });
}

/// The frequencies of YaRN with another share of the scaled ones.
template <class F>
void with_yarn(const In& in, const Out& out, F&& share) {
  with_theta_of(Scaling::yarn, in, out, [&](Index m) {
    const Number own = right::unscaled(in, m);
    return right::between(own, own / parameter(in.factor), share(m));
  });
}

inline void ramp_inverted(const In& in, const Out& out) {
  with_yarn(in, out, [&](Index m) { return 1 - right::Ramp::of(in).at(m); });
}

inline void ramp_missing(const In& in, const Out& out) {
  with_yarn(in, out, [](Index) { return Number(1); });
}

inline void ramp_of_turns(const In& in, const Out& out) {
  with_yarn(in, out, [&](Index m) {
    const Number turns = Number(in.original_length) * right::unscaled(in, m) / (2 * pi());
    const Number fast = parameter(in.beta_fast), slow = parameter(in.beta_slow);
    return 1 - right::ramp((turns - slow) / (fast - slow));
  });
}

inline void attention_factor_missing(const In& in, const Out& out) {
  In other = in;
  other.attention_factor = 1;
  right::pairs(other, out);
}

inline void attention_factor_twice(const In& in, const Out& out) {
  if (in.scaling != Scaling::yarn) return right::pairs(in, out);
  with_turn(in, out,
            [&](Index i, Index m) { return right::turn(in, in.positions(i), m).times(right::attention_factor(in)); });
}

/// The frequencies of Llama 3 with another share of the unscaled ones.
template <class F>
void with_llama3(const In& in, const Out& out, F&& share) {
  with_theta_of(Scaling::llama3, in, out, [&](Index m) {
    const Number own = right::unscaled(in, m);
    return right::between(own / parameter(in.factor), own, share(own));
  });
}

inline void wavelengths_compared_wrongly(const In& in, const Out& out) {
  with_llama3(in, out, [&](const Number& own) { return 1 - right::share_of_high(in, own); });
}

inline void medium_wavelengths_kept(const In& in, const Out& out) {
  with_llama3(in, out,
              [&](const Number& own) { return positive(right::share_of_high(in, own)) ? Number(1) : Number(0); });
}

inline void wavelength_without_two_pi(const In& in, const Out& out) {
  with_llama3(in, out, [&](const Number& own) { return right::share_of_high(in, 2 * pi() * own); });
}

}  // namespace attest::faults::positional::rotary
