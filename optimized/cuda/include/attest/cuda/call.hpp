// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attest/attest_kernel.h"
#include "attest/choice.hpp"
#include "attest/cuda/tensors.hpp"

/// The host side of a kernel: access to the tensors and parameters of a call, and the kernel table that a plugin
/// exports.

/// Every pair of storage type T of tensors and operand type Factor of products. Products of float16 run as tf32: sums
/// and weights leave its range. units.cmake reads this list, too.
#define ATTEST_CUDA_FORMATS(instantiate) \
  instantiate(float, float) instantiate(float, Tf32) instantiate(__nv_bfloat16, __nv_bfloat16) instantiate(__half, Tf32)

namespace attest::cuda {

struct Grid {
  Index x, y, z;
};

inline constexpr std::size_t kSharedOfEveryDevice = 48 * 1024;  // bytes

/// One call: tensors and parameters by name, in layout bhnd, or thd where it has an input "offsets.SIZE"; a workspace;
/// and launches. The same code launches and measures the workspace: a Call made with Purpose::measure counts the
/// requested bytes, hands out no memory and launches nothing.
class Call {
public:
  enum class Purpose { run, measure };
  Call(const attest_call& call, Purpose purpose) : call_(call), measures_(purpose == Purpose::measure) {
    for (std::size_t i = 0; i < call.input_count; ++i)
      if (std::string_view(call.inputs[i].name).starts_with("offsets.")) packed_ = true;
    heads_ = static_cast<int>(call.outputs[0].tensor.shape[1]);
  }

  int heads() const { return heads_ * own_; }

  /// For an equation with heads of its own; to be called first. heads() are then those of the call times `own`, and
  /// tensors with the axis [own heads] in front of their own shape are accessed by `..._of_own_heads`.
  void split_heads(int own) { own_ = own; }

  /// The sequences of a size's tokens, which are those of the input `name`, in chunks.
  Sequences sequences(const char* size, const char* name, Index chunk) const {
    const DLTensor& tensor = *required(input(name), name);
    Sequences sequences;
    sequences.chunk = static_cast<int>(chunk < 1 ? 1 : chunk > 256 ? 256 : chunk);
    if (packed_) {
      const std::string offsets = std::string("offsets.") + size;
      const DLTensor& begins = *required(input(offsets.c_str()), offsets.c_str());
      sequences.offsets = data<const Index>(begins);
      sequences.count = static_cast<int>(begins.shape[0] - 1);
      sequences.length = tensor.shape[0];
    } else {
      sequences.count = static_cast<int>(tensor.shape[0]);
      sequences.length = tensor.shape[2];
    }
    return sequences;
  }
  /// The same for a tensor whose own heads precede its tokens.
  Sequences sequences_of_own_heads(const char* name, Index chunk) const {
    Sequences sequences = this->sequences("", name, chunk);
    sequences.length = input(name)->shape[3];
    return sequences;
  }
  /// One token for each of the batch: for equations of a single token.
  Sequences single_tokens() const { return {.length = 1, .count = static_cast<int>(call_.outputs[0].tensor.shape[0])}; }

