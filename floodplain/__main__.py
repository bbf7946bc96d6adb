"""`python -m floodplain`: the command `floodplain` where its script is not on the path, as in a checkout."""

from floodplain.cli import main

main()
