/* SPDX-License-Identifier: MIT */
/*
 * The quota: adds and returns of 1 in atomic mode, the online switch, then through credit of two
 * CPUs, fetching, giving back, revoking and restoring, in every interleaving. `used` is the truth.
 *
 * A sequence is two steps, so that a revocation can come between: reading the slot pointer and the
 * credit, then the commit. A membarrier aborts those in between. On each CPU one thread is in a
 * sequence at a time: another one there means that the first was preempted, which aborts it.
 *
 * Planted errors: NO_BARRIER (credit is collected without aborting sequences), OUTSIDE (the slot
 * pointer was read before the sequence began), UNLOCKED (credit is fetched without the lock),
 * STALE_MODE (who finds no room refuses by the mode it saw before it looked).
 */
#define CPUS       2
#define LIMIT      3
#define BATCH      1
#define AMPLE      3 /* room from which credit pays again */
#define TOO_LITTLE 1 /* room below which it is revoked: a quarter of that, rounded up */

byte percpu, revoked, held;
short room = LIMIT;
short credit[CPUS];
short used;
byte running[CPUS]; /* who is in a sequence there, 0: nobody */

#define NO_CREDIT (!percpu || revoked)

#define LOCK   atomic { !held -> held = 1 }
#define UNLOCK held = 0

/* ok = credit of some CPU changed by v, and `used` with it. */
#define SEQUENCE(v, most, in_use)                                                         \
    ok = 0;                                                                               \
    if                                                                                    \
    :: cpu = 0                                                                            \
    :: cpu = 1                                                                            \
    fi;                                                                                   \
    atomic { BEGIN_TAG; running[cpu] = _pid; READ_TAG; have = credit[cpu] };              \
    atomic {                                                                              \
        if                                                                                \
        :: running[cpu] == _pid && !tag && have + (v) >= 0 && have + (v) <= (most) ->     \
            credit[cpu] = have + (v); used = used + (in_use); ok = 1; running[cpu] = 0    \
        :: else -> if :: running[cpu] == _pid -> running[cpu] = 0 :: else fi              \
        fi                                                                                \
    }

#ifdef OUTSIDE
#    define BEGIN_TAG skip
#    define READ_TAG  skip
#    define LOAD_TAG  tag = NO_CREDIT
#else
#    define BEGIN_TAG skip
#    define READ_TAG  tag = NO_CREDIT
#    define LOAD_TAG  skip
#endif

#ifdef NO_BARRIER
#    define BARRIER skip
#else
#    define BARRIER atomic { running[0] = 0; running[1] = 0 }
#endif

/* The commit of a sequence belongs to the same CPU's running thread; preemption resets it. */
inline revoke()
{
    if
    :: !NO_CREDIT ->
        revoked = 1;
        BARRIER;
        k = 0;
        do
        :: k < CPUS ->
            if
            :: credit[k] > 0 -> here = credit[k]; credit[k] = 0; room = room + here
            :: else
            fi;
            k++
        :: else -> break
        od
    :: else
    fi
}

/* no_room: there was no room for anybody when this looked. */
#define TAKE(v, in_use)                                                     \
    atomic {                                                                \
        if                                                                  \
        :: room >= (v) -> room = room - (v); used = used + (in_use); ok = 1 \
        :: else -> ok = 0; no_room = (used == LIMIT)                           \
        fi                                                                  \
    }

inline refill()
{
    if
    :: room < TOO_LITTLE -> revoke()
    :: else ->
        TAKE(BATCH, 0);
        if
        :: ok -> SEQUENCE(BATCH, 2 * BATCH, 0);
            if :: !ok -> room = room + BATCH :: else fi
        :: else
        fi
    fi
}

inline restore()
{
    if
    :: room >= AMPLE && percpu && revoked -> LOCK; revoked = 0; UNLOCK
    :: else
    fi
}

inline refuse()
{
    atomic { assert(no_room); ok = 0; refused = 1 }
}

/* What happens under the lock. */
inline add_anywhere()
{
    TAKE(1, 1);
    if
    :: ok
    :: else -> revoke(); TAKE(1, 1)
    fi;
    if
    :: !ok -> refuse()
    :: ok && NO_CREDIT
    :: ok && !NO_CREDIT -> LOAD_TAG; refill(); ok = 1
    fi
}

inline add()
{
    ok = 0;
    refused = 0;
    LOAD_TAG;
    if :: percpu -> SEQUENCE(-1, 99, 1) :: else fi;
#ifdef STALE_MODE
    seen_percpu = percpu;
#endif
    if
    :: ok
    :: else ->
        if
        :: NO_CREDIT -> TAKE(1, 1);
#ifndef STALE_MODE
            seen_percpu = percpu;
#endif
            if
            :: ok -> restore()
            :: !ok && !seen_percpu -> refuse()
            :: else
            fi
        :: else
        fi;
        if
        :: ok || refused
        :: else ->
#ifndef UNLOCKED
            LOCK;
#endif
            add_anywhere();
#ifndef UNLOCKED
            UNLOCK
#endif
        fi
    fi;
    added = ok
}

inline give()
{
    ok = 0;
    LOAD_TAG;
    if :: percpu -> SEQUENCE(1, 2 * BATCH, -1) :: else fi;
    if
    :: ok
    :: else ->
        if
        :: NO_CREDIT -> atomic { room++; used-- }; restore()
        :: else ->
            LOCK;
            atomic { room++; used-- };
            SEQUENCE(-BATCH, 99, 0);
            if :: ok -> room = room + BATCH :: else fi;
            UNLOCK
        fi
    fi
}

proctype user()
{
    byte n, cpu, tag, k, ok, added, no_room, refused, seen_percpu;
    short have, here;
    do
    :: n < 2 ->
        add();
        assert(used <= LIMIT);
        if
        :: added -> if :: give() :: skip fi
        :: else
        fi;
        n++
    :: else -> break
    od
}

proctype switcher()
{
    percpu = 1
}

init
{
    atomic { run user(); run user(); run switcher() };
    _nr_pr == 1;
    assert(room + credit[0] + credit[1] + used == LIMIT)
}
