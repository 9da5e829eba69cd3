// SPDX-License-Identifier: MIT
// Reports as one page for a browser.
#include "html.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "attest/report.hpp"

namespace attest::report {
namespace {

constexpr std::size_t kFailuresAtOnce = 3;  // of a kernel; the others are folded up
constexpr std::size_t kMostFailures = 40;
constexpr std::size_t kMostExcluded = 60;  // combinations that are listed for one reason
constexpr std::size_t kMostUnfolded = 8;   // kernels; where there are more, those that pass are folded up

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #fff; --text: #1c1f23; --faint: #5b6470; --line: #d5dae0; --box: #f4f6f8;
  --good: #14692d; --bad: #b00020; --unsure: #855400; --frame: #8a94a0; --link: #0b57a4;
  --e0: #dfeaf4; --e1: #bfd6eb; --e2: #92badd; --e3: #5d97c8; --e4: #2f6ca8;
  --o0: #f6b26b; --o1: #e5603c; --o2: #a3182b; --bars: #9fc3e0; --curve: #b0421b;
  --n4: #1f5fa8; --n3: #5f93c9; --n2: #9dbfe0; --n1: #d2e2f1; --z0: #f3f3f1;
  --p1: #fbe0c6; --p2: #f5b97f; --p3: #e08a3c; --p4: #a8530a; --nan: #c0309a; --tint: 190, 40, 20; --cool: 60, 90, 150 }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171b; --text: #e4e7eb; --faint: #9aa4b0; --line: #353b43; --box: #1e2329;
    --good: #5fd083; --bad: #ff7b86; --unsure: #f0b651; --frame: #6b7683; --link: #7db8f5;
    --e0: #1b2530; --e1: #22384d; --e2: #2b5378; --e3: #3b77a8; --e4: #62a4d8;
    --o0: #c9791f; --o1: #e0532f; --o2: #ff8f99; --bars: #35648c; --curve: #ffa36b;
    --n4: #8cc0f5; --n3: #5c94cf; --n2: #3c6a9c; --n1: #26405c; --z0: #23272c;
    --p1: #4c3420; --p2: #80501f; --p3: #c47a2c; --p4: #ffb566; --nan: #e86cc8; --tint: 255, 90, 70;
    --cool: 120, 160, 230 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 68rem; padding: 1rem; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word }
h1 { font-size: 1.6rem; margin: .5rem 0 } h2 { font-size: 1.3rem; margin: 2rem 0 .5rem }
h3 { font-size: 1.12rem; margin: 0; display: inline } h4 { font-size: 1rem; margin: 1.6rem 0 .4rem }
a { color: var(--link) } code, pre { font-family: ui-monospace, monospace; font-size: .86em }
code { overflow-wrap: anywhere }
pre { background: var(--box); margin: .3rem 0; padding: .5rem .7rem; border-radius: 4px; white-space: pre-wrap;
  overflow-wrap: anywhere; user-select: all }
.scroll { overflow-x: auto; margin: .5rem 0 } table { border-collapse: collapse; font-size: .9rem }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
thead th { color: var(--faint); font-weight: 500; white-space: nowrap }
td.number { text-align: right; font-variant-numeric: tabular-nums }
.PASS { color: var(--good); font-weight: 600 } .FAIL, .CRASH { color: var(--bad); font-weight: 700 }
.INVALID, .WAIVED { color: var(--unsure); font-weight: 700 }
details.kernel, section.kernel { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .9rem;
  margin: .8rem 0 }
summary { cursor: pointer } .faint { color: var(--faint) } ul { margin: .4rem 0; padding-left: 1.2rem }
dl { margin: .5rem 0; display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: .25rem .8rem }
dt { color: var(--faint) } dd { margin: 0; grid-column: 2 }
.failures { list-style: none; padding: 0 } .failures li { border-left: 3px solid var(--bad); padding: .1rem .7rem;
  margin: .7rem 0; background: none }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 1.5rem } figure { margin: .5rem 0; max-width: 20rem }
