// SPDX-License-Identifier: Apache-2.0
// A program in the place of assay-verifier-host that takes calls and answers otherwise. What it
// does stands in the file of the plug-in.
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Takes a call. Returns its pipe; -1 when there are no more calls.
static int take_call(void) {
  uint32_t message[2];
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(2 * sizeof(int))];
  } control;
  struct iovec data = {message, sizeof message};
  struct msghdr received = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.room,
                            .msg_controllen = sizeof control.room};
  if (recvmsg(3, &received, 0) != (ssize_t)sizeof message) {
    return -1;
  }
  int numbers[2];
  memcpy(numbers, CMSG_DATA(&control.head), sizeof numbers);
  close(numbers[0]);
  return numbers[1];
}

static void answer(int pipe, uint32_t kind, uint32_t claimed, const char* text, size_t size) {
  const uint32_t header[2] = {kind, claimed};
  (void)!write(pipe, header, sizeof header);
  (void)!write(pipe, text, size);
}

int main(void) {
  static char large[65537];
  static char way[64];
  (void)!pread(4, way, sizeof way - 1, 0);
  for (;;) {
    const int pipe = take_call();
    if (pipe < 0) {
      return 0;
    }
    if (strcmp(way, "silent") == 0) {
      for (;;) {
        pause();
      }
    } else if (strcmp(way, "other kind") == 0) {
      answer(pipe, 99, 0, "", 0);
    } else if (strcmp(way, "no kind") == 0) {
      answer(pipe, 0, 0, "", 0);
    } else if (strcmp(way, "too long") == 0) {
      answer(pipe, 1, sizeof large, large, sizeof large);
    } else if (strcmp(way, "longer than it says") == 0) {
      answer(pipe, 1, 2, "abc", 3);
    } else if (strcmp(way, "shorter than it says") == 0) {
      answer(pipe, 1, 4, "abc", 3);
    } else if (strcmp(way, "half a header") == 0) {
      (void)!write(pipe, "\1\0\0\0", 4);
    } else if (strcmp(way, "words") == 0) {
      answer(pipe, 2, 6, "a\n\x1b\x7f\xff~", 6);
    }
    close(pipe);
  }
}
