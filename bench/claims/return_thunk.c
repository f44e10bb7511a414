/* SPDX-License-Identifier: MIT */
/*
 * What functions compiled with -mfunction-return=thunk-extern jump to instead of returning: a
 * return whose prediction is caught in a loop, the form that needs no help of the CPU. (A kernel on
 * a part that isn't affected replaces it by a plain return at boot; those are the rows without
 * thunks.)
 */
__asm__(".pushsection .text\n\t"
        ".globl __x86_return_thunk\n\t"
        ".hidden __x86_return_thunk\n\t"
        ".type __x86_return_thunk, @function\n\t"
        ".p2align 6\n"
        "__x86_return_thunk:\n\t"
        "call 2f\n"
        "1:\n\t"
        "pause\n\t"
        "lfence\n\t"
        "jmp 1b\n"
        "2:\n\t"
        "leaq 8(%rsp), %rsp\n\t"
        "ret\n\t"
        ".size __x86_return_thunk, . - __x86_return_thunk\n\t"
        ".popsection");

/* A file of C has something of C. */
extern const int fastmm_return_thunk;
const int fastmm_return_thunk = 1;
