"""`python -m floodplain`: the command `floodplain` where its script is not on the path, as in a checkout."""

from floodplain.cli import main

if __name__ == "__main__":  # a process that `raster route` starts imports this module by another name
    main()
