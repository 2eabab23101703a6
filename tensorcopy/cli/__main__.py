"""Run the command line as python -m tensorcopy.cli."""

import sys

from tensorcopy.cli import main

sys.exit(main())
