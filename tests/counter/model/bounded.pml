/* SPDX-License-Identifier: MIT */
/*
 * The bounded counter: adds and publishing in every interleaving, and a reader that holds its read
 * against the true value of that moment.
 *
 * Planted errors: UNGUARDED (a row is published by several threads at once), SPLIT (total is read
 * before it is marked as published, in two steps), DRAIN (publishing takes out of the total).
 */
#define CPUS  2
#define BATCH 2
#ifndef ADDS
#    define ADDS 3
#endif
#define REACH (BATCH - 1)

short total[CPUS], mark[CPUS];
byte publishing[CPUS];
short base, published;
byte up_begun, up_ended; /* adds of +1; with UP all are */

#define FITS(cpu, v) (total[cpu] + (v) - mark[cpu] <= REACH && total[cpu] + (v) - mark[cpu] >= -REACH)

inline on_some_cpu()
{
    if
    :: cpu = 0
    :: cpu = 1
    fi
}

inline publish()
{
#ifdef SPLIT
    atomic {
        if
        :: publishing[cpu] == 0 -> publishing[cpu] = 1; ok = 1
        :: else -> ok = 0
        fi
    };
    if
    :: ok ->
        seen = total[cpu];
        r = seen - mark[cpu];
        mark[cpu] = seen
    :: else
    fi;
#else
    atomic {
        if
#ifdef UNGUARDED
        :: true ->
#else
        :: publishing[cpu] == 0 ->
#endif
            publishing[cpu] = 1; r = total[cpu] - mark[cpu]; ok = 1;
#ifdef DRAIN
            total[cpu] = 0; mark[cpu] = 0
#else
            mark[cpu] = total[cpu]
#endif
        :: else -> ok = 0
        fi
    };
#endif
    if
    :: ok ->
#ifdef DRAIN
        atomic { published = published + r };
        base = base + r;
#else
        published = published + r;
#endif
        publishing[cpu] = 0
    :: else
    fi
}

inline add(v)
{
    on_some_cpu();
    if
    :: base = base + v /* aborted */
    :: atomic { FITS(cpu, v) -> total[cpu] = total[cpu] + v }
    :: atomic { !FITS(cpu, v) -> skip };
        on_some_cpu(); /* perhaps another by now */
        publish();
        if
        :: ok -> on_some_cpu();
            atomic {
                if
                :: FITS(cpu, v) -> total[cpu] = total[cpu] + v
                :: else -> base = base + v
                fi
            }
        :: else -> base = base + v
        fi
    fi
}

proctype adder()
{
    byte n, cpu, ok;
    short r, seen;
    do
    :: n < ADDS ->
#ifdef UP
        up_begun++;
        add(1);
        up_ended++;
#else
        if
        :: add(1)
        :: add(-1)
        fi;
#endif
        n++
    :: else -> break
    od
}

proctype reader()
{
    short read, truth;
    atomic { read = base + published; truth = base + total[0] + total[1] };
    assert(read - truth <= REACH * 2 * CPUS && truth - read <= REACH * 2 * CPUS);
    atomic {
        read = base + published;
        truth = base + total[0] + total[1];
        assert(read - truth <= REACH * (CPUS + publishing[0] + publishing[1]));
        assert(truth - read <= REACH * (CPUS + publishing[0] + publishing[1]))
    }
}

#ifdef UP
proctype summer()
{
    short sum;
    byte before;
    before = up_ended;
    sum = base;
    sum = sum + total[0];
    sum = sum + total[1];
    assert(before <= sum && sum <= up_begun)
}
#endif

init
{
    atomic {
        run adder();
        run adder();
#ifdef UP
        run summer()
#else
        run reader()
#endif
    };
    _nr_pr == 1;
    assert(FITS(0, 0) && FITS(1, 0));
    assert(published == mark[0] + mark[1])
}
