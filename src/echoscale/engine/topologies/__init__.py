"""The recurrent matrices that a description may name, one file each.

A file has `matrix(rng, reservoir)`, which returns W (units, units) as `scipy.sparse.csr_array` in float64. W is divided by its
spectral radius afterwards, unless the file sets `NORMALISED = True`. One line in `echoscale.network.topologies.FILES` gives the
topology its name.
"""