  /// [tokens, width], or [width] or a number for one token. No data where the call has no such input.
  Rows rows(const char* name, Map map = Map::identity) const {
    const DLTensor* tensor = input(name);
    if (!tensor) return {};
    return {.data = data<const void>(*tensor), .place = of_tokens(*tensor), .stored = width(*tensor), .map = map};
  }
  /// [own heads, tokens, width], [own heads, width] or [own heads], padded.
  Rows rows_of_own_heads(const char* name) const {
    const DLTensor* tensor = input(name);
    if (!tensor) return {};
    return {.data = data<const void>(*tensor), .place = of_sequences(*tensor, 1), .stored = width(*tensor, 1)};
  }
  /// The same, with a column of ones.
  Rows rows_and_ones(const char* name) const {
    Rows rows = this->rows(name);
    rows.ones = true;
    return rows;
  }
  OutputRows output_rows(const char* name) const {
    const DLTensor& tensor = *required(output(name), name);
    return {data<void>(tensor), false, of_tokens(tensor), width(tensor)};
  }
  OutputRows output_rows_of_own_heads(const char* name) const {
    const DLTensor& tensor = *required(output(name), name);
    return {data<void>(tensor), false, of_sequences(tensor, 1), width(tensor, 1)};
  }
  /// The same where no axis counts tokens: [rows, width] or [width] of every sequence and head, packed or not.
  Rows rows_of_sequence(const char* name) const {
    const DLTensor* tensor = input(name);
    if (!tensor) return {};
    return {.data = data<const void>(*tensor), .place = of_sequences(*tensor), .stored = width(*tensor)};
  }
  OutputRows output_rows_of_sequence(const char* name) const {
    const DLTensor& tensor = *required(output(name), name);
    return {data<void>(tensor), false, of_sequences(tensor), width(tensor)};
  }
  /// [tokens]: one number for each token; no data where the call has no such input.
  template <class V>
  Numbers<V> numbers(const DLTensor* tensor) const {
    if (!tensor) return {};
    return {data<V>(*tensor), of_numbers(*tensor)};
  }
  /// Rows whose byte in the boolean input [tokens] is 0 are not read.
  Rows masked(Rows rows, const char* name) const {
    const auto visible = numbers<const std::uint8_t>(input(name));
    rows.visible = visible.data;
    rows.visible_place = visible.place;
    return rows;
  }

  /// The initial state [rows, columns], with one more column from `last` [rows] unless that is null.
  State initial(const char* matrix, const char* last, int rows, int columns) const {
    return state(input(matrix), last ? input(last) : nullptr, last != nullptr, rows, columns);
  }
  /// [own heads, rows, columns], with [own heads, rows].
  State initial_of_own_heads(const char* matrix, const char* last, int rows, int columns) const {
    return state(input(matrix), input(last), true, rows, columns, 1);
  }
  /// The final state, to be written.
  State final(const char* matrix, const char* last, int rows, int columns) const {
    return state(output(matrix), last ? output(last) : nullptr, last != nullptr, rows, columns);
  }
  State final_of_own_heads(const char* matrix, const char* last, int rows, int columns) const {
    return state(output(matrix), output(last), true, rows, columns, 1);
  }

  const DLTensor* input(const char* name) const { return attest_input(&call_, name); }
  const DLTensor* output(const char* name) const { return attest_output(&call_, name); }

  double real(const char* name) const { return parameter(name).real; }
  /// The same, or the equation's default where the call does not give it.
  double real(const char* name, double unless_given) const {
    return parameter(name).given ? parameter(name).real : unless_given;
  }
  Index integer(const char* name) const { return parameter(name).integer; }
  Index integer(const char* name, Index unless_given) const {
    return parameter(name).given ? parameter(name).integer : unless_given;
  }
  template <Choice E>
  E choice(const char* name) const {
    const char* word = parameter(name).text;
    return choice_of<E>(name, word ? word : "");
  }
  Map map(const char* name) const { return choice<Map>(name); }
  /// Queries or keys of linear attention, mapped as the call says.
  Rows features(const char* name) const {
    const char* word = parameter("features").text;
    return rows(name, word && std::string_view(word) != "given" ? map("features") : Map::identity);
  }

  /// Memory for `count` values in the call's workspace; null while measuring.
  template <class V>
  V* workspace(Index count) {
    const std::size_t begin = used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(V) + 255) / 256 * 256;
    if (measures_) return nullptr;
    if (used_ > call_.workspace_size)
      throw std::invalid_argument("the workspace has " + std::to_string(call_.workspace_size) +
                                  " bytes, fewer than its size was said to be");
    return reinterpret_cast<V*>(static_cast<char*>(call_.workspace) + begin);
  }
  std::size_t used() const { return used_; }

  /// [tokens, width] of floats in the workspace for every head, or for `sharing` heads together.
  OutputRows workspace_rows(const Sequences& tokens, int width, int sharing = 1) {
    const Index all = tokens.offsets ? tokens.length : tokens.length * tokens.count,
                row = static_cast<Index>(heads() / sharing) * width;
    Place place{.sequence = tokens.offsets ? 0 : tokens.length * row,
                .head = width,
                .row = row,
                .column = 1,
                .sharing = sharing};
    return {workspace<float>(all * row), true, place, width};
  }

