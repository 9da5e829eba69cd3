// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>

#include "attest/golden/case.hpp"
#include "attest/reference/cost.hpp"
#include "attest/reference/evaluate.hpp"
#include "attest/reference/influence.hpp"

/// What tests read off runs of the reference: which tokens reach an output, and how many pairs are scored.
namespace attest {

using Tokens = std::set<Index>;

/// The problem of a query.
inline Problem drawn(const std::string& query) { return golden::draw(golden::parse_query(query).first); }

/// The tokens that a number depends on.
inline Tokens tokens_of(const reference::Influenced& x) {
  Tokens tokens;
  for (auto t = x.tokens.find_first(); t != reference::Influenced::Tokens::npos; t = x.tokens.find_next(t))
    tokens.insert(static_cast<Index>(t));
  return tokens;
}

/// Exponentials that one run of a form takes: one for each pair.
inline Index pairs(const Problem& problem, const char* form) {
  reference::Cost arithmetic;
  reference::outputs_of(arithmetic, problem, form);
  return arithmetic.counts().exp;
}
inline Index pairs(const std::string& query, const char* form) { return pairs(drawn(query), form); }

}  // namespace attest
