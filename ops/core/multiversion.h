// One portable binary, the fastest instruction set chosen when it is loaded.
//
// Functions marked EP_MULTIVERSION are compiled once per instruction set. All builds contract no
// multiply-add (-ffp-contract=off), so every version gives the same bits.
#ifndef ESTIMATOR_PLUGIN_OPS_CORE_MULTIVERSION_H_
#define ESTIMATOR_PLUGIN_OPS_CORE_MULTIVERSION_H_

// The sanitizers' runtimes are not ready yet when the choice is made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define EP_MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EP_MULTIVERSION
#endif

#endif  // ESTIMATOR_PLUGIN_OPS_CORE_MULTIVERSION_H_
