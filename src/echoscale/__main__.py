"""`python -m echoscale`."""

from echoscale.app.cli import main

main()
