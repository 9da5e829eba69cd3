// SPDX-License-Identifier: MIT
// The worker as a process: the control page, how it gives up, and what its crashes leave behind. Private to the judge.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "protocol.hpp"

namespace attest::judge {

inline constexpr int exit_protocol = 120;  // the worker itself gave up; the parent sees a closed socket
inline constexpr int exit_signal = 121;    // the signal handler ended the process

/// The first page of the shared memory, from map_control_page() on.
extern protocol::Control* control;
void map_control_page();

/// True in a process that a kernel forked; it has no business with the parent.
extern bool forked;

/// Ends the worker with a message to the parent.
[[noreturn]] void give_up(const std::string& error);
/// The same, with errno's text.
[[noreturn]] void give_up_on(const char* problem);

/// Text from the plugin, bounded and without control characters. Bytes beyond ASCII become '?': what encoding they
/// are in, and whether a bound cut one in two, is not known.
std::string printable(const char* text, std::size_t limit = 4096);

/// Gives the signal handler a stack of its own: on the thread's stack it could not report that this stack is full.
void use_handler_stack();

/// Runs the function, in a second thread where `second` is true, always the same, and waits for it.
void in_thread(bool second, const std::function<void()>& function);

/// Makes signals of a crash record their circumstances in the control page and end the process. Done again before every
/// call, because a plugin may have put its own handlers in place.
void install_handlers();

/// Leaves the plugin nothing of the parent, whose process id is given: no descriptors, no working directory, no core
/// files.
void isolate(const std::string& parent);

/// Becomes the command, which dies with the parent.
[[noreturn]] void launch(const char* parent, char** command);

/// Connects to the parent's socket at a path, says which rank this is, and gets the shared memory.
void connect_as_rank(const char* rank, const char* path);

}  // namespace attest::judge
