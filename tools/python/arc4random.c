/* SPDX-License-Identifier: MIT */
/* The C++ library that the module brings draws random numbers from arc4random, which glibc has from 2.36 on. With this
 * one, which nothing else sees, the module runs on older ones. */
#include <stdlib.h>
#include <unistd.h>

unsigned int arc4random(void);

unsigned int arc4random(void) {
  unsigned int drawn;
  if (getentropy(&drawn, sizeof drawn) != 0) abort();
  return drawn;
}
