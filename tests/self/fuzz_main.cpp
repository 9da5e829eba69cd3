// SPDX-License-Identifier: MIT
// fuzz_main SEEDS WORDS [--part K/N] [--mutants COUNT]: runs a fuzz target on every file of the folder SEEDS and on
// mutants of them, made with the words of a libFuzzer dictionary: mutant i is the same in every run. Of the mutants
// --part takes every N-th from the K-th on. An input that the target cannot end well on is written to ./crash-PROGRAM.
// Exit status: 0; 2 for wrong usage; otherwise the target's end.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <exception>
#include <filesystem>
#include <random>
#include <stdexcept>

#include "attest/golden/files.hpp"
#include "fuzz.hpp"

namespace {

namespace fs = std::filesystem;
using namespace attest;

constexpr unsigned kSeconds = 10;                     // that one input may take
constexpr rlim_t kMemory = rlim_t{2} << 30;           // of the process, its libraries among it
constexpr std::size_t kMostEdits = 4, kLongest = 64;  // of a mutant; of an edit, in bytes

std::string running;  // the input
std::string found;    // the file that it is written to

extern "C" void write_input(int signal) {
  const int file = ::open(found.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const bool whole = file >= 0 && ::write(file, running.data(), running.size()) == static_cast<ssize_t>(running.size());
  const std::string_view text = whole ? " holds the input\n" : " cannot be written\n";
  if (::write(STDERR_FILENO, found.data(), found.size()) < 0 || ::write(STDERR_FILENO, text.data(), text.size()) < 0)
    ::_exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run(std::string input) {
  running = std::move(input);
  ::alarm(kSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(running.data()), running.size());
  ::alarm(0);
}

std::vector<std::string> seeds_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto& file : files) seeds.push_back(golden::read_file(file));
  if (seeds.empty()) throw std::runtime_error(folder.string() + " has no seeds");
  return seeds;
}

/// The words of lines "..." or name="...", in which \\, \" and \xHH stand for a byte.
std::vector<std::string> words_in(const fs::path& dictionary) {
  std::vector<std::string> words;
  for (const std::string& line : fuzz::split(golden::read_file(dictionary), '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const auto first = line.find('"'), last = line.rfind('"');
    if (first == last) throw std::runtime_error(fmt::format("{}: '{}' is no word", dictionary.string(), line));
    std::string word;
    for (std::size_t at = first + 1; at < last; ++at) {
      if (line[at] == '\\' && line[at + 1] == 'x') {
        word += static_cast<char>(std::stoi(line.substr(at + 2, 2), nullptr, 16));
        at += 3;
      } else {
        if (line[at] == '\\') ++at;
        word += line[at];
      }
    }
    words.push_back(word);
  }
  if (words.empty()) throw std::runtime_error(dictionary.string() + " has no words");
  return words;
}

class Mutants {
public:
  Mutants(const std::vector<std::string>& seeds, const std::vector<std::string>& words)
      : seeds_(seeds), words_(words) {}

  std::string operator()(std::uint64_t number) {
    random_.seed(number);
    std::string input = one_of(seeds_);
    for (std::size_t edits = 1 + below(kMostEdits); edits > 0; --edits) edit(input);
    return input;
  }

private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  const std::string& one_of(const std::vector<std::string>& texts) { return texts[below(texts.size())]; }

  void edit(std::string& input) {
    const std::size_t at = below(input.size() + 1), length = std::min(below(kLongest) + 1, input.size() - at);
    switch (below(7)) {
      case 0: input.insert(at, one_of(words_)); break;
      case 1: input.replace(at, length, one_of(words_)); break;
      case 2: input.erase(at, length); break;
      case 3: input.insert(below(input.size() + 1), input.substr(at, length)); break;
      case 4: input.insert(at, 1, static_cast<char>(below(256))); break;
      case 5:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1U << below(8)));
        break;
      default: {
        const std::string& other = one_of(seeds_);
        input.replace(at, length, other.substr(below(other.size() + 1), below(kLongest) + 1));
      }
    }
  }

  const std::vector<std::string>& seeds_;
  const std::vector<std::string>& words_;
  std::mt19937_64 random_;
};

/// K/N, or one number alone where `whole` is null.
std::uint64_t numbers(const std::string& text, std::uint64_t* whole) {
  std::uint64_t first = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, first);
  if (whole && error == std::errc() && at != end && *at == '/') {
    const auto rest = std::from_chars(at + 1, end, *whole);
    at = rest.ptr, error = rest.ec;
  }
  if (error != std::errc() || at != end || (whole && (first < 1 || first > *whole)))
    throw std::invalid_argument(fmt::format("'{}' is not {}", text, whole ? "K/N with 1 <= K <= N" : "a number"));
  return first;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::uint64_t part = 1, parts = 1, mutants = 0;
  try {
    if (arguments.size() < 2 || arguments.size() % 2 != 0)
      throw std::invalid_argument("usage: SEEDS WORDS [--part K/N] [--mutants COUNT]");
    for (std::size_t i = 2; i < arguments.size(); i += 2) {
      if (arguments[i] == "--part")
        part = numbers(arguments[i + 1], &parts);
      else if (arguments[i] == "--mutants")
        mutants = numbers(arguments[i + 1], nullptr);
      else
        throw std::invalid_argument(fmt::format("unknown option {}", arguments[i]));
    }
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  found = "crash-" + fs::path(argv[0]).filename().string();
  const auto seeds = seeds_in(arguments[0]), words = words_in(arguments[1]);
#if !defined __SANITIZE_ADDRESS__  // which takes all addresses there are
  const rlimit memory{kMemory, kMemory};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  for (const int signal : {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) std::signal(signal, write_input);
  for (const auto& seed : seeds) run(seed);
  Mutants mutant(seeds, words);
  std::uint64_t count = 0;
  for (std::uint64_t number = part - 1; number < mutants; number += parts, ++count) run(mutant(number));
  fmt::print("{} seeds, {} of {} mutants\n", seeds.size(), count, mutants);
}
