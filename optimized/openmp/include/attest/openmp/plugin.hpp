// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "attest/attest_kernel.h"
#include "attest/choice.hpp"
#include "attest/view.hpp"

namespace attest::openmp {

enum class Layout { bhnd, bnhd, thd };

/// A tensor that begins with tokens: the size that counts them, and whether it is a matrix whose rows are tokens.
struct Tokens {
  std::string_view tensor, size;
  bool matrix;
};

/// How the tensors of an equation lie in a call (attest_kernel.h).
struct Placement {
  Layout layout = Layout::bhnd;
  std::vector<Tokens> inputs, outputs;  // those that begin with tokens; empty under bhnd
};

/// Where one head's part of a tensor lies: its first element, sizes and strides are written for `rank` axes.
struct Part {
  void* data;
  Index *extents, *strides;
  int rank;
};

/// A call and how its tensors lie.
class Batch {
public:
  Batch(const attest_call& call, const Placement& placement);

  Index entries() const { return entries_; }
  Index heads() const { return heads_; }
  const attest_call& call() const { return call_; }
  /// The part of one entry of the batch and one head, whose tensor may be shared: by its group, or by all. Its data is
  /// null where the call does not give the tensor.
  void input(std::string_view name, Index entry, Index head, Part& part) const;
  void output(std::string_view name, Index entry, Index head, Part& part) const;

private:
  const DLTensor& offsets(std::string_view size) const;
  void find(const DLTensor* tensor, const Tokens* behind, Index entry, Index head, Part& part) const;

  const attest_call& call_;
  const Placement& placement_;
  Index entries_ = 0, heads_ = 0;
};

/// One head of a call, with tensors and parameters by name, as a contract's read() and write() want it.
class Head {
public:
  Head(const Batch& batch, Index entry, Index head) : batch_(batch), entry_(entry), head_(head) {}

  template <class T, int Rank>
  View<const T, Rank> input(std::string_view name) const {
    return view<const T, Rank>(name, &Batch::input);
  }
  template <int Rank>
  View<const bool, Rank> boolean_input(std::string_view name) const {
    return view<const bool, Rank>(name, &Batch::input);
  }
  template <int Rank>
  View<const std::int64_t, Rank> integer_input(std::string_view name) const {
    return view<const std::int64_t, Rank>(name, &Batch::input);
  }
  template <class T, int Rank>
  View<T, Rank> output(std::string_view name) const {
    return view<T, Rank>(name, &Batch::output);
  }
  bool boolean_parameter(std::string_view name) const { return parameter(name).integer != 0; }
  Index integer_parameter(std::string_view name) const { return parameter(name).integer; }
  double real_parameter(std::string_view name) const { return parameter(name).real; }
  template <Choice E>
  E choice_parameter(std::string_view name) const {
    const char* word = parameter(name).text;
    return choice_of<E>(name, word ? word : "");
  }
  std::optional<double> optional_real_parameter(std::string_view name) const {
    const auto& found = parameter(name);
    return found.given ? std::optional(found.real) : std::nullopt;
  }
  std::optional<Index> optional_integer_parameter(std::string_view name) const {
    const auto& found = parameter(name);
    return found.given ? std::optional<Index>(found.integer) : std::nullopt;
  }

private:
  template <class T, int Rank>
  View<T, Rank> view(std::string_view name, void (Batch::*find)(std::string_view, Index, Index, Part&) const) const {
    std::array<Index, Rank> extents{}, strides{};
    Part part{nullptr, extents.data(), strides.data(), Rank};
    (batch_.*find)(name, entry_, head_, part);
    return {static_cast<T*>(part.data), extents, strides};
  }
  const attest_parameter& parameter(std::string_view name) const;

  const Batch& batch_;
  Index entry_, head_;
};

/// Runs `kernel` once per head of the call. Several heads are tasks of one team, and an engine's tasks within them are
/// shared by the same threads; a head alone has all threads. An exception becomes the call's error.
int over_heads(const attest_call* call, const Placement& placement, void (*kernel)(const Head& head));

template <class T>
constexpr attest_kernel kernel(const char* equation, const char* form, const char* layout, const char* capabilities,
                               int (*run)(const attest_call*)) {
  return {equation, form, "value", {kDLFloat, sizeof(T) * 8, 1}, kDLCPU, layout, capabilities, nullptr, run};
}

/// Every kernel of this backend; generated from specs/.
std::vector<attest_kernel> all_kernels();

}  // namespace attest::openmp
