// SPDX-License-Identifier: MIT
#include "attest/spec.hpp"

#include <gtest/gtest.h>

namespace attest {
namespace {

const std::string kGood = R"(
id = "toy.scale"
title = "Scaling"
no_exact_family = "a toy"
formula = "y = a x"
source = ["nobody"]
sizes = [{ name = "n", range = [1, 8] }]
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"] }]
parameters = [{ name = "a", type = "integer", default = 2 }]
forms = [{ name = "direct" }]
constraints = [{ label = "C1", text = "a is positive", require = "a > 0" }]
[[vectors]]
flag = "random"
cases = [{ n = 3 }]
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_error(const std::string& text, const std::string& path, const std::vector<std::string>& words) {
  try {
    parse_spec(text, path);
    FAIL() << "accepted:\n" << text;
  } catch (const SpecError& error) {
    for (const auto& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what() << "\nlacks: " << word;
  }
}

TEST(Spec, AGoodOneParses) {
  const Spec spec = parse_spec(kGood, "toy/scale.toml");
  EXPECT_EQ(spec.id, "toy.scale");
  EXPECT_EQ(spec.inputs.at(0).shape.at(0), "n");
  EXPECT_EQ(std::get<Index>(*spec.parameters.at(0).fallback), 2);
}

TEST(Spec, UnknownKeyIsNamedWithItsPlaceAndTheAllowedOnes) {
  expect_error(kGood + "\n[extra]\nx = 1\n", "toy/scale.toml",
               {"specs/toy/scale.toml", "unknown key 'extra'", "allowed"});
}
TEST(Spec, AMisspeltKeyIsToldInsteadOfTheOneThatIsMissing) {
  const auto expect_unknown = [](const std::string& from, const std::string& to, const std::string& place,
                                 const std::string& wrong, const std::string& right) {
    SCOPED_TRACE(to);
    expect_error(
        replaced(kGood, from, to), "toy/scale.toml",
        {"specs/toy/scale.toml:", place + "unknown key '" + wrong + "'; did you mean '" + right + "'", "; allowed: "});
  };
  expect_unknown("title =", "titel =", "", "titel", "title");
  expect_unknown("inputs =", "input =", "", "input", "inputs");
  expect_unknown("range =", "rang =", "sizes[0]: ", "rang", "range");
  expect_unknown("name = \"x\", shape", "name = \"x\", shap", "inputs[0]: ", "shap", "shape");
  expect_unknown("name = \"y\", shape", "name = \"y\", shapes", "outputs[0]: ", "shapes", "shape");
  expect_unknown("type =", "typ =", "parameters[0]: ", "typ", "type");
  expect_unknown("[{ name = \"direct\"", "[{ nam = \"direct\"", "forms[0]: ", "nam", "name");
  expect_unknown("require =", "reqire =", "constraints[0]: ", "reqire", "require");
  expect_unknown("text =", "txt =", "constraints[0]: ", "txt", "text");
  expect_unknown("flag =", "flags =", "vectors[0]: ", "flags", "flag");
  const auto expect_unknown_of = [&](const std::string& table, const std::string& key, const std::string& wrong,
                                     const std::string& right) {
    expect_unknown("[[vectors]]", key + " = [{ " + table + " }]\n[[vectors]]", key + "[0]: ", wrong, right);
  };
  expect_unknown_of("low = \"linear\"", "laws", "low", "law");
  expect_unknown_of("name = \"f\", chang = \"c\", flag = \"random\"", "faults", "chang", "change");
  expect_unknown_of("waht = \"w\", reason = \"r\"", "not_faults", "waht", "what");
  expect_unknown_of("form = \"direct\", operation = \"mul\", cont = \"n\"", "costs", "cont", "count");
  expect_unknown_of("name = \"other\", raeson = \"r\"", "not_taken", "raeson", "reason");
  expect_unknown_of("name = \"i\", meening = \"m\", shown = [\"cost\"]", "invariants", "meening", "meaning");
  expect_unknown_of("id = \"E01\", printed = \"p\", rigth = \"r\", shown = [\"cost\"]", "errata", "rigth", "right");
  expect_unknown_of("id = \"C01\", clam = \"c\", shown = [\"cost\"]", "claims", "clam", "claim");
}
TEST(Spec, TheLineIsThatOfTheKey) {
  expect_error(kGood + "[[faults]]\nname = \"f\"\n\nflg = \"random\"\n", "toy/scale.toml",
               {"specs/toy/scale.toml:19: faults[0]: unknown key 'flg'"});
}
TEST(Spec, ATextThatMustBeThereIsNotEmpty) {
  expect_error(replaced(kGood, "title = \"Scaling\"", "title = \"\""), "toy/scale.toml", {"'title' must not be empty"});
}
TEST(Spec, IdMustSpellThePathSoNoTwoAreEqual) { expect_error(kGood, "toy/other.toml", {"toy.scale", "toy.other"}); }
TEST(Spec, UndeclaredShapeNameIsNamed) {
  expect_error(replaced(kGood, "shape = [\"n\"]", "shape = [\"k\"]"), "toy/scale.toml", {"'k'", "declared: n"});
}
TEST(Spec, DuplicateNames) {
  expect_error(replaced(kGood, "forms = [", "forms = [{ name = \"direct\" }, "), "toy/scale.toml",
               {"form 'direct' is declared twice"});
  expect_error(replaced(kGood, "inputs = [", "inputs = [{ name = \"x\", shape = [\"n\"] }, "), "toy/scale.toml",
               {"'x' is declared twice"});
  expect_error(replaced(kGood, "name = \"a\"", "name = \"n\""), "toy/scale.toml", {"'n' is declared twice"});
}
TEST(Spec, MissingKeysAreNamed) {
  expect_error(replaced(kGood, "title = \"Scaling\"", ""), "toy/scale.toml", {"missing key 'title'"});
  expect_error(replaced(kGood, "forms = [{ name = \"direct\" }]", ""), "toy/scale.toml", {"at least one form"});
}
TEST(Spec, CasesMustKeepTheConstraints) {
  expect_error(replaced(kGood, "{ n = 3 }", "{ n = 3, a = 0 }"), "toy/scale.toml", {"C1", "a is positive"});
}
TEST(Spec, CasesNameSizesAndParametersOnly) {
  expect_error(replaced(kGood, "{ n = 3 }", "{ n = 3, b = 0 }"), "toy/scale.toml",
               {"'b'", "sizes: n", "parameters: a"});
}
TEST(Spec, TwoGroupsOfOneFlag) {
  expect_error(kGood + "[[vectors]]\nflag = \"random\"\ncases = [{ n = 2 }]\n", "toy/scale.toml",
               {"flag 'random' has a group already"});
}
TEST(Spec, BrokenTomlNamesTheLine) { expect_error("id = \n", "toy/scale.toml", {"specs/toy/scale.toml:1"}); }
TEST(Spec, ConstraintOverUnknownNames) {
  expect_error(replaced(kGood, "a > 0", "b > 0"), "toy/scale.toml", {"'b' is neither a size nor a parameter"});
}

TEST(Spec, DrawsUnderAConditionOverUnknownNames) {
  const std::string draws = "draws = [{ when = \"b > 0\", draw = \"normal\" }], ";
  expect_error(replaced(kGood, "inputs = [{ ", "inputs = [{ " + draws), "toy/scale.toml",
               {"'draws' of input", "names 'b', which is neither a size nor a parameter"});
}

TEST(Spec, StatementsNeedEvidenceOrAReasonAndTheEvidenceMustStand) {
  const auto with = [](const std::string& key, const std::string& body) {
    return replaced(kGood, "[[vectors]]", key + " = [{ " + body + " }]\n[[vectors]]");
  };
  EXPECT_EQ(parse_spec(with("invariants", "name = \"linear\", meaning = \"y is linear\", shown = [\"form direct\"]"),
                       "toy/scale.toml")
                .invariants.at(0)
                .shown.at(0),
            "form direct");
  expect_error(with("invariants", "name = \"linear\", meaning = \"y is linear\""), "toy/scale.toml",
               {"invariants[0]", "'shown'", "'reason'"});
  expect_error(with("invariants",
                    "name = \"linear\", meaning = \"y is linear\", shown = [\"cost\"], reason = \"there is none\""),
               "toy/scale.toml", {"either"});
  for (const char* absent : {"law linear", "fault scale_missing", "form other", "vectors tiny", "bits random",
                             "constraint C2", "cost", "gradient", "hearsay x", "property", "test "})
    expect_error(with("claims", "id = \"C01\", claim = \"c\", shown = [\"" + std::string(absent) + "\"]"),
                 "toy/scale.toml", {absent, "evidence is one of"});
  expect_error(with("errata", "id = \"E01\", printed = \"y = x\", shown = [\"form direct\"]"), "toy/scale.toml",
               {"missing key 'right'"});
  expect_error(replaced(kGood, "[[vectors]]", "errata = [\"a sentence\"]\n[[vectors]]"), "toy/scale.toml",
               {"'errata' must be an array of tables"});
  expect_error(with("not_taken", "name = \"direct\", reason = \"it is one\""), "toy/scale.toml",
               {"'direct' is a form"});
}

TEST(Spec, RolesAreOfAClosedSetAndOfOneInputOrParameterEach) {
  const std::string masked = replaced(
      kGood, "inputs = [",
      "inputs = [{ name = \"seen\", role = \"mask\", shape = [\"n\"], type = \"boolean\", draw = \"visible 0.5\" }, ");
  const Spec spec = parse_spec(masked, "toy/scale.toml");
  EXPECT_EQ(spec.input(Role::mask), spec.input("seen"));
  EXPECT_EQ(spec.input(Role::bias), nullptr);
  EXPECT_EQ(spec.input(Role::none), nullptr);
  EXPECT_EQ(spec.parameter(Role::none), nullptr);
  expect_error(replaced(masked, "role = \"mask\"", "role = \"masc\""), "toy/scale.toml",
               {"specs/toy/scale.toml:", "inputs[0]", "role 'masc' must be one of: mask"});
  expect_error(replaced(kGood, "{ name = \"x\",", "{ name = \"x\", role = \"mask\","), "toy/scale.toml",
               {"inputs[0]", "role 'mask' must be one of: bias"});
  expect_error(replaced(kGood, "name = \"a\",", "name = \"a\", role = \"causal\","), "toy/scale.toml",
               {"parameters[0]",
                "role 'causal' must be one of: block length, segment length, window left, window right, "
                "first position"});
  expect_error(replaced(kGood, "parameters = [{ name = \"a\",",
                        "parameters = [{ name = \"b\", role = \"block length\", type = \"integer\", default = 1 }, "
                        "{ name = \"a\", role = \"block length\","),
               "toy/scale.toml", {"parameters[1]", "'b' has the role 'block length' already"});
  expect_error(replaced(kGood, "outputs = [{ name = \"y\",", "outputs = [{ name = \"y\", role = \"mask\","),
               "toy/scale.toml", {"outputs[0]", "unknown key 'role'"});
}

TEST(Spec, AReasonIsASentenceOrANameThatHasOne) {
  const auto with = [](const std::string& reason, const std::string& own = "") {
    return replaced(kGood, "[[vectors]]", "not_faults = [{ what = \"w\", reason = \"" + reason + "\" }]\n[[vectors]]") +
           own;
  };
  const Reasons shared = parse_reasons("far_away = \"it happens elsewhere\"\n");
  const auto reason_of = [&](const std::string& text) {
    return parse_spec(text, "toy/scale.toml", shared).not_faults.at(0).reason;
  };
  EXPECT_EQ(reason_of(with("it is not here")), "it is not here");
  EXPECT_EQ(reason_of(with("far_away")), "it happens elsewhere");
  EXPECT_EQ(reason_of(with("mine", "[reasons]\nmine = \"my own sentence\"\n")), "my own sentence");
  expect_error(with("far_awai"), "toy/scale.toml",
               {"specs/toy/scale.toml:", "not_faults[0]", "'reason' names the reason 'far_awai'", "reasons.toml"});
  EXPECT_THROW(parse_spec(with("far_away", "[reasons]\nfar_away = \"again\"\n"), "toy/scale.toml", shared), SpecError);
  EXPECT_THROW(parse_reasons("Name = \"x\""), SpecError);
}

TEST(Spec, EverySharedReasonIsGivenBySeveralSpecs) {
  std::map<std::string, int> given;
  for (const auto& [_, spec] : specs())
    for (const auto& [name, sentence] : reasons())
      given[name] += spec.text.find("\"" + name + "\"") != std::string::npos;
  for (const auto& [name, sentence] : reasons()) EXPECT_GE(given[name], 2) << name << ": " << sentence;
}

TEST(Spec, UnknownEquationOffersNearOnes) {
  try {
    find_spec("attention.sofmax");
    FAIL();
  } catch (const SpecError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'attention.softmax'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace attest
