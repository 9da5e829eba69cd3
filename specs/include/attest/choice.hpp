// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace attest {

/// An enumeration whose enumerators have words, words_of(E{}) in their order: those of specs, cases and calls.
/// Contracts generate one for each list of choices, so that parameters with the same choices have the same type.
template <class E>
concept Choice = std::is_enum_v<E> && requires { words_of(E{}).size(); };

/// The choice that `word` stands for. Throws std::invalid_argument, naming the parameter and its choices, when there is
/// none.
template <Choice E>
E choice_of(std::string_view parameter, std::string_view word) {
  constexpr auto words = words_of(E{});
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == word) return static_cast<E>(i);
  std::string all;
  for (const auto& one : words) all += (all.empty() ? "" : ", ") + std::string(one);
  throw std::invalid_argument(std::string(parameter) + " '" + std::string(word) + "' must be one of: " + all);
}

template <Choice E>
constexpr std::string_view word_of(E choice) {
  return words_of(choice)[static_cast<std::size_t>(choice)];
}

/// The choice of the same word in another enumeration; throws std::invalid_argument when it has none.
template <Choice To, Choice From>
To same_choice(From choice) {
  return choice_of<To>("the choice", word_of(choice));
}

}  // namespace attest