figcaption { color: var(--faint); font-size: .85rem } svg { max-width: 100%; height: auto }
svg text { fill: var(--faint); font: 11px system-ui, sans-serif } .frame { fill: none; stroke: var(--frame) }
.hatch { fill: url(#hatch) } .bars { fill: var(--bars) } .curve { fill: none; stroke: var(--curve); stroke-width: 2 }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem .8rem; padding: 0; font-size: .8rem;
  color: var(--faint) } .legend svg { vertical-align: -2px } .legend .bound { color: var(--text); font-weight: 600;
  border-left: 3px solid var(--text); padding-left: .3rem }
.heat td, .heat th { border: 1px solid var(--line); white-space: nowrap }
.heat small { display: block; color: var(--faint) }
.wrong { background: rgba(var(--tint), calc(.08 + .5 * var(--share))) }
.wrong small { color: inherit; font-weight: 600 }
.excluded { background: rgba(var(--cool), calc(.1 + .5 * var(--share))) }
.pairs td { padding: .1rem .3rem; font-size: .72rem; text-align: center; white-space: nowrap }
.pairs th { padding: .1rem .4rem; font-size: .78rem; font-weight: 500 }
.pairs thead th { text-align: center }
.pairs tbody th { position: sticky; left: 0; background: var(--page); white-space: nowrap }
.hole { outline: 2px solid var(--bad); outline-offset: -2px; font-weight: 700 }
@media (max-width: 34rem) { body { padding: .6rem; font-size: 15px } dl { display: block } dd { margin-bottom: .4rem }
  details.kernel, section.kernel { padding: .5rem .6rem } }
)";

/// The colours of cells, each for drawings and samples.
std::string style() {
  std::string text = kStyle;
  for (const char* name :
       {"e0", "e1", "e2", "e3", "e4", "o0", "o1", "o2", "n4", "n3", "n2", "n1", "z0", "p1", "p2", "p3", "p4", "nan"})
    fmt::format_to(std::back_inserter(text), ".{0} {{ fill: var(--{0}) }} ", name);
  return text;
}

constexpr const char* kHatch =
    "<svg width=\"0\" height=\"0\" aria-hidden=\"true\" style=\"position:absolute\"><defs><pattern id=\"hatch\" "
    "width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"1.2\" "
    "height=\"5\" style=\"fill:#14171b\"/><rect x=\"1.2\" width=\"0.7\" height=\"5\" "
    "style=\"fill:#fff\"/></pattern></defs></svg>\n";

/// A page that is written piece by piece. What is given to add() is escaped, what to raw() is not.
class Html {
public:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += escaped(fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  void raw(std::string_view html) { text_ += html; }

  void element(const char* name, const std::string& text) {
    raw(fmt::format("<{}>{}</{}>", name, escaped(text), name));
  }

  void list(const std::vector<std::string>& sentences) {
    if (sentences.empty()) return;
    raw("<ul>");
    for (const auto& sentence : sentences) element("li", sentence);
    raw("</ul>\n");
  }

  /// For the clipboard.
  void command(const std::string& text) { raw(fmt::format("<pre><code>{}</code></pre>", escaped(text))); }

  std::string take() { return std::move(text_); }

private:
  std::string text_;
};

std::string badge(judge::Status status) {
  const auto name = judge::name(status);
  return fmt::format("<span class=\"{}\">{}</span>", name, name);
}

/// A cell of a table, coloured by a share; `more`: another class.
std::string cell(const char* name, std::size_t part, std::size_t whole, const std::string& html,
                 const std::string& more = "") {
  if (part == 0 && more.empty()) return "<td>" + html + "</td>";
  const double share = part == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("<td class=\"{}{}\" style=\"--share:{:.2f}\">{}</td>", name, more, share, html);
}

std::string anchor(std::size_t report, std::size_t row) { return fmt::format("k{}-{}", report + 1, row + 1); }

void add_summary(Html& page, const judge::Report& report, std::size_t number) {
  int strength = 0;
  for (const auto& row : report.rows) strength = std::max(strength, row.regimes.strength);
  page.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"kernels\"><table><thead><tr>");
  for (const char* title : {"kernel", "profile", "cases"}) page.element("th", title);
  if (strength > 0) page.element("th", combinations_of(strength));
  for (const char* title : {"laws", "error / bound", "bits", "verdict"}) page.element("th", title);
  page.raw("</tr></thead><tbody>\n");
  for (std::size_t r = 0; r < report.rows.size(); ++r) {
    const judge::Row& row = report.rows[r];
    const Figures figures = figures_of(row);
    page.raw(fmt::format("<tr><td><a href=\"#{}\">{}</a></td>", anchor(number, r), escaped(title(row, report))));
    page.element("td", row.kernel.profile);
    std::vector<std::string> numbers{figures.cases};
    if (strength > 0) numbers.push_back(figures.regimes);
    numbers.insert(numbers.end(), {figures.laws, figures.ratio, figures.bits});
    for (const auto& one : numbers) page.raw(fmt::format("<td class=\"number\">{}</td>", escaped(one)));
    page.raw(fmt::format("<td>{}</td></tr>\n", badge(row.status)));
  }
  page.raw("</tbody></table></div>\n");
}