  template <class... Parameters, class... Arguments>
  void launch(void (*kernel)(Parameters...), Grid grid, int threads, std::size_t shared_bytes,
              Arguments&&... arguments) {
    if (measures_ || grid.x == 0 || grid.y == 0 || grid.z == 0) return;
    if (grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
      throw std::invalid_argument("a call of " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
                                  std::to_string(grid.z) + " blocks; at most 2147483647 x 65535 x 65535");
    if (shared_bytes > kSharedOfEveryDevice)
      if (const std::size_t limit = shared_memory_limit(); shared_bytes > limit)
        throw std::invalid_argument("a call with blocks of " + std::to_string(shared_bytes) +
                                    " bytes of shared memory; a block of this device has at most " +
                                    std::to_string(limit));
    cuda::launch(kernel,
                 dim3(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), static_cast<unsigned>(grid.z)),
                 static_cast<unsigned>(threads), shared_bytes, static_cast<Stream>(call_.stream),
                 std::forward<Arguments>(arguments)...);
  }

private:
  template <class V>
  static V* data(const DLTensor& tensor) {
    return reinterpret_cast<V*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
  }
  static int width(const DLTensor& tensor, int own = 0) {
    return tensor.ndim == 2 + own ? 1 : static_cast<int>(tensor.shape[tensor.ndim - 1]);
  }
  static const DLTensor* required(const DLTensor* tensor, const char* name) {
    if (!tensor) throw std::invalid_argument(std::string("the call has no tensor '") + name + "'");
    return tensor;
  }
  const attest_parameter& parameter(const char* name) const {
    if (const auto* found = attest_parameter_of(&call_, name)) return *found;
    throw std::invalid_argument(std::string("the call has no parameter '") + name + "'");
  }
  int sharing(const DLTensor& tensor) const { return heads_ / static_cast<int>(tensor.shape[1]); }
  /// [sequences, heads, tokens, width], [sequences, heads, width] or [sequences, heads] of one token, or packed
  /// [tokens, heads, width].
  Place of_tokens(const DLTensor& t) const {
    if (packed_)
      return {.head = t.strides[1], .row = t.strides[0], .column = t.strides[2], .sharing = sharing(t), .own = own_};
    return of_sequences(t);
  }
  Place of_numbers(const DLTensor& t) const {
    if (packed_) return {.head = t.strides[1], .row = t.strides[0], .sharing = sharing(t), .own = own_};
    return {.sequence = t.strides[0], .head = t.strides[1], .row = t.strides[2], .sharing = sharing(t), .own = own_};
  }
  /// The axes after the heads, and after own heads where there are some, are (row, column), (column) or none.
  Place of_sequences(const DLTensor& t, int own_axes = 0) const {
    const int first = 2 + own_axes;
    Place place{.sequence = t.strides[0],
                .head = t.strides[1],
                .sharing = sharing(t),
                .own = own_,
                .own_head = own_axes ? t.strides[2] : 0};
    if (t.ndim > first) place.column = t.strides[t.ndim - 1];
    if (t.ndim > first + 1) place.row = t.strides[t.ndim - 2];
    return place;
  }
  State state(const DLTensor* matrix, const DLTensor* last, bool bordered, int rows, int columns,
              int own_axes = 0) const {
    State state{
        .rows = rows, .columns = columns + bordered, .border = bordered ? State::Border::column : State::Border::none};
    if (matrix) {
      state.matrix = data<float>(*matrix);
      state.place = of_sequences(*matrix, own_axes);
    }
    if (last) {
      state.last = data<float>(*last);
      state.last_place = of_sequences(*last, own_axes);
      std::swap(state.last_place.row, state.last_place.column);
    }
    return state;
  }

  const attest_call& call_;
  bool measures_, packed_ = false;
  int heads_ = 0, own_ = 1;
  std::size_t used_ = 0;
};

inline Rows read_back(const OutputRows& written) {
  return {.data = written.data, .in_float = written.in_float, .place = written.place, .stored = written.width};
}

