"""`python -m sqlclaimgen` is the command `sqlclaimgen`."""

from sqlclaimgen.cli import main

if __name__ == "__main__":
    main()
