"""Run the command line as python -m tensorcopy.cli, which is python -m tensorcopy."""

import sys

from tensorcopy.__main__ import main

sys.exit(main())
