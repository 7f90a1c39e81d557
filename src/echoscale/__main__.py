"""`python -m echoscale`."""

from echoscale.cli import main

main()
