"""One experiment: a network, data, hyper-parameters and a protocol to scores; jobs, and the ledger that keeps them.

evaluation   how a series is cut and scored             problem    where it comes from
scores       the unit of work, and the ridge path       job        a function and its arguments, under one key
ledger       results and claims, one SQLite file        executors  where jobs run; cluster: on many machines
run          jobs to results, each of them once
"""
