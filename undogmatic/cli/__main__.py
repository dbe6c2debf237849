"""`python -m undogmatic.cli`."""

from undogmatic.cli import main

if __name__ == "__main__":
    main()
