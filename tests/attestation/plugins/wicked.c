// SPDX-License-Identifier: Apache-2.0
// Plug-ins that misbehave. The first bytes of the evidence say how; what they are built with says what
// is wrong with the file itself. What they answer when they got away with it is an acceptance, so that
// a test sees it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attestation/plugin.h"

#ifndef WICKED_ABI
#define WICKED_ABI ASSAY_PLUGIN_ABI_VERSION
#endif
#ifndef WICKED_TYPE
#define WICKED_TYPE "wicked"
#endif
#ifndef WICKED_ENTRY_TYPE
#define WICKED_ENTRY_TYPE WICKED_TYPE
#endif
#ifndef WICKED_MEDIA_TYPE
#define WICKED_MEDIA_TYPE "application/vnd.example.wicked"
#endif
#ifndef WICKED_APPRAISE
#define WICKED_APPRAISE appraise
#endif
#ifndef WICKED_RESERVED
#define WICKED_RESERVED 0
#endif

static int calls = 0;

static int is(const struct assay_call* call, const char* word) {
  return call->evidence.size >= strlen(word) &&
         memcmp(call->evidence.data, word, strlen(word)) == 0;
}

static size_t accept_with(const struct assay_call* call, const char* type, int other_nonce,
                          char* answer, size_t capacity) {
  char nonce[129];
  for (size_t i = 0; i < 64; ++i) {
    const unsigned byte = call->report_data.data[i] ^ (other_nonce ? 1U : 0U);
    snprintf(nonce + 2 * i, 3, "%02x", byte);
  }
  const int length = snprintf(answer, capacity,
                              "{\"type\":\"%s\",\"report_data\":\"%s\",\"verdict\":\"accepted\","
                              "\"platform\":\"00112233\",\"measurements\":{\"calls\":\"%d\","
                              "\"purpose\":\"%u\",\"evidence\":\"%zu\",\"last\":\"%u\"},"
                              "\"trustworthiness\":{\"hardware\":32}}",
                              type, nonce, calls, (unsigned)call->purpose, call->evidence.size,
                              (unsigned)call->evidence.data[call->evidence.size - 1]);
  return (size_t)length;
}

static void recurse(volatile char* above) {
  volatile char here[4096];
  here[0] = above[0];
  recurse(here);
  here[1] = here[0];
}

// Returns when nothing stopped it.
static void misbehave(const struct assay_call* call) {
  if (is(call, "crash")) {
    *(volatile int*)8 = 1;
  } else if (is(call, "abort")) {
    abort();
  } else if (is(call, "recurse")) {
    volatile char top[1] = {0};
    recurse(top);
  } else if (is(call, "spin")) {
    for (volatile int i = 0;; ++i) {
    }
  } else if (is(call, "sleep")) {
    for (;;) {
      const struct timespec long_time = {1000, 0};
      nanosleep(&long_time, NULL);
    }
  } else if (is(call, "exit")) {
    exit(0);
  } else if (is(call, "allocate")) {
    const size_t size = (size_t)10 << 30;
    char* volatile memory = malloc(size);  // volatile: compilers leave out memory that nobody reads
    if (memory == NULL) {
      _exit(1);
    }
    memset(memory, 1, size);
  } else if (is(call, "fork")) {
    if (fork() < 0) {
      _exit(1);
    }
  } else if (is(call, "exec")) {
    execl("/bin/true", "true", (char*)NULL);
    _exit(1);
  } else if (is(call, "socket")) {
    if (socket(AF_INET, SOCK_STREAM, 0) < 0) {
      _exit(1);
    }
  } else if (is(call, "open")) {
    if (open("/etc/passwd", O_RDONLY) < 0) {
      _exit(1);
    }
  } else if (is(call, "create")) {
    if (open("/tmp/assay-wicked", O_RDWR | O_CREAT, 0600) < 0) {
      _exit(1);
    }
  } else if (is(call, "again")) {
    // The one file that may be opened was opened to load this.
    if (open("/proc/self/fd/4", O_RDONLY) < 0) {
      _exit(1);
    }
  } else if (is(call, "nameless-open")) {
    if (syscall(SYS_openat, AT_FDCWD, NULL, O_RDONLY) < 0 && errno == EACCES) {
      _exit(1);
    }
  } else if (is(call, "stat")) {
    struct stat facts;
    if (syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &facts, 0) < 0 && errno == EACCES) {
      _exit(1);
    }
  } else if (is(call, "nameless-stat")) {
    struct stat facts;
    if (syscall(SYS_newfstatat, 0, NULL, &facts, AT_EMPTY_PATH) < 0 && errno == EACCES) {
      _exit(1);
    }
  } else if (is(call, "bad-stat")) {
    struct stat facts;
    if (syscall(SYS_newfstatat, 99, "", &facts, AT_EMPTY_PATH) < 0 && errno == EBADF) {
      _exit(1);
    }
  } else if (is(call, "ptrace")) {
    if (ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) < 0) {
      _exit(1);
    }
  } else if (is(call, "kill")) {
    if (syscall(SYS_kill, -1, SIGTERM) < 0) {
      _exit(1);
    }
  } else if (is(call, "write-input")) {
    ((uint8_t*)(uintptr_t)call->evidence.data)[0] = 'x';
  } else if (is(call, "remap-input")) {
    const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t page = (uintptr_t)call->evidence.data & ~(size - 1);
    if (mprotect((void*)page, size, PROT_READ | PROT_WRITE) == 0) {
      ((uint8_t*)(uintptr_t)call->evidence.data)[0] = 'x';  // a copy of its own
    }
    _exit(1);
  } else if (is(call, "descriptors")) {
    char byte = 0;
    for (int i = 0; i < 64; ++i) {
      (void)!write(i, &byte, 1);  // into the pipe of the answer, wherever it is
    }
  } else if (is(call, "half")) {
    const uint32_t head[2] = {1, 1000};
    for (int i = 3; i < 16; ++i) {
      (void)!write(i, head, sizeof head);
    }
    _exit(0);
  } else if (is(call, "flood")) {
    static char block[65536];
    for (int n = 0; n < 1024; ++n) {
      for (int i = 3; i < 16; ++i) {
        (void)!write(i, block, sizeof block);
      }
    }
  }
}

