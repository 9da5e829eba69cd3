// SPDX-License-Identifier: MIT
#include "attest/spec/attention/scaled_dot_product.hpp"

#include "attest/openmp/attention.hpp"

namespace attest::openmp::attention::scaled_dot_product {

using attest::spec::attention::scaled_dot_product::EmptyRow;
using attest::spec::attention::scaled_dot_product::In;
using attest::spec::attention::scaled_dot_product::Out;

template <class T>
void run(const In<T>& in, const Out<T>& out, engine::Schedule schedule) {
  engine::Forward<T> forward{.schedule = schedule, .block = in.block, .o = out.o};
  if (in.sink) {
    forward.sink = in.sink();
  } else {  // C3
    forward.empty = in.empty_row == EmptyRow::nan    ? engine::Empty::nan
                    : in.empty_row == EmptyRow::mean ? engine::Empty::mean_of_values
                                                     : engine::Empty::zero;
  }
  engine::attend(problem_of<T>(in), forward);
}

template <class T>
void max_shift(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Schedule::whole_row);
}
template <class T>
void per_query(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Schedule::log_sum_exp);
}
template <class T>
void online_blocked(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Schedule::online);
}
template <class T>
void split_k(const In<T>& in, const Out<T>& out) {
  run(in, out, engine::Schedule::split);
}

template void max_shift(const In<float>&, const Out<float>&);
template void max_shift(const In<double>&, const Out<double>&);
template void per_query(const In<float>&, const Out<float>&);
template void per_query(const In<double>&, const Out<double>&);
template void online_blocked(const In<float>&, const Out<float>&);
template void online_blocked(const In<double>&, const Out<double>&);
template void split_k(const In<float>&, const Out<float>&);
template void split_k(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::scaled_dot_product
