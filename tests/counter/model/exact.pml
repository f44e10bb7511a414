/* SPDX-License-Identifier: MIT */
/*
 * The exact counter: adds, the online switch, opening rows, sums and takes, in every interleaving.
 *
 * A restartable sequence is one step here that either commits or aborts: that is what the kernel
 * promises. Everything else is one step for each access to shared memory. `begun` and `ended` are
 * the truth: adds that were begun and adds that have ended.
 *
 * Planted errors, each of which the search must find: COPY (the switch moves the base word into a
 * slot), DRAIN (a slot's value is moved to the base word while in use), PLAIN (load and store
 * instead of a sequence), STALE (a sum goes by the rows that
 * were open at an earlier one), TORN_TAKE (take
 * subtracts without looking whether another took).
 */
#define CPUS   2
#define ADDERS 2
#ifndef ADDS
#    define ADDS 2
#endif

byte percpu;     /* the slot pointer: published or not */
byte ids;        /* rows open */
short base;
short slot[CPUS];
byte begun, ended;
short taken;
byte finished;

inline add()
{
    byte cpu, mode;
    short old;
    begun++;
    mode = percpu;
    if
    :: !mode -> base++
    :: mode ->
        if
        :: cpu = 0
        :: cpu = 1
        fi;
        if
        :: atomic { cpu >= ids -> skip }; /* slow path: opens the row, adds to the base word */
            atomic { if :: ids <= cpu -> ids = cpu + 1 :: else fi };
            base++
#ifdef PLAIN
        :: atomic { cpu < ids -> old = slot[cpu] }; slot[cpu] = old + 1
#else
        :: atomic { cpu < ids -> slot[cpu]++ }
#endif
        :: base++ /* aborted: preempted, migrated, or a signal came */
        fi
    fi;
    ended++
}

proctype adder()
{
    byte n;
    do
    :: n < ADDS -> add(); n++
    :: else -> break
    od;
    finished++
}

proctype switcher()
{
#ifdef COPY
    short moved;
    moved = base;
    slot[0] = slot[0] + moved;
    percpu = 1;
    base = base - moved;
    ids = 1;
    base = base + 0
#else
    percpu = 1
#endif
#ifdef DRAIN
    short drained;
    drained = slot[0];
    slot[0] = slot[0] - drained;
    base = base + drained
#endif
}

#ifdef STALE
#    define OPEN_ROWS if :: rows == 0 -> rows = ids :: else fi
#else
#    define OPEN_ROWS rows = ids
#endif

#define SUM(result)                                              \
    mode_seen = percpu;                                          \
    result = base;                                               \
    if                                                           \
    :: mode_seen ->                                              \
        OPEN_ROWS;                                               \
        k = 0;                                                   \
        do                                                       \
        :: k < rows -> result = result + slot[k]; k++            \
        :: else -> break                                         \
        od                                                       \
    :: else                                                      \
    fi

#ifdef TAKERS
proctype taker()
{
    byte rows, k, mode_seen, tries;
    short in_slots, seen;
again:
    seen = base;
    mode_seen = percpu;
    in_slots = 0;
    if
    :: mode_seen -> rows = ids; k = 0;
        do
        :: k < rows -> in_slots = in_slots + slot[k]; k++
        :: else -> break
        od
    :: else
    fi;
#ifdef TORN_TAKE
    atomic { base = base - (seen + in_slots); taken = taken + seen + in_slots };
#else
    atomic {
        if
        :: base == seen -> base = 0 - in_slots; taken = taken + seen + in_slots
        :: else -> goto again
        fi
    };
#endif
    /* With adds of one sign nobody gets what was not there. */
    assert(taken <= begun);
    finished++
}
#else
proctype reader()
{
    byte rows, k, mode_seen, n, at_start;
    short sum, last;
    do
    :: n < 2 ->
        at_start = ended;
        SUM(sum);
        assert(at_start <= sum && sum <= begun);
        assert(sum >= last);
        last = sum;
        n++
    :: else -> break
    od;
    finished++
}
#endif

init
{
    byte rows, k, mode_seen;
    short sum;
    atomic {
        run adder();
        run adder();
        run switcher();
#ifdef TAKERS
        run taker();
        run taker()
#else
        run reader()
#endif
    };
#ifdef TAKERS
    finished == ADDERS + 2;
#else
    finished == ADDERS + 1;
#endif
    _nr_pr == 1;
    rows = 0;
    SUM(sum);
    assert(sum + taken == ADDERS * ADDS)
}