void add_entries(Html& page, const std::vector<Entry>& entries) {
  page.raw("<dl>\n");
  for (const auto& [label, text, is_command] : entries) {
    if (!label.empty()) page.element("dt", label);
    page.raw("<dd>");
    is_command ? page.command(text) : page.add("{}", text);
    page.raw("</dd>\n");
  }
  page.raw("</dl>\n");
}

/// Who the kernel is and what it says it can do.
void add_kernel(Html& page, const judge::Row& row) {
  const judge::KernelId& kernel = row.kernel;
  std::vector<Entry> entries{{"profile", kernel.profile + ": " + golden::profile(kernel.profile).meaning},
                             {"tensors", fmt::format("{}, layout {}", kernel.dtype, kernel.layout)},
                             {"capabilities", kernel.capabilities.empty() ? "all" : kernel.capabilities}};
  if (!row.reach.restricted.empty())
    entries.push_back({"restricted", fmt::format("{}", fmt::join(row.reach.restricted, "; "))});
  if (!row.errors.worst_query.empty()) {
    entries.push_back({"largest error", row.errors.worst.text()});
    entries.push_back({"", reproduce_command(row.errors.worst_query), true});
  }
  add_entries(page, entries);
}

void add_failure(Html& page, const judge::Finding& failure, const judge::Report& report) {
  page.raw("<li>" + badge(failure.status) + " <span class=\"faint\">");
  page.add("{}{}{}", failure.tier, failure.group.empty() ? "" : ", " + failure.group, waived(failure, report));
  page.raw("</span><br>");
  page.add("{}", failure.message);
  if (!failure.query.empty()) page.command(reproduce_command(failure.query));
  page.raw("</li>\n");
}

void add_failures(Html& page, const judge::Row& row, const judge::Report& report) {
  const auto failures = wrong_answers(row);
  if (failures.empty()) return;
  page.element("h4", "Failures");
  page.list(common_conditions(row));
  const auto add = [&](std::size_t begin, std::size_t end) {
    page.raw("<ul class=\"failures\">\n");
    for (std::size_t i = begin; i < end; ++i) add_failure(page, *failures[i], report);
    page.raw("</ul>\n");
  };
  const std::size_t first = std::min(failures.size(), kFailuresAtOnce), last = std::min(failures.size(), kMostFailures);
  add(0, first);
  if (first == failures.size()) return;
  page.raw(fmt::format("<details><summary>{} more</summary>\n", failures.size() - first));
  add(first, last);
  if (last < failures.size()) page.raw(fmt::format("<p>and {} more; --json writes all</p>\n", failures.size() - last));
  page.raw("</details>\n");
}

void add_levels(Html& page, const judge::RegimeCounts& counts) {
  std::size_t most = 1;
  for (const auto& axis : counts.axes) most = std::max(most, axis.levels.size());
  page.raw(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"conditions\"><table "
      "class=\"heat\"><thead><tr><th>condition</th>");
  page.raw(fmt::format("<th colspan=\"{}\">values, and how many calls are wrong of how many</th>", most));
  page.raw("</tr></thead><tbody>\n");
  for (const auto& axis : counts.axes) {
    page.raw("<tr>");
    page.raw("<th scope=\"row\">" + escaped(axis.name) + "</th>");
    for (const auto& level : axis.levels) {
      const int failed = level.judged - level.passed;
      page.raw(cell("wrong", static_cast<std::size_t>(failed), static_cast<std::size_t>(level.judged),
                    fmt::format("{}<small>{} of {}</small>", escaped(level.text), failed, level.judged)));
    }
    page.raw("</tr>\n");
  }
  page.raw("</tbody></table></div>\n");
}

