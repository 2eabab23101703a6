"""Run the command line, as `tensorcopy` and as `python -m tensorcopy`.

Signals come first: importing the commands takes time, in which Ctrl-C would end in a traceback. SIGINT, SIGTERM and SIGHUP end every
command with one line and the exit code 130, 143 or 129.
"""

import _signal as signal  # type: ignore[import-not-found] # the module `signal` imports `enum` first
import os
import sys

NAMES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


class Interruption:
    """The first signal that asked this process to end."""

    def __init__(self) -> None:
        self.signal = 0
        self.outcome = "nothing was written"  # what the running command keeps, for the line that ends it
        self.code = 0  # the exit code, where it is not that of the signal
        self.unwinds = False  # whether a command runs, which ends its processes and removes its temporary files first
        self._process = os.getpid()

    def command_starts(self, outcome: str, code: int = 0) -> None:
        """Take note of a command or a part of it: of what it keeps when it is interrupted, and of its exit code then."""
        self.outcome, self.code, self.unwinds = outcome, code, True

    def handle(self, number: int, _frame: object) -> None:
        """End the program, by KeyboardInterrupt where a command runs; a second signal does not wait for that."""
        if os.getpid() != self._process:
            os._exit(128 + number)  # a forked process: its parent prints the line
        if self.signal or not self.unwinds:
            self.signal = self.signal or number
            self.end()
        self.signal = number
        threads = sys.modules.get("threading")
        if threads:  # a thread may stumble over what the main one closes
            threads.excepthook = lambda *_: None  # type: ignore[attr-defined]
        raise KeyboardInterrupt

    def end(self) -> None:
        """Print the line and exit at once: nothing that Python does at its end can print a traceback."""
        ignore()
        try:
            os.write(2, f"tensorcopy: {NAMES[self.signal]}; {self.outcome}\n".encode())
        finally:  # also where its output is closed
            os._exit(self.code or 128 + self.signal)

    def unraisable(self, unraisable: object) -> None:
        """End the program where Python would print an exception that it cannot raise; otherwise the signal would be lost."""
        if self.signal:
            self.end()
        sys.__unraisablehook__(unraisable)  # type: ignore[arg-type]


INTERRUPTION = Interruption()


def ignore() -> None:
    """Ignore further signals: the command is over, and its exit code is decided."""
    for number in NAMES:
        signal.signal(number, signal.SIG_IGN)


def handle_signals() -> None:
    """Let the first signal interrupt what runs."""
    for number in NAMES:
        if signal.getsignal(number) is not signal.SIG_IGN:  # such as under nohup, or in the background of a script
            signal.signal(number, INTERRUPTION.handle)
    sys.unraisablehook = INTERRUPTION.unraisable


def main() -> int:
    """Run one command and return its exit code."""
    handle_signals()
    try:
        from tensorcopy import cli

        code = cli.main(report_start=INTERRUPTION.command_starts, is_interrupted=lambda: INTERRUPTION.signal)
        if INTERRUPTION.signal:  # the command has printed another error, which the interruption had caused
            INTERRUPTION.end()
        return code
    except BaseException:
        if INTERRUPTION.signal:  # as whatever exception the interruption has come here
            INTERRUPTION.end()
        raise
    finally:
        ignore()


if __name__ == "__main__":
    sys.exit(main())