namespace detail {

/// Makes the device of a call's tensors current, as long as the call runs.
class OnDeviceOf {
public:
  explicit OnDeviceOf(const attest_call& call) : before_(current_device()), device_(common_device(call)) {
    if (device_ != before_) set_device(device_);
  }
  ~OnDeviceOf() {
    if (device_ == before_) return;
    try {
      set_device(before_);
    } catch (const std::exception&) {  // it was current: only a device that is lost can be refused
    }
  }
  OnDeviceOf(const OnDeviceOf&) = delete;
  OnDeviceOf& operator=(const OnDeviceOf&) = delete;

private:
  static int common_device(const attest_call& call) {
    const int device = call.outputs[0].tensor.device.device_id;
    const auto check = [&](const attest_tensor* tensors, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i)
        if (const int other = tensors[i].tensor.device.device_id; other != device)
          throw std::invalid_argument(std::string("'") + tensors[i].name + "' is on device " + std::to_string(other) +
                                      " and '" + call.outputs[0].name + "' on device " + std::to_string(device));
    };
    check(call.inputs, call.input_count);
    check(call.outputs, call.output_count);
    return device;
  }
  int before_, device_;
};

template <class Kernel, class T, class Factor>
int run(const attest_call* call) {
  try {
    const OnDeviceOf device(*call);
    Call mine(*call, Call::Purpose::run);
    Kernel::template run<T, Factor>(mine);
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(call->error, call->error_size, "%s", error.what());
    return 1;
  }
}

/// An error here is not reported: run() meets it again and reports it.
template <class Kernel, class T, class Factor>
std::size_t workspace(const attest_call* call) {
  try {
    const OnDeviceOf device(*call);
    Call mine(*call, Call::Purpose::measure);
    Kernel::template run<T, Factor>(mine);
    return mine.used();
  } catch (const std::exception&) {
    return 0;
  }
}

template <class T>
constexpr DLDataType dtype = {std::is_same_v<T, __nv_bfloat16> ? kDLBfloat : kDLFloat, 8 * sizeof(T), 1};

}  // namespace detail

/// The device type of tensors: the host's in the emulation.
#if defined(ATTEST_CUDA_EMULATION)
inline constexpr DLDeviceType kDevice = kDLCPU;
#else
inline constexpr DLDeviceType kDevice = kDLCUDA;
#endif

/// The layouts that a kernel is registered for: one row of the table each.
enum class Layouts { bhnd, thd, both };

/// Declared properties of a kernel.
struct About {
  std::string can{};  // capabilities
  Layouts layouts = Layouts::bhnd;
  bool tf32 = true;  // floats may be multiplied as tf32 too, which is another kernel
};

/// An equation's rows of the plugin's table. A kernel is a struct with `template <class T, class Factor> static void
/// run(Call&)`.
class Kernels {
public:
  explicit Kernels(const char* equation) : equation_(equation) {}

  template <class Kernel>
  Kernels&& value(const char* form, About about) && {
    return std::move(*this).template add<Kernel>(form, "value", about);
  }
  template <class Kernel>
  Kernels&& gradient(const char* form, About about) && {
    return std::move(*this).template add<Kernel>(form, "gradient", about);
  }
  const std::vector<attest_kernel>& rows() const { return rows_; }

private:
  template <class Kernel>
  Kernels&& add(const char* form, const char* reading, const About& about) && {
    if (about.layouts != Layouts::thd) add_layout<Kernel>(form, reading, "bhnd", about);
    if (about.layouts != Layouts::bhnd) add_layout<Kernel>(form, reading, "thd", about);
    return std::move(*this);
  }
  template <class Kernel>
  void add_layout(const char* form, const char* reading, const char* layout, const About& about) {
    row<Kernel, float, float>(form, reading, layout, about.can);
    if (about.tf32)
      row<Kernel, float, Tf32>(form, reading, layout,
                               about.can + (about.can.empty() ? "" : "; ") + "profile == 'tf32'");
    row<Kernel, __nv_bfloat16, __nv_bfloat16>(form, reading, layout, about.can);
    row<Kernel, __half, Tf32>(form, reading, layout, about.can);
  }
  template <class Kernel, class T, class Factor>
  void row(const char* form, const char* reading, const char* layout, const std::string& can) {
    static std::set<std::string> texts;  // for as long as the plugin: the table points to them
    rows_.push_back({equation_, form, reading, detail::dtype<T>, kDevice, layout, texts.insert(can).first->c_str(),
                     detail::workspace<Kernel, T, Factor>, detail::run<Kernel, T, Factor>});
  }

  const char* equation_;
  std::vector<attest_kernel> rows_;
};

}  // namespace attest::cuda