void add_pairs(Html& page, const judge::RegimeCounts& counts) {
  if (counts.pairs.empty()) return;
  page.raw(
      "<p>Pairs of values of each two conditions that were visited, of how many. The darker, the more of them are ");
  page.raw("excluded; framed, where some are possible and were not visited.</p>\n");
  page.raw(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"pairs\"><table class=\"heat "
      "pairs\"><thead><tr><td></td>");
  const std::size_t axes = counts.axes.size();
  for (std::size_t axis = 1; axis < axes; ++axis) page.raw(fmt::format("<th scope=\"col\">{}</th>", axis + 1));
  page.raw("</tr></thead><tbody>\n");
  auto pair = counts.pairs.begin();
  for (std::size_t first = 0; first + 1 < axes; ++first) {
    page.raw(fmt::format("<tr><th scope=\"row\">{} {}</th>", first + 1, escaped(counts.axes[first].name)));
    if (first > 0) page.raw(fmt::format("<td colspan=\"{}\"></td>", first));
    for (; pair != counts.pairs.end() && pair->first == first; ++pair)
      page.raw(cell("excluded", pair->all - pair->possible, pair->all, fmt::format("{}/{}", pair->visited, pair->all),
                    pair->visited < pair->possible ? " hole" : ""));
    page.raw("</tr>\n");
  }
  page.raw(fmt::format("<tr><th scope=\"row\">{} {}</th></tr>\n", axes, escaped(counts.axes.back().name)));
  page.raw("</tbody></table></div>\n");
}

void add_combinations(Html& page, const std::string& title, const std::vector<std::string>& combinations,
                      std::size_t all) {
  page.raw("<details><summary>" + escaped(title) + "</summary><p class=\"faint\">");
  const auto end = combinations.begin() + static_cast<std::ptrdiff_t>(std::min(combinations.size(), kMostExcluded));
  page.add("{}", fmt::join(combinations.begin(), end, "; "));
  if (const auto shown = static_cast<std::size_t>(end - combinations.begin()); shown < all)
    page.raw(fmt::format("; and {} more", all - shown));
  page.raw("</p></details>\n");
}

void add_regimes(Html& page, const char* title, const judge::RegimeCounts& counts) {
  if (counts.judged == 0) return;
  page.element("h4", title);
  const std::string what = combinations_of(counts.strength);
  page.raw(
      fmt::format("<p>{} of {} calls are right. {} of {} {} of conditions were visited; {} more are excluded.</p>\n",
                  counts.passed, counts.judged, counts.visited, counts.possible, what, excluded(counts)));
  add_levels(page, counts);
  add_pairs(page, counts);
  for (const auto& [why, combinations] : counts.excluded)
    add_combinations(page, fmt::format("{} excluded: {}", combinations.size(), why), combinations, combinations.size());
  if (counts.visited < counts.possible)
    add_combinations(page, fmt::format("{} {} not visited", counts.possible - counts.visited, what), counts.not_visited,
                     counts.possible - counts.visited);
  if (counts.unseen > 0)
    add_combinations(page,
                     fmt::format("{} {} visited only where results that are 1 % off would pass", counts.unseen, what),
                     counts.shown_nowhere, counts.unseen);
}

void add_errors(Html& page, const judge::Row& row) {
  page.raw("<div class=\"figures\">\n");
  if (!row.errors.maps.empty()) {
    page.raw("<div>");
    page.element("h4", "Error / bound by position");
    page.raw("<p class=\"faint\">The largest over all golden cases, by row and column.</p><div class=\"figures\">\n");
    for (const auto& [output, map] : row.errors.maps)
      if (map.rows() > 0) page.raw(svg_of(output, map) + "\n");
    page.raw("</div></div>\n");
  }
  if (row.statistics.elements > 0) {
    page.raw("<div>");
    page.element("h4", "Errors by size");
    page.raw(svg_of(row.statistics) + "</div>\n");
  }
  page.raw("</div>\n");
}

