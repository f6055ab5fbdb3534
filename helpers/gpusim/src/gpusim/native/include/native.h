/* What every compiled program of this project shares. */
#ifndef NATIVE_H
#define NATIVE_H

#include <stdint.h>

/* Python finds a function by its name; everything else stays inside the library. */
#ifdef _WIN32
#define EXPORT __attribute__((dllexport))
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#endif
