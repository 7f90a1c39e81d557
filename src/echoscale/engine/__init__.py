"""What runs a network: the step, the scan over it, lanes, and the machine."""
