"""Online learning: readout and hyper-parameters learn at every step, the hyper-parameters by exact traces."""
