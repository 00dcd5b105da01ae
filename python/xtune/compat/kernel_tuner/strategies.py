# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's strategies by name, and xtune's nearest ones: strategies.minimize is "minimize"."""
NEAREST = {
    None: "exhaustive",
    "brute_force": "exhaustive",
    "random_sample": "random",
    "bayes_opt": "bayesian",
    "genetic_algorithm": "genetic",
    "diff_evo": "differential_evolution",
    "pso": "particle_swarm",
    "simulated_annealing": "annealing",
    "dual_annealing": "annealing",
    "greedy_ils": "local",
    "greedy_mls": "local",
    "ordered_greedy_mls": "local",
    "mls": "local",
    "basinhopping": "auto",
    "firefly_algorithm": "auto",
    "minimize": "auto",
    "skopt": "auto",
    "pyatf_strategies": "auto",
    "hybrid_vndx": "auto",
    "adaptive_tabu_greywolf": "auto",
}
EXACT = (None, "brute_force", "random_sample")


def __getattr__(name):
    if name in NEAREST:
        return name
    raise AttributeError(f"module 'kernel_tuner.strategies' has no attribute '{name}'")