__attribute__((unused)) static size_t appraise(const struct assay_call* call, char* answer, size_t capacity) {
  ++calls;
  if (is(call, "good")) {
    return accept_with(call, WICKED_TYPE, 0, answer, capacity);
  }
  if (is(call, "longest")) {
    const size_t size = accept_with(call, WICKED_TYPE, 0, answer, capacity);
    memset(answer + size, ' ', capacity - size);
    return capacity;
  }
  if (is(call, "other-nonce")) {
    return accept_with(call, WICKED_TYPE, 1, answer, capacity);
  }
  if (is(call, "other-type")) {
    return accept_with(call, "tdx", 0, answer, capacity);
  }
  if (is(call, "garbage")) {
    memset(answer, 0xff, 100);
    return 100;
  }
  if (is(call, "empty-object")) {
    memcpy(answer, "{}", 2);
    return 2;
  }
  if (is(call, "trailing")) {
    const size_t size = accept_with(call, WICKED_TYPE, 0, answer, capacity);
    memcpy(answer + size, "{}", 2);
    return size + 2;
  }
  if (is(call, "twice")) {
    const char text[] = "{\"verdict\":\"rejected\",\"verdict\":\"accepted\"}";
    memcpy(answer, text, sizeof text - 1);
    return sizeof text - 1;
  }
  if (is(call, "zeros")) {
    memset(answer, 0, capacity);
    return capacity;
  }
  if (is(call, "nothing")) {
    return 0;
  }
  if (is(call, "too-long")) {
    return capacity + 1;
  }
  if (is(call, "contraindicated")) {
    const size_t size = accept_with(call, WICKED_TYPE, 0, answer, capacity - 1);
    answer[size] = '\0';
    char* const value = strstr(answer, ":32}");
    memcpy(value, ":99}", 4);
    return size;
  }
  misbehave(call);
  return accept_with(call, WICKED_TYPE, 0, answer, capacity);
}

#ifdef WICKED_CONSTRUCTOR
__attribute__((constructor)) static void construct(void) {
  const struct assay_call call = {.evidence = {(const uint8_t*)WICKED_CONSTRUCTOR,
                                               sizeof WICKED_CONSTRUCTOR - 1}};
  misbehave(&call);
}
#endif

#ifndef WICKED_NO_ENTRY
ASSAY_PLUGIN_EXPORT const struct assay_plugin assay_plugin_entry = {
    .abi_version = WICKED_ABI,
    .reserved = WICKED_RESERVED,
    .type = WICKED_ENTRY_TYPE,
    .media_type = WICKED_MEDIA_TYPE,
    .appraise = WICKED_APPRAISE,
};
#endif
