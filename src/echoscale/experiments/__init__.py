"""One experiment: a network, data, hyper-parameters and a protocol to scores; jobs, and the ledger that keeps them."""
