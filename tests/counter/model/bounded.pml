/* SPDX-License-Identifier: MIT */
/*
 * The bounded counter: the online switch, adds and publishing in every interleaving, a reader that
 * holds what it reads against the true value of that moment, and with UP (all adds are +1) sums that
 * must lie between the adds that had ended at their start and those begun by their end. SHARDS: rows
 * are shared by threads and closed for each add.
 *
 * A restartable sequence is one step that either commits or aborts, the change of two words another;
 * everything else is one step for each access to shared memory. A closed row is one whose mark is
 * out of reach, so closing and opening it are one store of the mark each.
 *
 * Planted errors: UNGUARDED (a row is closed by several threads at once), OPEN (adds go on in a
 * closed row), SPLIT (total is read before the row is closed, in two steps), TORN (the two words
 * change one after the other), DRAIN (publishing takes out of the total).
 */
#ifndef CPUS
#    define CPUS 2
#endif
#define BATCH 2
#ifndef ADDS
#    define ADDS 3
#endif
#define REACH (BATCH - 1)

byte percpu; /* the slot pointer: published or not */
short total[CPUS], mark[CPUS];
bit closed[CPUS];
short value, published;
short counted;           /* the truth, once all adds have ended */
byte up_begun, up_ended; /* with UP */

#define NEAR(cpu, v) (total[cpu] + (v) - mark[cpu] <= REACH && total[cpu] + (v) - mark[cpu] >= -REACH)
#ifdef OPEN
#    define FITS(cpu, v) NEAR(cpu, v)
#else
#    define FITS(cpu, v) (!closed[cpu] && NEAR(cpu, v))
#endif
#ifdef UNGUARDED
#    define MAY_CLOSE(cpu) 1
#else
#    define MAY_CLOSE(cpu) (!closed[cpu])
#endif

inline on_some_cpu()
{
    if
    :: cpu = 0
    :: cpu = 1
    fi
}

inline close_row()
{
#ifdef SPLIT
    seen = total[cpu];
#endif
    atomic {
        if
        :: MAY_CLOSE(cpu) ->
            closed[cpu] = 1;
            ok = 1;
#ifdef SPLIT
            part = seen - mark[cpu];
#else
            part = total[cpu] - mark[cpu];
#endif
#ifdef OPEN
            mark[cpu] = total[cpu];
#endif
#ifdef DRAIN
            total[cpu] = 0;
            mark[cpu] = 0
#endif
        :: else -> ok = 0
        fi
    }
}

inline publish()
{
#ifdef TORN
    value = value + part;
    published = published + part
#else
#    ifdef DRAIN
    value = value + part
#    else
    atomic { value = value + part; published = published + part }
#    endif
#endif
}

inline open_row(new_mark)
{
#ifdef OPEN
    closed[cpu] = 0
#else
    atomic { mark[cpu] = new_mark; closed[cpu] = 0 }
#endif
}

inline add_to_shard(v)
{
    close_row();
    if
    :: ok ->
        seen = mark[cpu];
        if
        :: !NEAR(cpu, v) -> publish(); seen = total[cpu]
        :: else
        fi;
        total[cpu] = total[cpu] + v;
        open_row(seen)
    :: else -> value = value + v
    fi
}

inline add_to_cpu(v)
{
    if
    :: value = value + v /* aborted */
    :: atomic { FITS(cpu, v) -> total[cpu] = total[cpu] + v }
    :: atomic { !FITS(cpu, v) -> skip };
        on_some_cpu(); /* perhaps another by now */
        close_row();
        if
        :: ok ->
            publish();
            open_row(total[cpu]);
            on_some_cpu();
            atomic {
                if
                :: FITS(cpu, v) -> total[cpu] = total[cpu] + v
                :: else -> value = value + v
                fi
            }
        :: else -> value = value + v
        fi
    fi
}

inline add(v)
{
    mode = percpu;
    if
    :: !mode -> value = value + v
    :: mode ->
        on_some_cpu();
#ifdef SHARDS
        add_to_shard(v)
#else
        add_to_cpu(v)
#endif
    fi;
    counted = counted + v
}

proctype adder()
{
    byte n, cpu, mode;
    bit ok;
    short part, seen;
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

#define EXACT (value - published + total[0] + total[1])

proctype reader()
{
    atomic { assert(value - EXACT <= REACH * CPUS && EXACT - value <= REACH * CPUS) }
}

#ifdef UP
proctype summer()
{
    short sum;
    byte before, mode;
    before = up_ended;
    mode = percpu;
    atomic { sum = value; if :: mode -> sum = sum - published :: else fi };
    if
    :: mode ->
        sum = sum + total[0];
        sum = sum + total[1]
    :: else
    fi;
    assert(before <= sum && sum <= up_begun)
}
#endif

proctype switcher()
{
    percpu = 1
}

init
{
    atomic {
        run adder();
        run adder();
        run switcher();
#ifdef UP
        run summer()
#else
        run reader()
#endif
    };
    _nr_pr == 1;
    assert(FITS(0, 0) && FITS(1, 0));
    assert(EXACT == counted);
    assert(published == mark[0] + mark[1])
}
