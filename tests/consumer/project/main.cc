// SPDX-License-Identifier: MIT
// The same program: what is C there must be C++ here.
#include "main.c"
