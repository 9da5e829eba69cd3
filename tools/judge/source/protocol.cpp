// SPDX-License-Identifier: MIT
#include "protocol.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace attest::judge::protocol {
namespace {

/// Waits until the socket is ready for `events` or closed. False when the deadline passed.
bool wait_for(int fd, short events, const Deadline& deadline) {
  for (;;) {
    const int left = deadline.left();
    if (left == 0) return false;
    pollfd entry{fd, events, 0};
    if (::poll(&entry, 1, left) > 0) return true;
  }
}

bool try_again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

Transfer receive_all(int fd, char* bytes, std::size_t count, const Deadline& deadline) {
  for (std::size_t got = 0; got < count;) {
    const ssize_t n = ::recv(fd, bytes + got, count - got, MSG_DONTWAIT);
    if (n > 0) {
      got += static_cast<std::size_t>(n);
    } else if (n == 0 || !try_again(errno)) {
      return Transfer::closed;
    } else if (!wait_for(fd, POLLIN, deadline)) {
      return Transfer::timed_out;
    }
  }
  return Transfer::done;
}

}  // namespace

Transfer send_bytes(int fd, std::string_view bytes, const Deadline& deadline) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  std::string all(reinterpret_cast<const char*>(&length), sizeof length);
  all += bytes;
  for (std::size_t sent = 0; sent < all.size();) {
    const ssize_t n = ::send(fd, all.data() + sent, all.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
    } else if (!try_again(errno)) {
      return Transfer::closed;
    } else if (!wait_for(fd, POLLOUT, deadline)) {
      return Transfer::timed_out;
    }
  }
  return Transfer::done;
}

Transfer receive_bytes(int fd, std::string& bytes, const Deadline& deadline) {
  constexpr std::uint32_t limit = std::uint32_t{64} << 20;
  std::uint32_t length = 0;
  const Transfer result = receive_all(fd, reinterpret_cast<char*>(&length), sizeof length, deadline);
  if (result != Transfer::done) return result;
  if (length > limit) return Transfer::malformed;
  bytes.assign(length, '\0');
  return receive_all(fd, bytes.data(), bytes.size(), deadline);
}

Transfer send_message(int fd, const Json& message, const Deadline& deadline) {
  return send_bytes(fd, message.dump(-1, ' ', true, Json::error_handler_t::replace), deadline);
}

Transfer receive_message(int fd, Json& message, const Deadline& deadline) {
  std::string body;
  if (const Transfer result = receive_bytes(fd, body, deadline); result != Transfer::done) return result;
  // Copying, comparing and printing JSON recurse.
  constexpr int deepest = 16;
  bool deep = false;
  const auto keep_flat = [&](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > deepest;
    return depth <= deepest;
  };
  message = Json::parse(body, keep_flat, /*allow_exceptions=*/false);
  return message.is_object() && !deep ? Transfer::done : Transfer::malformed;
}

namespace {

/// A message of one byte, with room for a descriptor beside it.
struct Parcel {
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr header{};

  Parcel() {
    header.msg_iov = &content;
    header.msg_iovlen = 1;
    header.msg_control = room.data();
    header.msg_controllen = room.size();
  }
};

}  // namespace

bool send_descriptor(int socket, int fd) {
  Parcel parcel;
  cmsghdr* beside = CMSG_FIRSTHDR(&parcel.header);
  beside->cmsg_level = SOL_SOCKET;
  beside->cmsg_type = SCM_RIGHTS;
  beside->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(beside), &fd, sizeof fd);
  return ::sendmsg(socket, &parcel.header, MSG_NOSIGNAL) == 1;
}

int receive_descriptor(int socket) {
  Parcel parcel;
  if (::recvmsg(socket, &parcel.header, 0) != 1) return -1;
  const cmsghdr* beside = CMSG_FIRSTHDR(&parcel.header);
  if (beside == nullptr || beside->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(beside), sizeof fd);
  return fd;
}

}  // namespace attest::judge::protocol
