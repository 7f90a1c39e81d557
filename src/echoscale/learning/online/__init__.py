"""Learning while the series runs: exact traces, and a readout that follows."""
