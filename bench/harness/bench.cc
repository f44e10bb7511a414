// SPDX-License-Identifier: MIT
//
// The only C++ of the project: it gives each C case to Google Benchmark. One call runs a whole
// batch, so nothing here is in the timed loop. Threads are the harness's own (pool.h), because
// those of Google Benchmark don't check that they overlapped; a case's time is therefore that of
// one iteration in each thread, and rates are those of all threads together, over real time.
#include "cases.h"
#include "gbench.h"

#include <benchmark/benchmark.h>

#include <string>

namespace
{

// Shorter runs are calibration, and their overlap is that of waking up.
constexpr double overlap_counts_from_ns = 10e6;
constexpr double overlap_wanted = 0.8;

// Google Benchmark's clock would count what timed() leaves out, and a thread's waiting for others.
bool has_own_time(const bench_case *spec)
{
    return spec->timed || spec->threads > 1;
}

void report(benchmark::State &state, const instance *in)
{
    using benchmark::Counter;
    const double iterations = static_cast<double>(state.iterations());
    const double items = instance_items(in) * iterations;
    const double bytes = instance_bytes(in) * iterations;
    state.SetItemsProcessed(static_cast<int64_t>(items));
    if (in->bench[0].items != 1)
        state.counters["per_item"] = Counter(in->bench[0].items * iterations,
                                             Counter::Flags(Counter::kIsRate | Counter::kInvert));
    if (bytes > 0)
        state.SetBytesProcessed(static_cast<int64_t>(bytes));
    for (unsigned i = 0; i < in->counters; i++)
        state.counters[in->counter[i].name] = in->counter[i].value;

    std::string label = in->spec->label ? in->spec->label : "";
    if (in->threads > 1)
        label = "real time per thread, rates aggregate" + (label.empty() ? "" : "; " + label);
    state.SetLabel(label);
}

void run_batches(benchmark::State &state, instance *in)
{
    const auto n = state.max_iterations;
    batch done = {0, 0, 1};
    while (state.KeepRunningBatch(n)) {
        done = instance_run(in, static_cast<uint64_t>(n));
        if (has_own_time(in->spec))
            state.SetIterationTime(done.ns * 1e-9);
    }
    if (in->threads == 1)
        return;
    state.counters["overlap"] = done.overlap;
    if (done.wall >= overlap_counts_from_ns && done.overlap < overlap_wanted)
        state.SkipWithError("the threads did not run at the same time");
}

void run_case(benchmark::State &state, const bench_case *spec)
{
    instance *in = instance_open(spec);
    if (in->skipped[0]) {
        state.SkipWithError((std::string("skipped: ") + in->skipped).c_str());
    } else {
        run_batches(state, in);
        report(state, in);
    }
    instance_close(in);
}

} // namespace

extern "C" int gbench_run(int argc, char **argv)
{
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    for (size_t i = 0; i < cases_count(); i++) {
        const bench_case *spec = cases_get(i);
        auto *registered = benchmark::RegisterBenchmark(
            spec->name, [spec](benchmark::State &state) { run_case(state, spec); });
        if (has_own_time(spec))
            registered->UseManualTime();
    }
    const size_t run = benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return run ? 0 : 2;
}
