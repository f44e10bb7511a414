/* SPDX-License-Identifier: MIT */
/*
 * The bounded counter: adds and publishing in every interleaving, and a reader that holds its read
 * against the true value of that moment and the bound it computes.
 *
 * Planted errors: UNCOUNTED (publishing adds are not counted while in flight), ORDER (the reader
 * loads `entered` before `left`), SPLIT (what is published is marked before the total has grown).
 */
#define CPUS  2
#define BATCH 2
#ifndef ADDS
#    define ADDS 2
#endif

short total[CPUS], mark[CPUS];
short published;
byte entered, left;

#define DISTANCE(cpu, v) (total[cpu] + (v) - mark[cpu])

inline add(v)
{
    if
    :: cpu = 0
    :: cpu = 1
    fi;
    if
    :: atomic { DISTANCE(cpu, v) < BATCH && DISTANCE(cpu, v) > -BATCH -> total[cpu] = total[cpu] + v }
    :: else ->
#ifndef UNCOUNTED
        entered++;
#endif
        /* Perhaps on another CPU by now. */
        if
        :: cpu = 0
        :: cpu = 1
        fi;
#ifdef SPLIT
        atomic { r = DISTANCE(cpu, v); mark[cpu] = total[cpu] + v };
        total[cpu] = total[cpu] + v;
#else
        atomic { r = DISTANCE(cpu, v); total[cpu] = total[cpu] + v; mark[cpu] = total[cpu] };
#endif
        published = published + r;
#ifndef UNCOUNTED
        left++
#endif
    fi
}

proctype adder()
{
    byte n, cpu;
    short r;
    do
    :: n < ADDS ->
        if
        :: add(1)
        :: add(-1)
        fi;
        n++
    :: else -> break
    od
}

proctype reader()
{
    byte before, after;
    short read, truth, bound;
#ifdef ORDER
    after = entered;
#else
    before = left;
#endif
    atomic { read = published; truth = total[0] + total[1] };
#ifdef ORDER
    before = left;
#else
    after = entered;
#endif
    bound = (BATCH - 1) * CPUS + BATCH * (after - before);
    assert(read - truth <= bound && truth - read <= bound)
}

init
{
    atomic { run adder(); run adder(); run reader() };
    _nr_pr == 1;
    assert(total[0] - mark[0] < BATCH && mark[0] - total[0] < BATCH);
    assert(total[1] - mark[1] < BATCH && mark[1] - total[1] < BATCH);
    assert(published == mark[0] + mark[1])
}
