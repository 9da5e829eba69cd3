// SPDX-License-Identifier: MIT
// completion: what a shell offers after the Tab key, written from the commands and options themselves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"

namespace attest::cli {
namespace {

struct Choice {
  std::string word, description;
  bool takes_value = false;
  std::vector<std::string> values{};  // of the option, where only these are allowed
};

/// A command, "golden verify", or "" for the program; its subcommands and options.
struct Command {
  std::string name;
  std::vector<Choice> commands, options;
};

/// "{bash,fish}" of a type's name, as CLI::IsMember writes it.
std::vector<std::string> values_of(const std::string& type) {
  const auto begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

void add_commands(const CLI::App& app, const std::string& name, std::vector<Command>& into) {
  Command command{name, {}, {}};
  const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* one : subcommands) command.commands.push_back({one->get_name(), one->get_description()});
  for (const CLI::Option* option : app.get_options()) {
    const auto values = values_of(option->get_type_name());
    if (option->get_positional())
      for (const auto& value : values) command.commands.push_back({value, option->get_description()});
    for (const auto& long_name : option->get_lnames())
      command.options.push_back(
          {"--" + long_name, option->get_description(), option->get_items_expected_max() > 0, values});
  }
  into.push_back(std::move(command));
  for (const CLI::App* one : subcommands)
    add_commands(*one, name.empty() ? one->get_name() : name + " " + one->get_name(), into);
}

std::string words_of(const Command& command) {
  std::vector<std::string> words;
  for (const auto* choices : {&command.commands, &command.options})
    for (const Choice& choice : *choices) words.push_back(choice.word);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string bash(const std::vector<Command>& commands) {
  std::string nested, words, values;
  for (const Command& command : commands) {
    if (!command.name.empty()) {
      const auto space = command.name.rfind(' ');
      nested += fmt::format("      '{}') command='{}' ;;\n",
                            space == std::string::npos ? " " + command.name : command.name, command.name);
    }
    words += fmt::format("    '{}') words='{}' ;;\n", command.name, words_of(command));
    for (const Choice& option : command.options)
      if (!option.values.empty())
        values += fmt::format("    '{} {}') words='{}' ;;\n", command.name, option.word, fmt::join(option.values, " "));
  }
  return "_attest() {\n"
         "  local command= word words=\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case \"$command $word\" in\n" +
         nested +
         "    esac\n"
         "  done\n"
         "  case $command in\n" +
         words +
         "  esac\n"
         "  case \"$command ${COMP_WORDS[COMP_CWORD-1]}\" in\n" +
         values +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -o default -F _attest attest\n";
}

/// In single quotes, as fish reads them.
std::string in_quotes(const std::string& text) {
  std::string inside;
  for (const char c : text) inside += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return "'" + inside + "'";
}

std::string fish(const std::vector<Command>& commands) {
  std::string text;
  for (const Command& command : commands) {
    std::vector<std::string> children;
    for (const Choice& child : command.commands) children.push_back(child.word);
    std::string when = command.name.empty() ? "__fish_use_subcommand" : "";
    for (const auto& word : CLI::detail::split(command.name, ' '))
      if (!word.empty()) when += fmt::format("{}__fish_seen_subcommand_from {}", when.empty() ? "" : "; and ", word);
    const std::string none_yet =
        command.name.empty() || children.empty()
            ? when
            : fmt::format("{}; and not __fish_seen_subcommand_from {}", when, fmt::join(children, " "));
    for (const Choice& child : command.commands)
      text += fmt::format("complete -c attest -n {} -a {} -d {}\n", in_quotes(none_yet), child.word,
                          in_quotes(child.description));
    for (const Choice& option : command.options)
      text += fmt::format("complete -c attest -n {} -l {} -d {}{}\n", in_quotes(when), option.word.substr(2),
                          in_quotes(option.description),
                          !option.values.empty()
                              ? fmt::format(" -x -a {}", in_quotes(fmt::format("{}", fmt::join(option.values, " "))))
                          : option.takes_value ? " -r"
                                               : "");
  }
  return text;
}

}  // namespace

void add_completion(CLI::App& app, int&) {
  auto* command = app.add_subcommand("completion", "Write what makes a shell complete this command's words");
  const auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "as in `source <(attest completion bash)`, in the file that the shell reads")
      ->required()
      ->check(CLI::IsMember({"bash", "fish", "zsh"}));
  command->callback([&app, shell] {
    std::vector<Command> commands;
    add_commands(app, "", commands);
    if (*shell == "zsh") fmt::print("autoload -U +X compinit bashcompinit && compinit && bashcompinit\n");
    fmt::print("{}", *shell == "fish" ? fish(commands) : bash(commands));
  });
}

}  // namespace attest::cli