void add_groups(Html& page, const judge::Row& row) {
  page.raw("<details><summary>Cases by flag</summary><div class=\"scroll\"><table><thead><tr>");
  for (const char* title : {"group", "judged", "passed", "skipped"}) page.element("th", title);
  page.raw("</tr></thead><tbody>\n");
  for (const auto& [group, count] : row.groups)
    page.raw(
        fmt::format("<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
                    "class=\"number\">{}</td></tr>\n",
                    escaped(group), count.judged, count.passed, count.skipped));
  page.raw("</tbody></table></div>");
  page.element("p", left_out(row.cases.left_out));
  page.raw("</details>\n");
}

void add_section(Html& page, const judge::Row& row, const judge::Report& report, const std::string& id, bool fold) {
  const std::string heading =
      fmt::format("<h3>{} ({})</h3> {}", escaped(title(row, report)), escaped(row.kernel.profile), badge(row.status));
  if (fold)
    page.raw(fmt::format("<details class=\"kernel\" id=\"{}\"><summary>{}</summary>\n", id, heading));
  else
    page.raw(fmt::format("<section class=\"kernel\" id=\"{}\">{}\n", id, heading));
  add_kernel(page, row);
  page.element("h4", "Diagnosis");
  add_entries(page, diagnosis_entries(row));
  if (row.map) {
    page.element("h4", "Weights");
    page.list(row.map->sentences);
    page.raw(svg_of(*row.map));
    if (!row.map->query.empty()) page.command(reproduce_command(row.map->query));
  }
  add_failures(page, row, report);
  add_errors(page, row);
  add_regimes(page, "Regimes", row.regimes);
  add_regimes(page, "Regimes at real sizes", row.real);
  add_groups(page, row);
  page.raw(fold ? "</details>\n" : "</section>\n");
}

/// The length of the UTF-8 character at the beginning; 0 where there is none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (length >= 3) {  // longer than needed, surrogates, beyond the last character
    const unsigned char second = byte(1);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
        (first == 0xF4 && second > 0x8F))
      return 0;
  }
  return length;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string page;
  while (!text.empty()) {
    const std::size_t length = character(text);
    const char first = text[0];
    const bool control = length == 1 && (static_cast<unsigned char>(first) < 0x20 || first == 0x7F);
    const bool no_character = text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");  // U+FFFE, U+FFFF
    if (length == 0 || no_character || (control && first != '\n' && first != '\t'))
      page += "\xEF\xBF\xBD";
    else if (first == '&')
      page += "&amp;";
    else if (first == '<')
      page += "&lt;";
    else if (first == '>')
      page += "&gt;";
    else if (first == '"')
      page += "&quot;";
    else
      page += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return page;
}

std::string html(const std::vector<judge::Report>& reports) {
  std::size_t kernels = 0, passed = 0;
  for (const auto& report : reports) {
    kernels += report.rows.size();
    passed += static_cast<std::size_t>(std::count_if(
        report.rows.begin(), report.rows.end(), [](const auto& row) { return row.status == judge::Status::pass; }));
  }
  Html page;
  page.raw(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>attest: ");
  page.add("{} of {} kernels pass", passed, kernels);
  page.raw("</title>\n<style>" + style() + "</style>\n</head>\n<body>\n");
  page.raw(kHatch);
  page.raw("<main>\n");
  page.element("h1", fmt::format("attest: {} of {} kernels pass", passed, kernels));
  for (std::size_t r = 0; r < reports.size(); ++r) {
    const judge::Report& report = reports[r];
    page.element("h2", report.candidate + (report.version.empty() ? "" : " " + report.version));
    page.raw(fmt::format("<p class=\"{}\">Verdict: {}</p>\n", judge::name(report.status()), escaped(verdict(report))));
    auto lines = reach(report);
    for (const auto& more : {sums(report), remarks(report), waivers(report)})
      lines.insert(lines.end(), more.begin(), more.end());
    page.list(lines);
    add_summary(page, report, r);
  }
  for (std::size_t r = 0; r < reports.size(); ++r) {
    if (reports.size() > 1) page.element("h2", reports[r].candidate);
    for (std::size_t k = 0; k < reports[r].rows.size(); ++k) {
      const judge::Row& row = reports[r].rows[k];
      add_section(page, row, reports[r], anchor(r, k), kernels > kMostUnfolded && row.status == judge::Status::pass);
    }
  }
  page.raw("</main>\n</body>\n</html>\n");
  return page.take();
}

}  // namespace attest::report
