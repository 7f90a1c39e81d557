"""Learning while the series runs: exact traces for the hyper-parameters, and a readout that follows."""
